import { randomUUID } from "node:crypto";
import path from "node:path";
import { expect } from "vitest";
import type { LoggedRequest } from "../../src/emulator";
import { confirm, type Entry } from "../../src/journal/entry";
import { type Journal, openJournal } from "../../src/journal/journal";
import type { Properties } from "../../src/model/state";
import type { Clock } from "../../src/polling/clock";
import type { HostProvider } from "../../src/provider/host";
import { LastMoment } from "../polling/last-moment";
import { type CommandOptions, EngineCalls } from "./engine-calls";
import type { Providers } from "./providers";
import { instanceNews } from "./samples";
import { errorOf, type Saved, type Service, type ServiceOptions, startService } from "./service";

export const URN = String(instanceNews().__urn);

interface RunOptions extends CommandOptions {
  /** Whether to run on another machine, which has its own journal. */
  readonly onAnotherMachine?: boolean;
  /** Whether the program ends before it learns the id. */
  readonly unconfirmed?: boolean;
  readonly clock?: Clock;
  /** Further settings, without the namespace. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A stack with one instance. Each command starts its own provider process. */
export class OneInstance extends EngineCalls {
  readonly project: string;
  /** The journal of this machine. */
  readonly journal: Journal;

  /** @param inStack the instance's project, if it is in the stack too */
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

  /** Removes the journal entry of the instance. */
  async removeEntry(): Promise<void> {
    const entry = await this.entry();
    if (entry !== undefined) await this.journal.remove(entry.key);
  }

  /** Does what `recover --forget` does. */
  async giveUp(): Promise<void> {
    const { state, inputs } = this.inState();
    for (const key of new Set([state.__key, Object(state.__pending).key, inputs.__key]))
      await this.journal.mark(String(key), "given-up");
    await this.removeEntry();
  }

  /** Returns the journal entry of the instance. Fails if there is none. */
  async journalEntry(): Promise<Entry> {
    const entry = await this.entry();
    if (entry === undefined) throw new Error("the journal has no entry");
    return entry;
  }

  /** Returns the inputs of the next run of the program, with a new key. */
  news(args: Properties = {}): Properties {
    const fresh = { __key: randomUUID(), __keyAt: Date.now() };
    return instanceNews({ project: this.project, ...fresh, ...args });
  }

  /** @returns the error message, if it fails */
  async up(args: Properties = {}, run: RunOptions = {}): Promise<string | undefined> {
    const { instances: provider, projects } = await this.processes(run);
    if (this.inStack !== undefined) {
      const { id, state, inputs } = this.inStack;
      await projects.diff(id, state, (await projects.check(inputs, inputs)).inputs);
    }
    const work = async (): Promise<void> => {
      await this.apply(provider, this.news(args), run);
      if (!run.unconfirmed)
        await confirm(String(this.inState().inputs.__key), this.inState().id, { dir: this.journalDir(run) });
      await this.deleteReplaced(provider);
    };
    return errorOf(work());
  }

  /** Runs an `up` that is interrupted before it deletes replaced objects, and before the program removes the journal entry. */
  async interruptedUp(args: Properties, run: RunOptions = {}): Promise<void> {
    await this.apply(await this.process(run), this.news(args), run);
  }

  /** Runs an `up` that is killed when it first waits for something, or, with `pauses`, at a later wait. */
  async killedUp(
    args: Properties = {},
    { pauses, ...run }: RunOptions & { pauses?: number } = {},
  ): Promise<void> {
    const clock = new LastMoment(pauses);
    const ended = this.up(args, { ...run, clock }).then((said) => {
      throw new Error(`the command ended before it was killed: ${said}`);
    });
    await Promise.race([clock.reached, ended]);
  }

  /** Runs a creation that is killed before it records the service's reply. */
  async killedBeforeReply(args: Properties = {}, run: RunOptions = {}): Promise<Entry> {
    await this.killedUp(args, run);
    const { operation: _operation, ...entry } = await this.journalEntry();
    await this.writeEntry(entry);
    return this.journalEntry();
  }

  /** Replaces the journal entry of the instance. */
  async writeEntry({ operation, id, imported, ...begun }: Entry): Promise<void> {
    await this.removeEntry();
    await this.journal.begin(begun);
    const more = {
      ...(operation && { operation }),
      ...(id !== undefined && { id }),
      ...(imported && { imported }),
    };
    await this.journal.extend(begun.key, more);
  }

  async refresh(): Promise<void> {
    await this.refreshWith(await this.process());
  }

  /** @returns the error message, if it fails */
  async destroy({ refresh = false } = {}): Promise<string | undefined> {
    return errorOf(this.destroyWith(await this.process(), refresh));
  }

  /** Starts a process of the provider. */
  async process(run: RunOptions = {}): Promise<HostProvider> {
    return (await this.processes(run)).instances;
  }

  private processes(run: RunOptions): Promise<Providers> {
    return this.service.newProviders({ ...run.settings, journalDir: this.journalDir(run) }, run.clock);
  }

  /** The creation requests of all machines. */
  posts(): LoggedRequest[] {
    return this.service.emulator.requests.filter(({ method }) => method === "POST");
  }

  /** The number of idempotency keys that were sent. */
  keys(): number {
    return new Set(this.posts().map(({ headers }) => headers["idempotency-key"])).size;
  }

  /** Expects one instance, which is the only one in the state, and no journal entry. @returns its id */
  async expectOne(): Promise<string> {
    const [id = "", ...others] = this.service.emulator.instances.keys();
    expect(others).toEqual([]);
    expect(this.inState().id).toBe(id);
    expect(this.inState().state).not.toHaveProperty("__pending");
    expect(this.replaced).toEqual([]);
    expect(await this.entry()).toBeUndefined();
    return id;
  }

  private journalDir({ onAnotherMachine = false }: RunOptions): string {
    const { journalDir } = this.service;
    return onAnotherMachine ? path.join(journalDir, "of-another-machine") : journalDir;
  }
}

/** Starts a service for a stack with one instance, which doesn't exist yet. */
export async function oneInstance(
  options: ServiceOptions = {},
): Promise<{ service: Service; web: OneInstance }> {
  const service = await startService(options);
  return { service, web: new OneInstance(service) };
}
