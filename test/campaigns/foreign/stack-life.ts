import { isDeepStrictEqual } from "node:util";
import type { LoggedRequest } from "../../../src/emulator";
import type { Command, RunResult } from "../../harness/engine";
import type { Scenario } from "../../harness/scenario";
import { ownStates } from "../../harness/state";
import { addOthers, compare, keyOf, type Others, othersOf } from "../compare";
import { changedInPlace, type Program, sourceOf } from "../programs";
import type { Random } from "../random";
import { notShown } from "./converged";
import { planForStacks } from "./deeds";
import { argsOf, type Held, heldIn } from "./held";
import { Ledger } from "./ledger";
import { judged, undone } from "./refusal";
import { type Done, Somebody, type Subject } from "./somebody";
import type { Fields } from "./targets";
import { withTheirs } from "./theirs";

/** A command with actions of somebody else, and the result. */
export interface StackRound {
  readonly command: Command;
  readonly done: readonly Done[];
  /** The number of resources whose update failed. */
  readonly refused: number;
  readonly requests: number;
  readonly ms: number;
}

/** A stack with instances that somebody else also changes. */
export class StackLife {
  private readonly ledger: Ledger;
  private readonly somebodies = new Map<string, Somebody>();
  private readonly looks = new Map<string, (Fields | undefined)[]>();
  private readonly story: string[] = [];
  private readonly first: Others;
  private held: readonly Held[] = [];
  private command: Command = "up";

  constructor(
    private readonly scenario: Scenario,
    private readonly random: Random,
    private program: Program,
    private readonly breaches: string[],
  ) {
    const { emulator } = scenario;
    this.first = addOthers(emulator);
    this.ledger = new Ledger(emulator);
    for (const id of [...emulator.projects.keys(), ...emulator.instances.keys()]) this.ledger.addForeign(id);
    for (const { resource } of program.instances)
      this.somebodies.set(resource, new Somebody(emulator, this.ledger, () => this.subject(resource)));
  }

  async begin(): Promise<void> {
    await this.mustSucceed("up");
    await this.know();
  }

  /** Runs a command with actions of somebody else, and then a refresh and an `up` without them. */
  async round(): Promise<StackRound> {
    const { emulator } = this.scenario;
    const started = performance.now();
    const before = emulator.requests.length;
    if (this.random.chance(0.8)) this.change();
    await this.know();
    this.looks.clear();
    for (const somebody of this.somebodies.values())
      somebody.begin(this.random.chance(0.7) ? planForStacks(this.random) : []);
    const command = this.random.pick(["up", "up", "up", "refresh"] as const);
    const result = await this.run(command);
    const refused = this.judgeRefusals(result);
    for (const somebody of this.somebodies.values()) somebody.end();
    const done = [...this.somebodies.values()].flatMap((somebody) => somebody.done);
    this.story.push(`somebody: ${JSON.stringify(done)}`);
    await this.settle();
    const ms = performance.now() - started;
    return { command, done, refused, requests: emulator.requests.length - before, ms };
  }

  /** Checks that nothing is left to do without further changes. */
  async end(): Promise<void> {
    if (this.breaches.length > 0) return;
    const { emulator } = this.scenario;
    const before = emulator.requests.length;
    const { changes } = await this.mustSucceed("up");
    const { same: _unchanged, ...others } = changes;
    const asked = emulator.requests.slice(before).map(({ method, path }) => `${method} ${path}`);
    if (!isDeepStrictEqual(others, {}) || asked.length > 0)
      this.breaches.push(`another up wasn't idle: ${JSON.stringify(others)} ${asked.join(", ")}`);
  }

  answered(request: LoggedRequest): void {
    this.ledger.answered(request);
    for (const { id } of this.held) {
      if (this.command === "refresh") this.ledger.seen(id);
      if (request.method === "PUT" && request.path.endsWith(`/${id}`)) this.looks.delete(id);
      const fields = this.scenario.emulator.instances.get(id)?.fields;
      if (request.method === "GET")
        this.looks.set(id, [...(this.looks.get(id) ?? []), structuredClone(fields)]);
    }
    for (const somebody of this.somebodies.values()) somebody.answered(request);
  }

