import * as grpc from "@grpc/grpc-js";
import { DefaultProviders } from "./default-providers";
import type { Generator } from "./plan/generator";
import { dynamicProviderType, withVersion } from "./providers";
import { Reported, type Run } from "./run";
import { dependenciesOf, type Resource } from "./state/resource";
import { isProviderType } from "./state/urn";
import { RefreshStep } from "./steps/refresh";
import type { Registered, Settle, Step } from "./steps/step";
import { identical } from "./values/diff";
import type { Values } from "./values/values";
import type { Goal, ReadGoal } from "./wire/goal";
import { Status } from "./wire/serve";

/** Turns the program's registrations into steps, one at a time, and replies when the steps have finished. */
export class Registrations {
  #planning: Promise<void> = Promise.resolve();
  readonly #defaultProviders: DefaultProviders;
  #over = false;
  readonly #open = new Set<(error: Error) => void>();
  readonly #skipped = new Set<string>();
  /** The outputs that the program reports for its stack. */
  stackOutputs: { urn: string; outputs: Values } | undefined;
  /** A registration has failed, and the failure has been reported. */
  bailed = false;

  constructor(
    private readonly run: Run,
    private readonly generator: Generator,
    private readonly options: { refreshFirst: boolean; providerInputs: () => Values },
  ) {
    this.#defaultProviders = new DefaultProviders((goal) => this.register(goal), options.providerInputs);
  }

  async register(asked: Goal): Promise<Registered> {
    const goal = await this.#withProvider(asked);
    return this.#answer((settle) => this.#plan(goal, () => this.#prepared(goal, settle)));
  }

  async read(asked: ReadGoal): Promise<Registered> {
    const goal = { ...asked, provider: await this.#provider(asked) };
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

  /** Resolves when every registration so far is planned and done. */
  async settled(): Promise<void> {
    let planning: Promise<void> | undefined;
    while (planning !== this.#planning) {
      planning = this.#planning;
      await planning;
      await this.run.executor.idle();
    }
  }

  /** Leaves open calls without a reply. The SDK then treats the command as ended. */
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
    const refresh = new RefreshStep(old, registration.current);
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

  /** Leaves out steps that depend on a failed one, if other steps may continue. */
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

  async #withProvider(goal: Goal): Promise<Goal> {
    if (!goal.custom) return goal;
    if (!isProviderType(goal.type)) return { ...goal, provider: await this.#provider(goal) };
    if (goal.type !== dynamicProviderType) this.#refuse(goal.type.split(":").at(-1) ?? "", goal.type);
    return goal.version === "" ? goal : { ...goal, inputs: withVersion(goal.inputs, goal.version) };
  }

  async #provider({ type, provider, version }: Pick<Goal, "type" | "provider" | "version">): Promise<string> {
    if (provider !== "") return provider;
    const [pkg = ""] = type.split(":");
    if (pkg !== "pulumi-nodejs") this.#refuse(pkg, type);
    return this.#defaultProviders.reference(version);
  }

  #refuse(pkg: string, type: string): never {
    const message = `the fake engine runs dynamic resources only, not those of ${pkg} (${type})`;
    this.run.reporter.diagnose({ severity: "error", message });
    this.bailed = true;
    this.run.executor.cancel();
    throw new Status(grpc.status.UNAVAILABLE, message);
  }
}

function shutDown(): Status {
  return new Status(grpc.status.UNAVAILABLE, "the engine is shutting down");
}
