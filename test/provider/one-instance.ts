import { randomUUID } from "node:crypto";
import path from "node:path";
import { expect } from "vitest";
import type { LoggedRequest } from "../../src/emulator";
import { confirm } from "../../src/journal/confirm";
import type { Entry } from "../../src/journal/entry";
import { type Journal, openJournal } from "../../src/journal/journal";
import type { Properties } from "../../src/model/state";
import type { Clock } from "../../src/polling/clock";
import type { HostProvider } from "../../src/provider/host";
import { LastMoment } from "../polling/last-moment";
import { EngineRow, type How } from "./progress/engine-row";
import type { Providers } from "./providers";
import { instanceNews } from "./samples";
import { type Saved, type Service, type ServiceOptions, saidBy, startService } from "./service";

export const URN = String(instanceNews().__urn);

interface Run extends How {
  /** On another machine, with a journal of its own. */
  readonly onAnotherMachine?: boolean;
  /** The program ends before it learns the id. */
  readonly unconfirmed?: boolean;
  readonly clock?: Clock;
  /** Settings that differ; without the namespace. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A stack with one instance. Each command has a provider process of its own. */
export class OneInstance extends EngineRow {
  readonly project: string;
  /** What this machine has noted. */
  readonly journal: Journal;

  /** @param inStack the instance's project, if the stack has it, too */
  constructor(
    private readonly service: Service,
    private readonly inStack?: Saved,
  ) {
    super();
    const { emulator, journalDir: dir } = service;
    this.journal = openJournal({ endpoint: emulator.endpoint, dir, warn: (message) => expect.fail(message) });
    const [first] = service.emulator.projects.keys();
    this.project = first ?? service.emulator.addProject().id;
  }

  async entry(): Promise<Entry | undefined> {
    return (await this.journal.list()).find(({ urn }) => urn === URN);
  }

  /** Removes what this machine has noted. */
  async forgetNoted(): Promise<void> {
    const entry = await this.entry();
    if (entry !== undefined) await this.journal.remove(entry.key);
  }

  /** Does what `recover --forget` does. */
  async giveUp(): Promise<void> {
    const { state, inputs } = this.there();
    for (const key of new Set([state.__key, Object(state.__pending).key, inputs.__key]))
      await this.journal.giveUp(String(key));
    await this.forgetNoted();
  }

  /** The entry of the journal, where there must be one. */
  async noted(): Promise<Entry> {
    const entry = await this.entry();
    if (entry === undefined) throw new Error("nothing is noted");
    return entry;
  }

  /** The inputs of the program's next run, with a key of its own. */
  news(args: Properties = {}): Properties {
    const fresh = { __key: randomUUID(), __keyAt: Date.now() };
    return instanceNews({ project: this.project, ...fresh, ...args });
  }

  /** @returns what the user is told where it fails */
  async up(args: Properties = {}, run: Run = {}): Promise<string | undefined> {
    const { instances: provider, projects } = await this.processes(run);
    if (this.inStack !== undefined) {
      const { id, state, inputs } = this.inStack;
      await projects.diff(id, state, (await projects.check(inputs, inputs)).inputs);
    }
    const work = async (): Promise<void> => {
      await this.brought(provider, this.news(args), run);
      if (!run.unconfirmed)
        await confirm(String(this.there().inputs.__key), this.there().id, { dir: this.journalDir(run) });
      await this.swept(provider);
    };
    return saidBy(work());
  }

  /** An `up` whose processes are killed as soon as they wait for something; or, with `pauses`, that many times later. */
  async killedUp(args: Properties = {}, { pauses, ...run }: Run & { pauses?: number } = {}): Promise<void> {
    const clock = new LastMoment(pauses);
    const ended = this.up(args, { ...run, clock }).then((said) => {
      throw new Error(`it was over before it was killed: ${said}`);
    });
    await Promise.race([clock.reached, ended]);
  }

  /** A creation that was killed before it could note what the service answered. */
  async killedBeforeTheAnswer(args: Properties = {}, run: Run = {}): Promise<Entry> {
    await this.killedUp(args, run);
    const { operation: _operation, ...entry } = await this.noted();
    await this.note(entry);
    return this.noted();
  }

  /** Makes this the entry of the journal. */
  async note({ operation, id, imported, ...begun }: Entry): Promise<void> {
    await this.forgetNoted();
    await this.journal.begin(begun);
    const more = {
      ...(operation && { operation }),
      ...(id !== undefined && { id }),
      ...(imported && { imported }),
    };
    await this.journal.extend(begun.key, more);
  }

  async refresh(): Promise<void> {
    await this.read(await this.process());
  }

  /** @returns what the user is told where it fails */
  async destroy({ refresh = false } = {}): Promise<string | undefined> {
    return saidBy(this.deleted(await this.process(), refresh));
  }

  /** A process of the provider. */
  async process(run: Run = {}): Promise<HostProvider> {
    return (await this.processes(run)).instances;
  }

  private processes(run: Run): Promise<Providers> {
    return this.service.anew({ ...run.settings, journalDir: this.journalDir(run) }, run.clock);
  }

  /** The requests of creations, of this machine and of others. */
  posts(): LoggedRequest[] {
    return this.service.emulator.requests.filter(({ method }) => method === "POST");
  }

  /** How many keys were sent. */
  keys(): number {
    return new Set(this.posts().map(({ headers }) => headers["idempotency-key"])).size;
  }

  /** The service has one instance, the state knows it and nothing else, and nothing is noted. @returns its id */
  async expectOne(): Promise<string> {
    const [id = "", ...others] = this.service.emulator.instances.keys();
    expect(others).toEqual([]);
    expect(this.there().id).toBe(id);
    expect(this.there().state).not.toHaveProperty("__pending");
    expect(this.replaced).toEqual([]);
    expect(await this.entry()).toBeUndefined();
    return id;
  }

  private journalDir({ onAnotherMachine = false }: Run): string {
    const { journalDir } = this.service;
    return onAnotherMachine ? path.join(journalDir, "of-another-machine") : journalDir;
  }
}

/** A service, and a stack with one instance that is not made yet. */
export async function oneInstance(
  options: ServiceOptions = {},
): Promise<{ service: Service; web: OneInstance }> {
  const service = await startService(options);
  return { service, web: new OneInstance(service) };
}
