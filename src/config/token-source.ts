import type { TokenSource } from "../api/client";
import type { Clock } from "../polling/clock";
import { type ExchangeParts, type IssuedToken, tokenExchange } from "./oidc-exchange";
import type { PlainTokenSetting, TokenSetting } from "./read-settings";
import { parseToken, readTokenFile } from "./setting-files";
import { tokenFromCommand } from "./token-command";

/** Opens the token source that a setting names: the token itself, a file, a command, or an exchange. */
export function tokenSource(setting: TokenSetting, parts: ExchangeParts): TokenSource {
  const { clock } = parts;
  if ("subject" in setting) {
    const { origin, exchange } = tokenExchange(setting, parts);
    return new RenewableToken(origin, exchange, clock);
  }
  // The text of a command may contain a password, so the origin doesn't contain it.
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

interface HeldToken {
  readonly token: string;
  readonly renewAtMs: number;
  readonly expiresAtMs: number;
}

/** A token is renewed this long before it expires, or a fifth of its lifetime if that is less. */
const MARGIN_MS = 60_000;
/** Pause between attempts to renew a token that is still valid. */
const PAUSE_MS = 10_000;

/**
 * A token that is fetched once, and again shortly before it expires or when the service rejects it. Concurrent callers share one fetch. While
 * the token is valid, a failed renewal is not an error.
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
      if (this.held === undefined || nowMs >= this.held.expiresAtMs) throw error;
      this.held = { ...this.held, renewAtMs: Math.min(nowMs + PAUSE_MS, this.held.expiresAtMs) };
      return this.held.token;
    }
  }

  async renew(rejected: string): Promise<string | undefined> {
    const seen = this.held;
    const current = await this.get();
    if (current !== rejected) return current;
    // Only the first of several concurrent callers discards the token.
    if (this.held === seen || seen === undefined) this.held = undefined;
    const renewed = await this.get();
    return renewed === rejected ? undefined : renewed;
  }

  private async fetch(): Promise<string> {
    const startedMs = this.clock.now();
    const { token, lifetimeMs = Number.POSITIVE_INFINITY } = await this.fetchToken();
    const marginMs = Math.min(MARGIN_MS, lifetimeMs / 5);
    const expiresAtMs = startedMs + lifetimeMs;
    this.held = { token, expiresAtMs, renewAtMs: expiresAtMs - marginMs };
    return token;
  }
}
