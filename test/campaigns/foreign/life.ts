import { EngineResource, type Machine } from "../host/resource";
import type { Random } from "../random";
import { notConverged, notShown } from "./converged";
import { plan } from "./deeds";
import { type Kind, Program } from "./program";
import { COMMANDS, type Command, type Race } from "./race";
import type { Setting } from "./setting";
import { Somebody, type Subject } from "./somebody";
import { Watch } from "./watch";

/** One resource in its own stack. The campaign races it repeatedly, and lets it converge after each race. */
export class Life {
  readonly races: Race[] = [];
  readonly breaches: string[] = [];
  private readonly kind: Kind;
  private readonly program: Program;
  private readonly resource: EngineResource;
  private readonly somebody: Somebody;
  private readonly watch: Watch;
  private readonly story: string[] = [];

  constructor(
    private readonly setting: Setting,
    private readonly random: Random,
  ) {
    this.kind = random.chance(0.15) ? "project" : "instance";
    this.program = new Program(this.kind, random, setting.home);
    this.resource = new EngineResource(this.program.urn);
    this.somebody = new Somebody(setting.emulator, setting.ledger, () => this.subject());
    this.watch = new Watch(setting, this.somebody, this.resource, this.program.ignored);
  }

  /** Runs the given number of races. Stops at the first violation. */
  async lead(races: number): Promise<void> {
    const { emulator, leaks } = this.setting;
    const { revision } = emulator.behaviour;
    // Sometimes the state has no revision, although the service reports one later.
    if (this.random.chance(0.15)) emulator.behaviour.revision = "none";
    await this.converge();
    emulator.behaviour.revision = revision;
    while (this.races.length < races && this.breaches.length === 0) {
      await this.race();
      if (this.races.length === races || this.random.chance(0.4)) await this.converge();
    }
    leaks.said("the warnings", this.setting.warnings);
    for (const leak of leaks.leaks()) this.broken(leak);
  }

  /** Returns everything that is known about the life, for debugging. */
  tale(): string {
    const { behaviour } = this.setting.emulator;
    return [JSON.stringify(behaviour), ...this.story].join("\n");
  }

  private async race(): Promise<void> {
    const { emulator } = this.setting;
    const command = this.random.pick([...COMMANDS, ...Array<Command>(4).fill("up, changed")]);
    if (command === "up, changed") this.program.changeInPlace();
    if (command === "replace") this.program.changeForReplacement();
    // Without a header, an empty reply would not name its operation.
    const empty = emulator.behaviour.location === "missing" ? "truncate" : "empty";
    const fault = this.random.pick([
      undefined,
      undefined,
      undefined,
      "lost-reply",
      "reset",
      "truncate",
      empty,
    ] as const);
    const method = command === "delete" ? "DELETE" : "PUT";
    const spoiled = fault && emulator.fail({ method, kind: fault });
    const { begun } = this;
    if (this.program.ignored.length > 0) this.tell(`\nignores ${this.program.ignored.join(", ")}`);
    this.tell(
      `\n${command}${fault ? `, ${method} with fault ${fault}` : ""}: ${JSON.stringify(this.program.args)}`,
    );
    this.somebody.begin(plan(this.random, this.kind));
    this.setting.listener = (request) => {
      for (const { deed } of this.watch.answered(request)) this.tell(`  (somebody: ${JSON.stringify(deed)})`);
    };
    const words = await this.attempt(command, false);
    this.setting.listener = () => {};
    spoiled?.off();
    const outcome = words === undefined ? "succeeded" : this.outcomeOf(words);
    const requests = this.begun - begun;
    this.somebody.end();
    const { done } = this.somebody;
    this.tell(`→ ${outcome}; somebody: ${JSON.stringify(done)}`);
    this.look(command);
    this.races.push({ kind: this.kind, command, done, outcome, requests });
  }