  /** Returns everything that is known about the life, for debugging. */
  tale(): string {
    const { behaviour, requests } = this.scenario.emulator;
    const sent = requests.map(
      ({ method, path, status, headers, body }) =>
        `  ${method} ${path} → ${status} ${headers["if-match"] ?? ""} ${body}`,
    );
    return [JSON.stringify(behaviour), ...this.story, ...sent].join("\n");
  }

  private change(): void {
    const at = this.random.integer(0, this.program.instances.length - 1);
    const instances = this.program.instances.map((one, index) =>
      index === at ? changedInPlace(this.random, one) : one,
    );
    this.program = { ...this.program, instances };
    this.scenario.write(sourceOf(this.program));
    this.story.push(`\nprogram: ${JSON.stringify(this.program)}`);
  }

  /** Reads the state. A user who runs `up` now has seen it. */
  private async know(): Promise<void> {
    const states = ownStates(await this.scenario.stack.deployment());
    this.held = heldIn(states, this.program.instances);
    for (const { id, state, declared } of this.held) {
      this.ledger.addOurs(id);
      this.ledger.means(id, { olds: state, news: argsOf(declared) });
    }
  }

  private subject(resource: string): Subject | undefined {
    const found = this.held.find(({ declared }) => declared.resource === resource);
    return found && { id: found.id, known: found.state, wanted: argsOf(found.declared) };
  }

  /** @returns the number of failed updates */
  private judgeRefusals(result: RunResult): number {
    const errors = result.diagnostics.filter(({ severity }) => severity === "error");
    let refused = 0;
    for (const { id, state, declared } of this.held) {
      const mine = errors.filter(({ urn }) => urn?.endsWith(`::${declared.resource}`));
      if (mine.length === 0) continue;
      refused += 1;
      const done = this.somebodies.get(declared.resource)?.done ?? [];
      const verdict = judged(
        mine.map(({ message }) => message).join("\n"),
        {
          ...{ olds: state, news: argsOf(declared), secrets: ["sshKeys"], looks: this.looks.get(id) ?? [] },
          changes: done.filter(({ when }) => when === "between").length,
          busy: [],
          isUpdating: false,
          isDeleted: !this.scenario.emulator.instances.has(id),
          undone: undone(done, state, this.scenario.emulator.instances.get(id)?.fields),
        },
        "update",
      );
      if (typeof verdict !== "string")
        this.breaches.push(`the failure of ${declared.resource}: ${verdict.wrong}\n${result.output}`);
    }
    if (!result.ok && refused === 0) this.breaches.push(`nothing explains this failure:\n${result.output}`);
    this.look("a raced command");
    return refused;
  }

  private async settle(): Promise<void> {
    const { emulator, stack } = this.scenario;
    emulator.finishOperations();
    for (const somebody of this.somebodies.values()) somebody.catchUp();
    const before = this.held;
    await this.mustSucceed("refresh");
    await this.know();
    for (const one of before) {
      const after = this.held.find(({ declared }) => declared.resource === one.declared.resource);
      this.breaches.push(...notShown(one, after, emulator, this.ledger));
    }
    await this.mustSucceed("up");
    emulator.finishOperations();
    this.look("up after refresh");
    await this.know();
    const twins = [...this.somebodies.values()].flatMap((somebody) => somebody.twins);
    const others = othersOf(emulator, [...this.first.keys, ...twins.map((id) => keyOf("instance", id))]);
    const instances = this.program.instances.map((one) =>
      withTheirs(one, this.subject(one.resource)?.id ?? "", { emulator, ledger: this.ledger }),
    );
    const found = compare(emulator, others, await stack.deployment(), { ...this.program, instances });
    this.breaches.push(...found.map(({ words }) => words));
  }

  private look(after: string): void {
    this.ledger.check(after);
    this.breaches.push(...this.ledger.breaches.splice(0));
  }

  private async mustSucceed(command: Command): Promise<RunResult> {
    const result = await this.run(command);
    if (!result.ok)
      this.breaches.push(`${command} failed, although nobody else changed anything:\n${result.output}`);
    return result;
  }

  private async run(command: Command): Promise<RunResult> {
    this.command = command;
    const result = await this.scenario.stack.run(command);
    this.story.push(`$ ${command}\n${result.output}`);
    return result;
  }
}
