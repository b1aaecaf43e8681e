import * as grpc from "@grpc/grpc-js";
import type { Generator } from "./plan/generator";
import { dynamicProviderType } from "./providers";
import { Reported, type Run } from "./run";
import { dependenciesOf, type Resource } from "./state/resource";
import { isProviderType } from "./state/urn";
import { RefreshStep } from "./steps/refresh";
import type { Registered, Settle, Step } from "./steps/step";
import { identical } from "./values/diff";
import type { Values } from "./values/values";
import type { Goal, ReadGoal } from "./wire/goal";
import { Status } from "./wire/serve";

/** Takes what the program registers, one after the other, to steps, and answers when they are done. */
export class Registrations {
  #planning: Promise<void> = Promise.resolve();
  readonly #defaultProvider = new WakeUpCall<string>();
  #over = false;
  readonly #open = new Set<(error: Error) => void>();
  readonly #skipped = new Set<string>();
  /** What the program said that its stack came to. */
  stackOutputs: { urn: string; outputs: Values } | undefined;
  /** Something was wrong with a registration, and has been reported. */
  bailed = false;

  constructor(
    private readonly run: Run,
    private readonly generator: Generator,
    private readonly options: { refreshFirst: boolean; providerInputs: () => Values },
  ) {}

  async register(asked: Goal): Promise<Registered> {
    const needsProvider = asked.custom && asked.provider === "" && !isProviderType(asked.type);
    const goal = needsProvider ? { ...asked, provider: await this.#provider(asked.type) } : asked;
    return this.#answer((settle) => this.#plan(goal, () => this.#prepared(goal, settle)));
  }

  async read(asked: ReadGoal): Promise<Registered> {
    const goal = { ...asked, provider: asked.provider || (await this.#provider(asked.type)) };
    return this.#answer((settle) => this.#plan(goal, async () => this.generator.read(goal, settle)));
  }

  registerOutputs(urn: string, outputs: Values): void {
    const made = this.run.executor.entryOf(urn);
    if (!made) throw new Status(grpc.status.UNKNOWN, `outputs of ${urn}, which is not registered`);
    const same = identical(made.outputs, outputs);
    made.outputs = outputs;
    this.run.reporter.registeredOutputs(urn);
    if (same) this.run.snapshot.writeLater();
    else this.run.snapshot.write();
  }

  find(urn: string): Resource | undefined {
    return this.run.executor.entryOf(urn) ?? this.run.snapshot.find(urn);
  }

  /** Until everything asked for so far is planned and done. */
  async settled(): Promise<void> {
    let planning: Promise<void> | undefined;
    while (planning !== this.#planning) {
      planning = this.#planning;
      await planning;
      await this.run.executor.idle();
    }
  }

  /** What was not answered never will be; the SDK takes it for the end of the command. */
  end(): void {
    this.#over = true;
    for (const refuse of this.#open) refuse(shutDown());
    this.#open.clear();
  }

  #answer(start: (settle: Settle) => void): Promise<Registered> {
    if (this.#over) throw shutDown();
    return new Promise<Registered>((resolve, reject) => {
      this.#open.add(reject);
      start((registered) => {
        this.#open.delete(reject);
        resolve(registered);
      });
    });
  }

  #plan(goal: { type: string; name: string }, work: () => Promise<Step[]>): void {
    this.#planning = this.#planning.then(async () => {
      if (this.run.executor.cancelled) return;
      try {
        const steps = this.#possible(await work());
        if (steps.length > 0) await this.run.executor.submit(this.run, steps);
      } catch (error) {
        this.#bail(goal, error);
      }
    });
  }

  async #prepared(goal: Goal, settle: Settle): Promise<Step[]> {
    const registration = this.generator.prepare(goal, settle);
    const { old } = registration;
    if (!this.options.refreshFirst || !old || !this.generator.targets.includes(old)) {
      return this.generator.steps(registration);
    }
    const refresh = new RefreshStep(old, true);
    this.generator.refreshes.add(registration.urn);
    const { done } = await this.run.executor.submit(this.run, [refresh]);
    void done.then(() => {
      registration.old = refresh.current;
      if (refresh.current) this.generator.olds.set(old.urn, refresh.current);
      else this.generator.olds.delete(old.urn);
      this.#plan(goal, () => this.generator.steps(registration));
    });
    return [];
  }

