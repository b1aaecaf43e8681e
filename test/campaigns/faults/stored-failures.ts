import type { Emulator, FaultKind, FaultRule, ReceivedRequest } from "../../../src/emulator";
import type { Random } from "../random";

type Spoiling = Omit<FaultRule, "times" | "when" | "after">;

/** First replies of creations that the service returns again for their keys (§4.7). */
const STORED = [500, 503].map((status): Spoiling => ({ kind: "status", status, cached: true }));

/** After these the service has no first reply to a key. */
const BEFORE_THE_WORK: ReadonlySet<FaultKind> = new Set(["reset", "hang", "status", "html"]);

/** Replies with which a client can be certain within one call; a deadline may end the call before the last of them arrives. */
const ENOUGH_REPLIES = 3;

const SHARE = 0.15;

/** Stores failures for the keys of creations, and knows from the requests what the provider can conclude from them (E4). */
export class StoredFailures {
  readonly rules = STORED;
  /** Keys for which the service has a first reply. */
  private readonly replied = new Set<string>();
  /** Keys with a stored failure, and whether its trace id tells it apart from other failures. */
  private readonly stored = new Map<string, { readonly isTraced: boolean }>();
  /** How many requests had come when the latest runs began. */
  private readonly runs: number[] = [];

  constructor(private readonly emulator: Emulator) {}

  /** A run begins. In another run, nothing is known of how earlier attempts ended. */
  begin(): void {
    this.runs.push(this.emulator.requests.length);
  }

  /** A failure to store for this request, by chance, if the service has no first reply to its key. */
  draw(request: ReceivedRequest, random: Random): Spoiling | undefined {
    const key = keyOf(request);
    if (key === undefined || this.replied.has(key) || !random.chance(SHARE)) return undefined;
    const { traceIds, cachedReplies } = this.emulator.behaviour;
    if (cachedReplies === "all") this.stored.set(key, { isTraced: traceIds === "fresh" });
    return STORED[random.integer(0, STORED.length - 1)];
  }

  /** To be called with each request, and with what spoils it. */
  drawn(request: ReceivedRequest, spoiling: Spoiling | undefined): void {
    const key = keyOf(request);
    if (key === undefined) return;
    if (spoiling === undefined || !BEFORE_THE_WORK.has(spoiling.kind) || spoiling.cached)
      this.replied.add(key);
  }

  /**
   * What a provider that has kept the creation with this key may know. `stored`: the failure is a stored one, because every attempt in
   * the one run was answered with it. `unclear`: only a person can tell. Undefined: no failure was stored.
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
