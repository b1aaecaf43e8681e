import type { Behaviour } from "./behaviour";
import type { Refusal } from "./problems";
import type { Reply } from "./reply";
import type { EmulatorRequest } from "./request";

const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

interface FirstReply {
  readonly at: number;
  readonly request: string;
  readonly reply: Reply;
}

/** The first reply to each Idempotency-Key (§4.7). */
export class FirstReplies {
  private readonly byKey = new Map<string, FirstReply>();

  /**
   * Returns the first reply to a request, or `undefined` if the key is new. Rejects a malformed key, and a key that was used for a
   * different request. The specification doesn't define these rejections (§7).
   */
  find(
    request: EmulatorRequest,
    key: string,
    behaviour: Behaviour,
    now: number,
  ): Reply | Refusal | undefined {
    if (!uuidV4.test(key)) {
      return { status: 400, code: "invalid_idempotency_key", detail: "Idempotency-Key must be a UUID v4" };
    }
    this.forgetExpired(now - behaviour.keyRetentionMs);
    const first = this.byKey.get(key.toLowerCase());
    if (first === undefined || first.request === fingerprint(request)) return first?.reply;
    return {
      status: behaviour.keyReuseStatus,
      code: behaviour.keyReuseCode,
      detail: "this Idempotency-Key was used for another request",
    };
  }

  keep(request: EmulatorRequest, key: string, now: number, reply: Reply): void {
    this.byKey.set(key.toLowerCase(), { at: now, request: fingerprint(request), reply });
  }

  private forgetExpired(oldest: number): void {
    // Keys are in the order of their first use, so the oldest key comes first.
    for (const [key, { at }] of this.byKey) {
      if (at > oldest) return;
      this.byKey.delete(key);
    }
  }
}

function fingerprint({ method, path, body }: EmulatorRequest): string {
  return `${method} ${path}\n${body}`;
}
