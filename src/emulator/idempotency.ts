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

/** First replies by Idempotency-Key (§4.7). */
export class FirstReplies {
  private readonly byKey = new Map<string, FirstReply>();

  /**
   * The first reply to this request; `undefined` if this is the first one. A malformed key is rejected with 400, and so is a
   * key that was used for another request, with the status that the behaviour sets (§7 leaves both open).
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
    for (const [key, { at }] of this.byKey) {
      if (at > oldest) return;
      this.byKey.delete(key);
    }
  }
}

function fingerprint({ method, path, body }: EmulatorRequest): string {
  return `${method} ${path}\n${body}`;
}
