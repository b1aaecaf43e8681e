import { parseRecorded } from "../../../src/model/state";
import { Canary } from "../../harness/canary";
import { passDatesWith } from "../../polling/dates";
import type { Saved } from "../../provider/service";
import type { Case } from "./case";
import { CaseClock } from "./case-clock";
import { MemoryDisk } from "./memory-disk";
import { PlainService } from "./plain-service";
import { Served } from "./served";
import { countOne, type Tally } from "./tally";

const ORIGIN = "https://api.example.com";
export const ENDPOINT = `${ORIGIN}/v1`;

/** The environment of a case's calls, and the violations so far. */
export class Scene {
  readonly clock = new CaseClock();
  readonly disk = new MemoryDisk();
  readonly service: PlainService;
  readonly served: Served;
  readonly breaches: string[] = [];
  /** Returns all entries of the resource in the state. */
  saved: () => readonly Saved[] = () => [];
  /** Calls and their requests, in order. */
  readonly story: string[] = [];
  /** When the running process was told to end, on the case's clock. */
  interruptedAt = Number.POSITIVE_INFINITY;
  /** Whether the data of earlier runs is damaged. */
  isDamaged = false;
  /** Whether a warning says that another object has the id of the resource's object. */
  hasWarnedOfOther = false;
  /** Whether nothing marks the secret arguments as secret any more. */
  secretIsTold: boolean;
  private readonly token: Canary;
  private readonly secret: Canary;

  constructor(
    readonly one: Case,
    readonly tally: Tally,
  ) {
    this.service = new PlainService(one.behaviour, ORIGIN, one.token, passDatesWith(this.clock));
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

  /** Returns whether the next run can find the creation with this key. */
  remembers(key: string): boolean {
    const { saved, disk } = this;
    const isInState = saved().some(({ state }) => parseRecorded(state).pending?.key === key);
    return isInState || [...disk.files.values()].some((text) => text.includes(key));
  }

  /** Checks a text that users read, whose writer knows no secret except for the token. */
  heardToken(where: string, text: string): void {
    this.look(this.token, where, text);
  }

  /** Checks a text that users read. */
  heard(where: string, text: string): void {
    this.look(this.token, where, text);
    this.hasWarnedOfOther ||=
      text.includes("now has its id") || text.includes("as the result of a later creation");
    if (!this.secretIsTold) this.look(this.secret, where, text);
  }

  containsSecret(text: string): boolean {
    return this.secret.in(text) !== undefined;
  }

  private look(canary: Canary, where: string, text: string): void {
    const found = canary.in(text);
    if (found !== undefined) this.broke(`${canary.name}, ${found.how}, in ${where}: ${text}`);
  }

  /** Whether no reply so far was a lie. */
  get isTruthful(): boolean {
    return !this.isDamaged && !this.served.exchanges.some(({ isLie }) => isLie);
  }

  /** Returns the ids of objects of the case's kind, including those that are being created. */
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
    for (const stray of strays) this.broke(`a request to another origin: ${stray}`);
    this.tally.cases += 1;
    this.tally.requests += exchanges.length;
    for (const { spoiling } of exchanges) if (spoiling !== undefined) countOne(this.tally.spoiled, spoiling);
  }
}

/** Returns the arguments that contain the secret. A project has few. */
export function secretsOf({ kind, secrets }: Case): readonly string[] {
  return secrets.filter((name) =>
    (kind === "project" ? ["name", "region"] : INSTANCE_SECRETS).includes(name),
  );
}
const INSTANCE_SECRETS = ["name", "network", "sshKeys", "labels"];
