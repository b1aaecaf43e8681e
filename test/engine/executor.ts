import { setImmediate } from "node:timers/promises";
import { InitError } from "./provider";
import { Reported, type Run } from "./run";
import type { Resource } from "./state/resource";
import { ProtectedError } from "./steps/delete";
import { markOutputs } from "./steps/outputs";
import type { Step } from "./steps/step";

/** Makes steps: those of a chain one after the other, chains at the same time, as many as `parallel` allows. */
export class Executor {
  readonly failedSteps: Step[] = [];
  /** What was made for each URN, to be completed with outputs that the program registers later. */
  readonly made = new Map<string, Step>();
  #failed = false;
  #cancelled = false;
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #working = new Set<Promise<void>>();
  readonly #onCancel: (() => void)[] = [];
  /** Steps whose failure keeps nobody from starting. */
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

  /** Starts nothing more; what is in flight ends by itself. */
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

  /** Comes back when a worker has taken the chain, with a promise of its end. */
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

  /** Makes the steps in any order, and waits for all. With `carryOn` a failure does not keep others from starting. */
  async all(run: Run, steps: readonly Step[], options: { carryOn?: boolean } = {}): Promise<void> {
    const started: Promise<void>[] = [];
    for (const step of steps) {
      if (options.carryOn) this.#carryOn.add(step);
      const { done } = await this.submit(run, [step]);
      started.push(done);
    }
    await Promise.all(started);
  }

  /** Until nothing is in flight. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  async #work(run: Run, chain: readonly Step[]): Promise<void> {
    // The next registration is looked at meanwhile: its check reaches the provider before this step's call does.
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

  /** Whether something failed that the resource depends on; such a step is left out. */
  brokenBy(urns: Iterable<string>, skipped: ReadonlySet<string>): boolean {
    const broken = new Set([...skipped, ...this.failedSteps.map((step) => step.resource.urn)]);
    return [...urns].some((urn) => broken.has(urn));
  }

  entryOf(urn: string): Resource | undefined {
    return this.made.get(urn)?.current;
  }
}
