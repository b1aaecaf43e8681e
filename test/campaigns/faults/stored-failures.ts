import type { Emulator, FaultKind, FaultRule, ReceivedRequest } from "../../../src/emulator";
import type { Random } from "../random";

type Spoiling = Omit<FaultRule, "times" | "when" | "after">;

/** First replies to creations that the service repeats for their keys (§4.7). */
const STORED = [500, 503].map((status): Spoiling => ({ kind: "status", status, cached: true }));

/** After these faults, the service has no first reply for a key. */
const BEFORE_THE_WORK: ReadonlySet<FaultKind> = new Set(["reset", "hang", "status", "html"]);

/** Enough replies for certainty within one call. A deadline may end the call before the last one arrives. */
const ENOUGH_REPLIES = 3;

const SHARE = 0.15;

/** Stores failures for the keys of creations, and derives from the requests what the provider can conclude (E4). */
export class StoredFailures {
  readonly rules = STORED;
  /** Keys with a first reply at the service. */
  private readonly replied = new Set<string>();
  /** Keys with a stored failure, and whether its trace id distinguishes it from other failures. */
  private readonly stored = new Map<string, { readonly isTraced: boolean }>();
  /** The number of requests at the start of each of the latest runs. */
  private readonly runs: number[] = [];

  constructor(private readonly emulator: Emulator) {}

  /** Starts a run. The provider of a run doesn't know the results of earlier attempts. */
  begin(): void {
    this.runs.push(this.emulator.requests.length);
  }

  /** Sometimes returns a failure to store for this request, if the service has no first reply for its key. */
  draw(request: ReceivedRequest, random: Random): Spoiling | undefined {
    const key = keyOf(request);
    if (key === undefined || this.replied.has(key) || !random.chance(SHARE)) return undefined;
    const { traceIds, cachedReplies } = this.emulator.behaviour;
    if (cachedReplies === "all") this.stored.set(key, { isTraced: traceIds === "fresh" });
    return STORED[random.integer(0, STORED.length - 1)];
  }

  /** Must be called with each request and its fault. */
  drawn(request: ReceivedRequest, spoiling: Spoiling | undefined): void {
    const key = keyOf(request);
    if (key === undefined) return;
    if (spoiling === undefined || !BEFORE_THE_WORK.has(spoiling.kind) || spoiling.cached)
      this.replied.add(key);
  }

  /**
   * Returns what the provider can conclude if it has kept the creation with this key. `stored`: the failure is a stored
   * one, because every attempt in the one run received it. `unclear`: only a user can decide. Undefined: no failure was
   * stored.
   */
  knowledgeOf(key: string): "stored" | "unclear" | undefined {
    const stored = this.stored.get(key);
    if (stored === undefined) return undefined;
    const { requests } = this.emulator;
    const attempts = requests.flatMap((request, at) => (keyOf(request) === key ? { request, at } : []));
    const runOf = (at: number): number => this.runs.findLastIndex((begun) => begun <= at);
    const [first, ...others] = attempts;
    const isReplayed = others.every(
      ({ request }) => request.fault === undefined && request.status === first?.request.status,
    );
    const ofFirstRun = attempts.filter(({ at }) => first !== undefined && runOf(at) === runOf(first.at));
    const isFirst = first?.request.fault === "status";
    return stored.isTraced && isFirst && isReplayed && ofFirstRun.length >= ENOUGH_REPLIES
      ? "stored"
      : "unclear";
  }
}

function keyOf({ method, headers }: ReceivedRequest): string | undefined {
  return method === "POST" ? headers["idempotency-key"] : undefined;
}
