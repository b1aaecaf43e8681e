import { CloudInfraError } from "../diagnostics/error";
import { redact } from "../diagnostics/redact";
import { within } from "../polling/clock";

/** Gives the bearer token (§5). */
export interface TokenSource {
  /** Where the token comes from, for people: `the setting cloudinfra:tokenFile (/run/token)`. */
  readonly origin: string;
  get(signal?: AbortSignal): Promise<string>;
  /** Called when the service refused the token: a different one, or undefined where there is none to be had. */
  renew?(refused: string, signal?: AbortSignal): Promise<string | undefined>;
}

/** The token in use, renewed at most once for each that was refused, however many requests were refused with it. */
export interface Auth {
  readonly origin: string;
  token(signal: AbortSignal): Promise<string>;
  /** Another token than the refused one, or undefined. */
  renewed(refused: string, signal: AbortSignal): Promise<string | undefined>;
  /** The latest tokens used. */
  readonly used: readonly string[];
  /** Takes every token used so far out of a text. */
  redact(text: string): string;
}

/** Tokens remembered for redaction: a client that lives for days renews often. */
const MAX_REMEMBERED_TOKENS = 16;

export function createAuth(source: TokenSource): Auth {
  const used: string[] = [];
  const renewals = new Map<string, Promise<string | undefined>>();

  function checked(token: string): string {
    if (!/^[\x21-\x7e]+$/.test(token)) {
      const what =
        token === ""
          ? "is empty"
          : "has characters that can't stand in a header, such as a space or a line break";
      throw new CloudInfraError("config_invalid", `the token from ${source.origin} ${what}`);
    }
    if (!used.includes(token)) used.unshift(token);
    used.length = Math.min(used.length, MAX_REMEMBERED_TOKENS);
    return token;
  }

  // Without a signal: it is shared, and must not end because the one who started it gives up.
  async function renew(refused: string): Promise<string | undefined> {
    const current = await source.get();
    if (current !== refused) return current;
    const fresh = await source.renew?.(refused);
    return fresh === refused ? undefined : fresh;
  }

  return {
    origin: source.origin,
    used,
    token: async (signal) => checked(await within(signal, source.get(signal))),
    async renewed(refused, signal) {
      const renewal = renewals.get(refused) ?? renew(refused).finally(() => renewals.delete(refused));
      renewals.set(refused, renewal);
      const fresh = await within(signal, renewal);
      return fresh === undefined ? undefined : checked(fresh);
    },
    redact: (text) => redact(text, used),
  };
}
