import type { TokenSource } from "../../api/client";
import type { Clock } from "../../operations/clock";

/** A token as it was given out. */
export interface IssuedToken {
  readonly token: string;
  /** How long it is good for, counted from before it was asked for. Milliseconds; undefined: nobody said. */
  readonly lifetimeMs?: number | undefined;
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
export class RenewableToken implements TokenSource {
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
