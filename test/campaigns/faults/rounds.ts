import type { ErrorCode } from "../../../src/diagnostics/error";
import type { Behaviour } from "../../../src/emulator";
import { parseRecorded } from "../../../src/model/state";
import { randomBehaviour, unusualBehaviour } from "../behaviours";
import type { RequestCounter, Tally } from "../host/request-counter";
import { Random } from "../random";
import { FaultMix } from "./fault-mix";
import type { Process, Setting } from "./setting";
import { type Action, type Slot, slots } from "./slot";
import { StoredFailures } from "./stored-failures";

/** One change of the program or one read, and its cost. */
export interface Operation extends Tally {
  readonly action: Action;
  readonly slot: Slot;
  runs: number;
}

/** More runs than this mean that the operation never converges. */
const MOST_RUNS = 25;

/** Codes that faults can cause. Any other code is a bug in the provider. */
const PASSING: ReadonlySet<unknown> = new Set<ErrorCode>([
  ...(["unavailable", "unreachable", "rate_limited", "timeout", "operation_timeout"] as const),
  ...(["bad_reply", "not_this_service"] as const),
]);

/** Repeatedly changes a program and runs it until it converges. Everything that breaks a promise is a breach. */
export class Rounds {
  readonly done: Operation[] = [];
  readonly breaches: string[] = [];
  readonly failures: string[] = [];
  private readonly slots: readonly Slot[];
  /** Random numbers for the program. Other events use their own, so that they don't change the program. */
  private readonly random: Random;
  private readonly chance: Random;
  private readonly mix: FaultMix;
  private readonly storedFailures: StoredFailures;
  /** The service keeps its representation of values. A change would look like a change by somebody else. */
  private readonly shows: Partial<Behaviour>;
  /** Projects of somebody else, with instances of theirs, in which the campaign creates instances. */
  private readonly homes: readonly [string, string];
  /** Resources with a conflict, which the user resolves with a refresh. */
  private readonly toRefresh = new Set<Slot>();

  /** Ids of objects to which somebody else has added fields. */
  private readonly addedTo = new Set<string>();

  constructor(
    private readonly setting: Setting,
    private readonly counter: RequestCounter,
    seed: number,
    share: number,
  ) {
    this.random = new Random(seed);
    this.chance = new Random(this.random.seed());
    const { world, leaks } = setting;
    const { normalize = [], itemsWithout = [], unshown = [], ...others } = unusualBehaviour(this.random);
    const { revisionOf = "changes", getObject } = others;
    this.shows = {
      ...{ normalize, itemsWithout, unshown, revisionOf },
      ...(getObject !== undefined && { getObject }),
    };
    const secret = leaks.secret();
    this.slots = slots(secret);
    this.homes = [world.addProject(), world.addProject()];
    for (const { options, givenName } of this.slots)
      if (options.kind === "instance") world.addInstance({ project: this.homes[0], name: givenName });
    const echo = [leaks.token, secret];
    this.storedFailures = new StoredFailures(setting.emulator);
    const { storedFailures } = this;
    const how = { share, slowMs: 200, lateMs: 1_500, echo, storedFailures };
    this.mix = new FaultMix(new Random(this.random.seed()), how);
  }

  async round(most: number): Promise<void> {
    const { emulator, world } = this.setting;
    Object.assign(emulator.behaviour, randomBehaviour(this.random), unusualBehaviour(this.random), {
      operationMs: this.random.pick([100, 3_000, 20_000, 60_000]),
      pageSize: this.random.pick([undefined, 20]),
      cachedReplies: this.random.pick(["all", "all", "successes"]),
      // Somebody else has instances with the same names.
      uniqueNames: false,
      ...this.shows,
    } satisfies Partial<Behaviour>);
    for (const { resource } of this.slots) {
      if (!resource.saved || !this.random.chance(0.15)) continue;
      world.addTo(resource.saved.id, this.random);
      this.addedTo.add(resource.saved.id);
    }
    const chosen = this.random.shuffled(this.slots).slice(0, Math.min(most, this.slots.length / 2));
    const operations = this.slots.map((slot) => {
      const action = chosen.includes(slot) ? this.random.pick(slot.actions()) : "nothing";
      slot.apply(action, this.random, this.homes);
      return begun(action, slot);
    });
    this.mix.start(emulator);
    let open = await this.run(operations, "first");
    for (let runs = 1; open.length > 0 && runs < MOST_RUNS; runs++) open = await this.run(open, "again");
    this.mix.stop();
    for (const { action, slot } of open)
      this.broken(slot.options.name, `${action} hasn't converged after ${MOST_RUNS} runs`);
    await this.setting.quiet();
    emulator.finishOperations();
    this.judge();
    this.done.push(...operations.filter(({ action }) => action !== "nothing"));
  }