  /**
   * Without further changes, a refresh shows what somebody did, an `up` restores the program's values, and then nothing
   * is left to do.
   */
  private async converge(): Promise<void> {
    if (this.breaches.length > 0) return;
    const { emulator, ledger } = this.setting;
    this.tell("\nrefresh and up");
    emulator.finishOperations();
    this.somebody.catchUp();
    const before = this.resource.saved;
    const looked = this.begun;
    this.mustSucceed("refresh", await this.attempt("refresh"));
    // An object that was deleted for a failed replacement isn't read any more.
    if (before && this.begun > looked)
      for (const wrong of notShown(before, this.resource.saved, emulator, ledger, this.program.args))
        this.broken(wrong);
    let words = await this.attempt("up");
    if (words !== undefined && this.outcomeOf(words) === "name taken") {
      this.somebody.giveWay();
      words = await this.attempt("up");
    }
    this.mustSucceed("an up after a refresh", words);
    emulator.finishOperations();
    this.look("an up after a refresh");
    if (this.breaches.length > 0) return;
    const isOurs = (id: string): boolean => !ledger.isForeign(id);
    const wanted = this.program.wanted(this.resource.saved?.inputs);
    for (const wrong of notConverged(wanted, this.resource, emulator, isOurs)) this.broken(wrong);
    const { begun } = this;
    for (const command of ["refresh", "up"] as const) this.mustSucceed(command, await this.attempt(command));
    const written = emulator.requests.slice(begun).filter(({ method }) => method !== "GET");
    if (written.length > 0) this.broken(`another refresh and up weren't idle: ${JSON.stringify(written)}`);
  }

  private mustSucceed(command: string, words: string | undefined): void {
    if (words !== undefined) this.broken(`${command} failed, although nobody else changed anything`);
  }

  /** @returns the error message, if the command fails */
  private async attempt(command: Command, calmly = true): Promise<string | undefined> {
    for (const secret of this.program.secretTexts()) this.setting.leaks.secret(secret);
    const { begun, kind, program, resource, setting } = this;
    const machine = await setting.process(kind);
    const watched: Machine = { ...machine, provider: this.watch.provider(machine.provider) };
    const refreshes = command === "refresh" || command === "up --refresh";
    this.watch.looks = [];
    try {
      if (refreshes) await this.refresh(watched);
      const read = setting.emulator.requests.slice(begun);
      if (refreshes && read.some(({ method }) => method !== "GET")) this.broken("a refresh sent a change");
      if (command === "delete") await resource.up(watched, undefined);
      else if (command !== "refresh") await resource.up(watched, program.news(calmly));
      return undefined;
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      this.tell(words);
      setting.leaks.said("an error", error instanceof Error ? `${words}\n${error.stack}` : words);
      return words;
    } finally {
      for (const { id } of resource.entries) {
        if (setting.ledger.isForeign(id)) this.broken(`${id}, which belongs to somebody else, was adopted`);
        setting.ledger.addOurs(id);
      }
      for (const { method, path, status, fault = "", headers, body } of setting.emulator.requests.slice(
        begun,
      ))
        this.tell(`  ${method} ${path} → ${status} ${fault} ${headers["if-match"] ?? ""} ${body}`);
    }
  }

  /** Sometimes with a concurrent read. Then a list, not a GET, shows the resource. */
  private async refresh(machine: Machine): Promise<void> {
    const { saved } = this.resource;
    this.watch.isRefreshing = true;
    if (saved) this.setting.ledger.seen(saved.id);
    const company =
      saved && this.resource.isSettled && this.random.chance(0.5)
        ? machine.provider.read(saved.id, structuredClone(saved.state)).catch(() => undefined)
        : undefined;
    await this.resource.refresh(machine);
    await company;
    this.watch.isRefreshing = false;
  }

  private subject(): Subject | undefined {
    const { saved } = this.resource;
    return saved && { id: saved.id, known: saved.state, wanted: this.program.wanted(saved.inputs) };
  }

  private outcomeOf(words: string): Race["outcome"] {
    const { outcome, wrong } = this.watch.outcomeOf(words, this.program.secrets);
    if (wrong !== undefined) this.broken(wrong);
    return outcome;
  }

  private get begun(): number {
    return this.setting.emulator.requests.length;
  }

  /** Moves the ledger's violations to this life. */
  private look(after: string): void {
    const { ledger } = this.setting;
    ledger.check(after);
    for (const breach of ledger.breaches.splice(0)) this.broken(breach);
  }

  private tell(line: string): void {
    this.story.push(line);
  }

  private broken(what: string): void {
    this.tell(`BROKEN: ${what}`);
    this.breaches.push(what);
  }
}
