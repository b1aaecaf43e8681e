import { parseRecorded } from "../../../src/model/state";
import { Canary } from "../../harness/canary";
import type { Saved } from "../../provider/service";
import type { Case } from "./case";
import { CaseClock } from "./case-clock";
import { MemoryDisk } from "./memory-disk";
import { PlainService } from "./plain-service";
import { Served } from "./served";
import { countOne, type Tally } from "./tally";

const ORIGIN = "https://api.example.com";
export const ENDPOINT = `${ORIGIN}/v1`;
const START = Date.parse("2026-01-01T00:00:00Z");

/** What the calls of one case have around them, and what was found wrong so far. */
export class Scene {
  readonly clock = new CaseClock();
  readonly disk = new MemoryDisk();
  readonly service: PlainService;
  readonly served: Served;
  readonly breaches: string[] = [];
  /** All that the stack's state has of the resource. */
  saved: () => readonly Saved[] = () => [];
  /** Calls and their requests, in the order in which they were made. */
  readonly story: string[] = [];
  /** When the process at work was told to end, by the clock. */
  interruptedAt = Number.POSITIVE_INFINITY;
  /** Something of the memory of earlier runs is not as they left it. */
  isDamaged = false;
  /** Whatever said which arguments are secret is gone: anybody may know them. */
  secretIsTold: boolean;
  private readonly token: Canary;
  private readonly secret: Canary;

  constructor(
    readonly one: Case,
    readonly tally: Tally,
  ) {
    this.service = new PlainService(one.behaviour, ORIGIN, one.token, () => START + this.clock.now());
    this.served = new Served(this.service, this.clock, one, one.plan, ORIGIN);
    this.token = new Canary("the token", one.token, true);
    this.secret = new Canary("a secret input", one.secret, true);
    this.secretIsTold = secretsOf(one).length === 0;
    const { failure } = one;
    if (failure !== "none") this.service.state.rules.failNext({ leaveObject: failure === "object left" });
  }

  broke(promise: string): void {
    this.breaches.push(promise);
  }

  /** Whether the next run knows of the creation with this key. */
  remembers(key: string): boolean {
    const { saved, disk } = this;
    const isInState = saved().some(({ state }) => parseRecorded(state).pending?.key === key);
    return isInState || [...disk.files.values()].some((text) => text.includes(key));
  }

  /** Something that people read, of which the token is the only secret that its writer knows. */
  heardToken(where: string, text: string): void {
    this.look(this.token, where, text);
  }

  /** Something that people read. */
  heard(where: string, text: string): void {
    this.look(this.token, where, text);
    if (!this.secretIsTold) this.look(this.secret, where, text);
  }

  private look(canary: Canary, where: string, text: string): void {
    const found = canary.in(text);
    if (found !== undefined) this.broke(`${canary.name}, ${found.how}, in ${where}: ${text}`);
  }

  /** Whether all that the service has said so far is so. */
  get isTruthful(): boolean {
    return !this.isDamaged && !this.served.exchanges.some(({ isLie }) => isLie);
  }

  /** Ids of what the service has or is about to make, of the case's kind. */
  objects(): Set<string> {
    this.service.settle();
    const { projects, instances, operations } = this.service.state;
    const own = this.one.kind === "project" ? projects : instances;
    const isHidden = this.one.kind === "project" || this.one.behaviour.instanceVisible === "when-done";
    const begun = [...operations.byId.values()].flatMap(({ kind, outcome, resultPath }) =>
      isHidden && kind === "create" && outcome === "open" && resultPath !== undefined
        ? [resultPath.slice(resultPath.lastIndexOf("/") + 1)]
        : [],
    );
    return new Set([...own.byId.keys(), ...begun]);
  }

  count(): void {
    const { exchanges, strays } = this.served;
    for (const stray of strays) this.broke(`a request went elsewhere: ${stray}`);
    this.tally.cases += 1;
    this.tally.requests += exchanges.length;
    for (const { spoiling } of exchanges) if (spoiling !== undefined) countOne(this.tally.spoiled, spoiling);
  }
}

/** The arguments that hold the secret; projects have few. */
export function secretsOf({ kind, secrets }: Case): readonly string[] {
  return secrets.filter((name) =>
    (kind === "project" ? ["name", "region"] : INSTANCE_SECRETS).includes(name),
  );
}
const INSTANCE_SECRETS = ["name", "network", "sshKeys", "labels"];