  /** Without faults, a refresh changes nothing, after it has handled the remaining journal entries. */
  async end(): Promise<void> {
    const { requests } = this.setting.emulator;
    await this.run([], "first");
    const before = requests.length;
    const looks = this.slots.map((slot) => begun("read", slot));
    for (const { slot } of await this.run(looks, "first"))
      this.broken(slot.options.name, "the refresh fails");
    for (const { method, path } of requests.slice(before))
      if (method !== "GET") this.breaches.push(`the final refresh and up sent ${method} ${path}`);
    this.judge();
    this.breaches.push(...this.setting.leaks.leaks());
  }

  /** Runs one `up` of the whole program. @returns the failed operations, and those of unchanged resources */
  private async run(open: readonly Operation[], which: "first" | "again"): Promise<Operation[]> {
    const moves = which === "again" && this.chance.chance(0.25);
    const process = await this.setting.process(moves ? "other" : "usual");
    const failed: Operation[] = [];
    this.storedFailures.begin();
    await Promise.all(
      this.slots.map(async (slot) => {
        const operation = open.find((one) => one.slot === slot) ?? begun("nothing", slot);
        const refreshes =
          this.toRefresh.delete(slot) ||
          operation.action === "read" ||
          (which === "again" && this.chance.chance(0.2));
        operation.runs += 1;
        try {
          await this.counter.during(operation, () => this.turn(operation, process, refreshes));
        } catch (error) {
          await this.failed(slot, error, process);
          failed.push(operation);
        }
      }),
    );
    for (const { slot } of failed) await this.givenUp(slot);
    return failed;
  }

  /**
   * If the service has stored a failure and an attempt got no reply, the provider keeps the creation. The user then
   * checks the service and forgets the creation (docs/recovery.md). No object may exist for its key.
   */
  private async givenUp({ resource, options }: Slot): Promise<void> {
    const key = parseRecorded(resource.saved?.state ?? {}).pending?.key;
    const known = key === undefined ? undefined : this.storedFailures.knowledgeOf(key);
    if (key === undefined || known === undefined) return;
    if (known === "stored") this.broken(options.name, `keeps a creation whose failure is stored: ${key}`);
    this.failures.push("(the user forgot a creation with a stored failure)");
    resource.forget();
    await this.setting.forget(key);
  }

  private async turn({ action, slot }: Operation, process: Process, refreshes: boolean): Promise<void> {
    const { resource, options } = slot;
    const { journalDir, projects, instances } = process;
    const provider = this.setting.calls.watched(
      options.kind === "project" ? projects : instances,
      options.name,
    );
    if (refreshes) {
      const id = resource.saved?.id;
      await resource.refresh({ provider, journalDir });
      const stays = action === "read" || action === "update" || action === "nothing";
      if (stays && resource.saved?.id !== id)
        this.broken(options.name, "a refresh removed an existing object from the state");
    }
    await resource.up({ provider, journalDir }, slot.news());
  }

