import type { TokenSource } from "../api/client";
import type { Clock } from "../polling/clock";
import { type ExchangeParts, type IssuedToken, tokenExchange } from "./oidc-exchange";
import type { PlainTokenSetting, TokenSetting } from "./read-settings";
import { parseToken, readTokenFile } from "./setting-files";
import { tokenFromCommand } from "./token-command";

/** What the sources of tokens need. */
export type TokenEnvironment = ExchangeParts;

/** Opens the source that a setting names: the token itself, a file, a command, or an exchange (§5 doesn't say how to get one). */
export function tokenSource(setting: TokenSetting, surroundings: TokenEnvironment): TokenSource {
  const { clock } = surroundings;
  if ("subject" in setting) {
    const { origin, exchange } = tokenExchange(setting, surroundings);
    return new RenewableToken(origin, exchange, clock);
  }
  // A command's text may contain a password; a file's name shows where to look.
  const origin = setting.kind === "tokenFile" ? `${setting.source} (${setting.value})` : setting.source;
  if (setting.kind === "token") return { origin, get: async () => setting.value };
  const former: string[] = [];
  const fetchToken = async (): Promise<IssuedToken> => {
    const token =
      setting.kind === "tokenFile" ? await fromFile(setting) : await tokenFromCommand(setting, clock, former);
    former.push(token);
    return { token };
  };
  return new RenewableToken(origin, fetchToken, clock);
}

async function fromFile({ value, source }: PlainTokenSetting): Promise<string> {
  const { text, name } = await readTokenFile(value, "the token file", source);
  return parseToken(text, name);
}

/** On the clock, in milliseconds. */
interface HeldToken {
  readonly token: string;
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

/** A token is renewed so long before its end, or a fifth of its lifetime where that is less. */
const MARGIN_MS = 60_000;
/** After a renewal before the end that failed, the token in hand is used this long before another try. */
const PAUSE_MS = 10_000;

/**
 * Fetched once, and again shortly before it ends or when it is refused; one fetch at a time, however many wait for it. While a
 * token is still good, a renewal that fails is no failure.
 */
class RenewableToken implements TokenSource {
  private held: HeldToken | undefined;
  private fetching: Promise<string> | undefined;

  constructor(
    readonly origin: string,
    private readonly fetchToken: () => Promise<IssuedToken>,
    private readonly clock: Clock,
  ) {}

  async get(): Promise<string> {
    const { held, clock } = this;
    if (held !== undefined && clock.now() < held.renewAtMs) return held.token;
    this.fetching ??= this.fetch().finally(() => {
      this.fetching = undefined;
    });
    try {
      return await this.fetching;
    } catch (error) {
      const nowMs = clock.now();
      if (this.held === undefined || nowMs >= this.held.endsAtMs) throw error;
      this.held = { ...this.held, renewAtMs: Math.min(nowMs + PAUSE_MS, this.held.endsAtMs) };
      return this.held.token;
    }
  }

  async renew(refused: string): Promise<string | undefined> {
    const seen = this.held;
    const current = await this.get();
    if (current !== refused) return current;
    // Of several that were refused at once, the first fetches.
    if (this.held === seen || seen === undefined) this.held = undefined;
    const renewed = await this.get();
    return renewed === refused ? undefined : renewed;
  }

  private async fetch(): Promise<string> {
    const startedMs = this.clock.now();
    const { token, lifetimeMs = Number.POSITIVE_INFINITY } = await this.fetchToken();
    const marginMs = Math.min(MARGIN_MS, lifetimeMs / 5);
    const endsAtMs = startedMs + lifetimeMs;
    this.held = { token, endsAtMs, renewAtMs: endsAtMs - marginMs };
    return token;
  }
}