  /** Leaves out what depends on something that failed, where others go on. */
  #possible(steps: readonly Step[]): Step[] {
    return steps.filter((step) => {
      if (!this.run.executor.brokenBy(dependenciesOf(step.resource), this.#skipped)) return true;
      this.#skipped.add(step.resource.urn);
      step.settle?.("skipped");
      return false;
    });
  }

  #bail(goal: { type: string; name: string }, error: unknown): void {
    this.bailed = true;
    if (!(error instanceof Reported)) {
      const urn = [...this.generator.urns].find((known) => known.endsWith(`${goal.type}::${goal.name}`));
      const message = error instanceof Error ? error.message : String(error);
      this.run.reporter.diagnose({ severity: "error", message, ...(urn === undefined ? {} : { urn }) });
    }
    this.run.executor.cancel();
  }

  #provider(type: string): Promise<string> {
    const [pkg] = type.split(":");
    if (pkg !== "pulumi-nodejs") {
      const message = `the fake engine runs dynamic resources only, not those of ${pkg} (${type})`;
      this.run.reporter.diagnose({ severity: "error", message });
      this.bailed = true;
      this.run.executor.cancel();
      throw new Status(grpc.status.UNAVAILABLE, message);
    }
    if (this.#defaultProvider.started) return this.#defaultProvider.wait();
    const registered = this.register(defaultProvider(this.options.providerInputs()));
    return this.#defaultProvider.start(registered.then(({ resource }) => `${resource.urn}::${resource.id}`));
  }
}

/**
 * Something that many wait for. Of those the last mostly goes on first in the real engine, as Go wakes it up last:
 * whoever relies on the order in a program finds out here.
 */
class WakeUpCall<T> {
  readonly #waiting: PromiseWithResolvers<T>[] = [];
  #done = false;
  #awaited: Promise<T> | undefined;

  get started(): boolean {
    return this.#awaited !== undefined;
  }

  start(awaited: Promise<T>): Promise<T> {
    this.#awaited = awaited;
    const waking = this.wait();
    const finish = (wake: (sleeper: PromiseWithResolvers<T>) => void) => {
      this.#done = true;
      const last = this.#waiting.pop();
      for (const sleeper of last ? [last, ...this.#waiting.splice(0)] : []) wake(sleeper);
    };
    awaited.then(
      (value) => finish((sleeper) => sleeper.resolve(value)),
      (error: unknown) => finish((sleeper) => sleeper.reject(error)),
    );
    return waking;
  }

  wait(): Promise<T> {
    if (this.#done && this.#awaited) return this.#awaited;
    const sleeper = Promise.withResolvers<T>();
    this.#waiting.push(sleeper);
    return sleeper.promise;
  }
}

function shutDown(): Status {
  return new Status(grpc.status.UNAVAILABLE, "the engine is shutting down");
}

function defaultProvider(inputs: Values): Goal {
  return {
    type: dynamicProviderType,
    name: "default",
    custom: true,
    parent: "",
    inputs,
    provider: "",
    dependencies: [],
    propertyDependencies: {},
    protect: undefined,
    retainOnDelete: undefined,
    deleteBeforeReplace: undefined,
    ignoreChanges: [],
    replaceOnChanges: [],
    additionalSecretOutputs: [],
    aliases: [],
    importId: "",
    customTimeouts: {},
    deletedWith: "",
    replaceWith: [],
    sourcePosition: "",
  };
}
