import type { Refusal } from "./problems";
import type { Reply } from "./reply";
import type { EmulatorRequest } from "./request";

/** How long a first reply is kept (§4.7), in milliseconds. */
const retentionMs = 24 * 60 * 60 * 1000;

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
   * The reply that this request had the first time; `undefined` for a first request. A malformed key is refused
   * with 400, and a key that comes back with another request with 422 (§7 leaves both open).
   */
  find(request: EmulatorRequest, key: string, now: number): Reply | Refusal | undefined {
    if (!uuidV4.test(key)) {
      return { status: 400, code: "invalid_idempotency_key", detail: "Idempotency-Key must be a UUID v4" };
    }
    this.forgetExpired(now);
    const first = this.byKey.get(key.toLowerCase());
    if (first === undefined || first.request === fingerprint(request)) return first?.reply;
    return {
      status: 422,
      code: "idempotency_key_reused",
      detail: "this Idempotency-Key was used for another request",
    };
  }

  keep(request: EmulatorRequest, key: string, now: number, reply: Reply): void {
    this.byKey.set(key.toLowerCase(), { at: now, request: fingerprint(request), reply });
  }

  private forgetExpired(now: number): void {
    for (const [key, { at }] of this.byKey) {
      if (now - at < retentionMs) return;
      this.byKey.delete(key);
    }
  }
}

function fingerprint({ method, path, body }: EmulatorRequest): string {
  return `${method} ${path}\n${body}`;
}
