import type { Emulator, FaultRule, ReceivedRequest } from "../../../src/emulator";
import type { Random } from "../random";
import type { StoredFailures } from "./stored-failures";

/** A fault, by the names in the tables. */
type Spoiling = Omit<FaultRule, "times" | "when" | "after">;

export interface MixOptions {
  /** The share of requests with a fault, from 0 to 1. */
  readonly share: number;
  /** Milliseconds of real time for slow replies, and for replies after the client's timeout. */
  readonly slowMs: number;
  readonly lateMs?: number;
  /** Strings that bad replies echo, as careless services do: the token and a secret. */
  readonly echo: readonly string[];
  /** Also stores failures. @default no failures are stored */
  readonly storedFailures?: StoredFailures;
}

/** A problem document without fields. */
const NO_PROBLEM = Object.fromEntries(
  ["type", "title", "status", "detail", "instance", "code", "trace_id"].map((name) => [name, undefined]),
);

const MALFORMED = [
  "illegal-header",
  "control-character",
  "bare-lf",
  "bad-chunk",
  "truncated-head",
  "garbage",
] as const;

/** Returns all faults. The likelier ones appear more than once. */
function spoilings({ slowMs, lateMs, echo }: MixOptions): Spoiling[] {
  const problem = { detail: `careless: ${echo.join(" ")}` };
  const gatewayTimeout: Spoiling = { kind: "empty", status: 504 };
  return [
    ...Array<Spoiling>(4).fill({ kind: "lost-reply" }),
    ...Array<Spoiling>(3).fill({ kind: "reset" }),
    ...[500, 502, 503, 504].map((status): Spoiling => ({ kind: "status", status, problem })),
    { kind: "status", status: 503, retryAfter: 2 },
    ...[500, 503].map((status): Spoiling => ({ kind: "status", status, problem: NO_PROBLEM })),
    // After the work: a gateway timed out.
    ...[gatewayTimeout, gatewayTimeout],
    { kind: "status", status: 429 },
    { kind: "status", status: 429, retryAfter: 1 },
    { kind: "status", status: 429, retryAfter: new Date(Date.now() + 3_000).toUTCString() },
    ...[502, 507, 520, 525, 530, 598, 599].map((status): Spoiling => ({ kind: "gateway", status })),
    ...[504, 522].map((status): Spoiling => ({ kind: "gateway", status, body: "problem", problem })),
    ...MALFORMED.map((kind): Spoiling => ({ kind })),
    { kind: "gzip" },
    ...Array<Spoiling>(2).fill({ kind: "truncate" }),
    { kind: "empty" },
    { kind: "wrong-content-type" },
    ...[200, 502, 503].map((status): Spoiling => ({ kind: "html", status })),
    ...Array<Spoiling>(2).fill({ kind: "slow", delayMs: slowMs }),
    ...(lateMs === undefined ? [] : [{ kind: "slow", delayMs: lateMs } as const, { kind: "hang" } as const]),
  ];
}

/**
 * Draws how many consecutive attempts of a request fail: usually one, but sometimes more than a client makes. With
 * single faults alone, no request with 8 attempts would ever fail.
 */
function streak(random: Random): number {
  const kind = random.fraction();
  if (kind < 0.65) return 1;
  return kind < 0.8 ? random.integer(2, 4) : random.integer(8, 12);
}
/** Faults that may be missing from the share, so that even a short run gets some. */
const MOST_BEHIND = 2;
const MEAN_STREAK = 0.65 + 0.15 * 3 + 0.2 * 10;

/** Adds faults to a share of the requests at random, until it is switched off. */
export class FaultMix {
  private readonly share: number;
  private seen = 0;
  private hits = 0;
  private readonly all: readonly Spoiling[];
  /** Remaining attempts that fail, by request. */
  private readonly open = new Map<string, number>();
  private drawn: { readonly request: ReceivedRequest; readonly spoiling: Spoiling | undefined } | undefined;
  private active: readonly { off(): void }[] = [];

  constructor(
    private readonly random: Random,
    private readonly options: MixOptions,
  ) {
    this.share = options.share;
    this.all = spoilings(options);
  }

  start(emulator: Emulator): void {
    const times = Number.POSITIVE_INFINITY;
    this.active = [...this.all, ...(this.options.storedFailures?.rules ?? [])].map((spoiling) =>
      emulator.fail({ ...spoiling, times, when: (request) => this.draw(request) === spoiling }),
    );
  }

  stop(): void {
    for (const fault of this.active) fault.off();
    this.active = [];
    this.open.clear();
  }

  /** Every rule calls this function for a request. All of them get the same result. */
  private draw(request: ReceivedRequest): Spoiling | undefined {
    if (this.drawn?.request !== request) {
      const spoiling = this.isHit(request) ? this.pick(request) : undefined;
      this.options.storedFailures?.drawn(request, spoiling);
      this.drawn = { request, spoiling };
    }
    return this.drawn.spoiling;
  }

  private isHit({ method, path, headers, query }: ReceivedRequest): boolean {
    const name = [method, path, headers["idempotency-key"], JSON.stringify(query)].join(" ");
    const left = this.open.get(name) ?? this.begun();
    if (left > 1) this.open.set(name, left - 1);
    else this.open.delete(name);
    this.seen += 1;
    if (left > 0) this.hits += 1;
    return left > 0;
  }

  /**
   * Draws the number of attempts that fail from now on. Some streaks stay unused, so more are started until the share
   * is right.
   */
  private begun(): number {
    const chance = this.share / (MEAN_STREAK * (1 - this.share) + this.share);
    const behind = this.share * this.seen - this.hits;
    if (behind > MOST_BEHIND) return streak(this.random);
    return this.random.chance(behind > 0 ? 2 * chance : chance / 2) ? streak(this.random) : 0;
  }

  private pick(request: ReceivedRequest): Spoiling | undefined {
    return (
      this.options.storedFailures?.draw(request, this.random) ??
      this.all[this.random.integer(0, this.all.length - 1)]
    );
  }
}
