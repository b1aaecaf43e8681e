import { CloudInfraError } from "../diagnostics/error";
import { redact } from "../diagnostics/redact";
import { within } from "../polling/clock";

/** Provides the bearer token (§5). */
export interface TokenSource {
  /** Describes the source in messages, such as `the setting cloudinfra:tokenFile (/run/token)`. */
  readonly origin: string;
  get(signal?: AbortSignal): Promise<string>;
  /** Called after the service rejects a token. Returns another token, or undefined if the source has only that one. */
  renew?(rejected: string, signal?: AbortSignal): Promise<string | undefined>;
}

/** The token of a client. If the service rejects it, it is renewed once, even if many requests used it. */
export interface Auth {
  readonly origin: string;
  token(signal: AbortSignal): Promise<string>;
  /** Returns a token other than the rejected one, or undefined. */
  renewed(rejected: string, signal: AbortSignal): Promise<string | undefined>;
  /** The most recent tokens. */
  readonly used: readonly string[];
  /** Removes these tokens from a string. */
  redact(text: string): string;
}

/** Whether a text can be a bearer token: it has only characters that are allowed in a header, and no white space. */
export function isTokenText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Bounds the memory of a client that runs for days and renews its token often. */
const MAX_REMEMBERED_TOKENS = 16;

export function createAuth(source: TokenSource): Auth {
  const used: string[] = [];
  const renewals = new Map<string, Promise<string | undefined>>();

  function checked(token: string): string {
    if (!isTokenText(token)) {
      const why =
        token === ""
          ? "is empty"
          : "contains characters that aren't allowed in a header, such as a space or a line break";
      throw new CloudInfraError("config_invalid", `the token from ${source.origin} ${why}`);
    }
    if (!used.includes(token)) used.unshift(token);
    used.length = Math.min(used.length, MAX_REMEMBERED_TOKENS);
    return token;
  }

  // Takes no signal: several requests share a renewal, which must go on if one of them is cancelled.
  async function renew(rejected: string): Promise<string | undefined> {
    const current = await source.get();
    if (current !== rejected) return current;
    const fresh = await source.renew?.(rejected);
    return fresh === rejected ? undefined : fresh;
  }

  return {
    origin: source.origin,
    used,
    token: async (signal) => checked(await within(signal, source.get(signal))),
    async renewed(rejected, signal) {
      const renewal = renewals.get(rejected) ?? renew(rejected).finally(() => renewals.delete(rejected));
      renewals.set(rejected, renewal);
      const fresh = await within(signal, renewal);
      return fresh === undefined ? undefined : checked(fresh);
    },
    redact: (text) => redact(text, used),
  };
}