  private async failed(slot: Slot, error: unknown, process: Process): Promise<void> {
    const { options, resource } = slot;
    const words = error instanceof Error ? `${error.message}\n${error.stack}` : String(error);
    // A careless service may echo this secret to other resources, whose calls can't recognize it.
    this.setting.leaks.said(`an error of ${options.name}:`, words, options.secret ? "anybody" : "the owner");
    const { code = "no code" } = Object(Object(error).cause);
    const isDeleted = code === "not_found" && this.setting.world.wasDeleted(options.kind, resource.saved?.id);
    if (code === "revision_conflict" && this.isUnclear(slot)) this.toRefresh.add(slot);
    else if (code === "forbidden" && (await this.isRemoved(slot, process, words))) return;
    else if (!PASSING.has(code) && !isDeleted)
      this.broken(options.name, `failed with ${code}, which no fault can cause: ${words}`);
    const [line = ""] = words.split("\n");
    this.failures.push(
      line.replace(/ ("[^"]*"|(ins|prj|op)-[0-9a-f]+)/g, "").replace(/\d+ (m?s|%)/g, "… $1"),
    );
  }

  /**
   * Returns whether a conflict may be about hidden fields or hidden ids: somebody else has added fields, or the reply
   * to an update was lost, or an update has timed out (README).
   */
  private isUnclear({ resource, options }: Slot): boolean {
    const { unshown = [], normalize = [] } = this.shows;
    const path = `/v1/${options.kind}s/${resource.saved?.id}`;
    const isReplyLost = this.setting.emulator.requests.some(
      (request) => request.method === "PUT" && request.path === path && request.fault !== undefined,
    );
    const isUnsure = isReplyLost || resource.saved?.state.__pending !== undefined;
    if (unshown.length > 0) return isUnsure || this.addedTo.has(resource.saved?.id ?? "");
    return isUnsure && normalize.includes("ids");
  }

  /**
   * The journal of this machine doesn't record that another machine has requested the deletion of a project. The user
   * removes the project from the state, or forgets its creation (README).
   */
  private async isRemoved({ resource, options }: Slot, process: Process, words: string): Promise<boolean> {
    for (const { id } of resource.entries) {
      const isGone = options.kind === "project" && this.setting.world.wasDeleted("project", id);
      if (!isGone || (await this.setting.hasRequestedDeletion(process, id))) continue;
      this.failures.push("(the user removed a project from the state that another machine deleted)");
      resource.forget(id);
      return true;
    }
    const key = parseRecorded(resource.saved?.state ?? {}).pending?.key;
    const [, id = ""] = /did not return project ([\w-]+):/.exec(words) ?? [];
    const isGone = options.kind === "project" && this.setting.world.wasDeleted("project", id);
    if (!isGone || key === undefined || (await this.setting.hasRequestedDeletion(process, id))) return false;
    this.failures.push("(the user forgot the creation of a project that another machine deleted)");
    resource.forget();
    await this.setting.forget(key);
    return true;
  }

  private broken(resource: string, what: string): void {
    this.breaches.push(`${resource}: ${what}\n${this.setting.world.story(`${resource}-`)}`);
  }

  /**
   * After a failure without a link to an object, the provider warns about objects with the same name. Some belong to somebody else. It also
   * warns if a new object has the id of a deleted one.
   */
  private isUnexpected(warning: string): boolean {
    const [, kind, id] = /(project|instance) (\S+) no longer exists: another/.exec(warning) ?? [];
    const isReused =
      (kind === "project" || kind === "instance") &&
      id !== undefined &&
      this.setting.world.wasDeleted(kind, id);
    return !isReused && !warning.includes("but the creation may have left an object");
  }

  private judge(): void {
    const { emulator, world, leaks, calls, warnings } = this.setting;
    const states = this.slots.map(({ resource }) => resource.entries);
    leaks.said("the state", states, "the owner");
    this.setting.lookIntoJournals();
    const found = [
      ...world.breaches(this.slots).map((words) => `${words}\n  ${JSON.stringify(emulator.behaviour)}`),
      ...calls.strays.splice(0).map((name) => `"${name}" was created by no call`),
      ...warnings
        .splice(0)
        .filter((message) => this.isUnexpected(message))
        .map((message) => `the provider warned: ${message}\n${world.storyOf(message)}`),
    ];
    this.breaches.push(...found);
    for (const name of calls.newlyDoubled())
      this.broken(name, "one call of create created more than one object");
  }
}

function begun(action: Action, slot: Slot): Operation {
  return { action, slot, runs: 0, requests: 0 };
}
