import { setImmediate } from "node:timers/promises";
import { InitError } from "./provider";
import { Reported, type Run } from "./run";
import type { Resource } from "./state/resource";
import { ProtectedError } from "./steps/delete";
import { markOutputs } from "./steps/outputs";
import type { Step } from "./steps/step";

/** Runs steps. Steps of one chain run in sequence. Up to `parallel` chains run at the same time. */
export class Executor {
  readonly failedSteps: Step[] = [];
  /** The finished step of each URN. The program may add outputs to it later. */
  readonly made = new Map<string, Step>();
  #failed = false;
  #cancelled = false;
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #working = new Set<Promise<void>>();
  readonly #onCancel: (() => void)[] = [];
  /** Steps whose failure doesn't prevent other steps from starting. */
  readonly #carryOn = new WeakSet<Step>();

  constructor(
    parallel: number,
    private readonly continueOnError: boolean,
  ) {
    this.#free = parallel;
  }

  get failed(): boolean {
    return this.#failed;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Starts no new steps. Running steps finish. */
  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    for (const go of this.#waiting.splice(0)) go();
    for (const told of this.#onCancel.splice(0)) told();
  }

  onCancel(told: () => void): void {
    if (this.#cancelled) told();
    else this.#onCancel.push(told);
  }

  /** Resolves when a worker has started the chain, with a promise of the chain's end. */
  async submit(run: Run, chain: readonly Step[]): Promise<{ done: Promise<void> }> {
    if (this.#free === 0 && !this.#cancelled)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    const done = this.#work(run, chain).finally(() => {
      this.#working.delete(done);
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    });
    this.#working.add(done);
    return { done };
  }

  /** Runs independent steps, and waits for all of them. With `carryOn`, a failure doesn't prevent others from starting. */
  async all(run: Run, steps: readonly Step[], options: { carryOn?: boolean } = {}): Promise<void> {
    const started: Promise<void>[] = [];
    for (const step of steps) {
      if (options.carryOn) this.#carryOn.add(step);
      const { done } = await this.submit(run, [step]);
      started.push(done);
    }
    await Promise.all(started);
  }

  /** Resolves when no step is running. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  async #work(run: Run, chain: readonly Step[]): Promise<void> {
    // Meanwhile, the engine handles the next registration, whose check reaches the provider before this step's call.
    await setImmediate();
    for (const step of chain) {
      if (this.#cancelled) return;
      try {
        await this.#step(run, step);
      } catch (error) {
        this.#fail(run, step, error);
        return;
      }
    }
  }

  async #step(run: Run, step: Step): Promise<void> {
    run.reporter.started(step);
    const end = step.begin(run.snapshot);
    try {
      await step.apply(run);
    } catch (error) {
      const partial = error instanceof InitError;
      if (partial && step.current) markOutputs(step.current);
      run.reporter.failed(step, error);
      end(partial);
      throw error;
    }
    if (step.current && step.op !== "replace") markOutputs(step.current);
    if (step.current && (step.logical || step.op === "create-replacement"))
      this.made.set(step.current.urn, step);
    run.reporter.done(step);
    end(true);
    step.settle?.("success");
  }

  #fail(run: Run, step: Step, error: unknown): void {
    this.#failed = true;
    if (this.#carryOn.has(step)) return;
    if (this.continueOnError || error instanceof ProtectedError) {
      this.failedSteps.push(step);
      step.settle?.("failed");
    } else {
      this.cancel();
    }
    if (error instanceof Reported) run.reporter.diagnose({ severity: "error", message: error.message });
  }

  /** Returns whether a dependency of the resource failed. The engine then skips the resource's step. */
  brokenBy(urns: Iterable<string>, skipped: ReadonlySet<string>): boolean {
    const broken = new Set([...skipped, ...this.failedSteps.map((step) => step.resource.urn)]);
    return [...urns].some((urn) => broken.has(urn));
  }

  entryOf(urn: string): Resource | undefined {
    return this.made.get(urn)?.current;
  }
}
