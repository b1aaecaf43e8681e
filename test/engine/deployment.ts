import type { Command, RunOptions } from "../harness/engine";
import type { StackConfig } from "./config";
import { deleteTheRest } from "./plan/deletes";
import { Generator, type Mode } from "./plan/generator";
import { Targets } from "./plan/targets";
import { unprotectedUrns } from "./plan/unprotected";
import { type ProgramOptions, ProgramProcess } from "./processes/program-process";
import { refreshAll } from "./refresh";
import { Registrations } from "./registrations";
import { Reported, type Run } from "./run";
import { stackType } from "./state/urn";
import { addMonitorService, type Registrar } from "./wire/monitor";
import { serve } from "./wire/serve";

/** How long the program may take to end after the command has ended. */
const graceMs = 5_000;

export interface DeploymentOptions {
  readonly command: Command;
  readonly options: RunOptions;
  readonly config: StackConfig;
  readonly parallel: number;
  /** The options of the program's process, except for the monitor's address. */
  readonly program: Omit<ProgramOptions, "monitorAddress">;
}

/** Runs one command from start to end. */
export class Deployment {
  readonly #targets: Targets;
  readonly #replaceTargets: Targets;
  readonly #interrupted = Promise.withResolvers<void>();
  #wasInterrupted = false;
  /** A failure has ended the command, and has been reported. */
  #bailed = false;
  /** A failure that doesn't end the command has been reported. */
  #sawError = false;

  constructor(
    private readonly run: Run,
    private readonly how: DeploymentOptions,
  ) {
    const { target = [], targetReplace = [], replace = [], targetDependents = false } = how.options;
    const unprotected = this.#sparesProtected ? unprotectedUrns(run.snapshot.base) : [];
    this.#targets = new Targets([...target, ...targetReplace, ...unprotected], targetDependents);
    this.#replaceTargets = new Targets([...targetReplace, ...replace], false);
  }

  get #sparesProtected(): boolean {
    return this.how.command === "destroy" && this.how.options.excludeProtected === true;
  }

  /** Handles the first Ctrl-C: running operations finish, the program ends at once, and nothing new starts. */
  interrupt(): void {
    this.#wasInterrupted = true;
    this.run.executor.cancel();
    this.#interrupted.resolve();
  }

  /** Runs the command, reports failures, and returns whether it succeeded. */
  async execute(): Promise<boolean> {
    try {
      await this.#execute();
    } catch (error) {
      this.#bailed = true;
      if (!(error instanceof Reported)) {
        this.run.reporter.diagnose({
          severity: "error",
          message: error instanceof Error ? error.message : String(error),
        });
      }
    }
    const { executor, reporter, dryRun } = this.run;
    await executor.idle();
    const what = dryRun ? "preview" : "update";
    if (this.#wasInterrupted && !executor.failed)
      reporter.diagnose({ severity: "error", message: `${what} canceled` });
    else if ((executor.failed || this.#sawError) && !this.#bailed)
      reporter.diagnose({ severity: "error", message: `${what} failed` });
    this.run.snapshot.flush();
    return !executor.failed && !this.#sawError && !this.#bailed && !this.#wasInterrupted;
  }

  async #execute(): Promise<void> {
    const { command, options } = this.how;
    const { run } = this;
    const withProgram = command === "preview" || command === "up" || options.runProgram === true;
    const refreshing = command === "refresh" || options.refresh === true;
    const refreshWithProgram = refreshing && options.runProgram === true;
    if (this.#sparesProtected && !this.#targets.constrained) return;
    if (withProgram) run.providers.warmUp();
    if (refreshing && !refreshWithProgram) {
      this.#requireTargets(this.#targets, new Set());
      await refreshAll(run, this.#targets);
      if (command === "refresh" || run.executor.failed || this.#wasInterrupted) return;
    } else if (!refreshWithProgram && !run.dryRun) {
      this.#warnOfPendingOperations();
    }
    this.#requireTargets(this.#replaceTargets, new Set());
    const mode: Mode =
      command === "refresh" ? "refresh" : command === "destroy" && withProgram ? "destroy" : "update";
    const generator = new Generator(run, mode, this.#targets, this.#replaceTargets);
    if (!withProgram) {
      await this.#deleteTheRest(generator);
      return;
    }
    await this.#runProgram(generator, refreshWithProgram);
  }

  async #runProgram(generator: Generator, refreshFirst: boolean): Promise<void> {
    const { run, how } = this;
    const registrations = new Registrations(run, generator, {
      refreshFirst,
      providerInputs: () => how.config.providerInputs(),
    });
    const complete = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const monitor = await serve((server) =>
      addMonitorService(server, {
        info: {
          organization: how.program.organization,
          project: run.project,
          stack: run.stack,
          dryRun: run.dryRun,
          parallel: how.parallel,
          ...how.config.clear(),
        },
        register: (goal) => registrations.register(goal),
        read: (goal) => registrations.read(goal),
        registerOutputs: async (urn, outputs) => {
          if (urn.includes(`::${stackType}::`)) registrations.stackOutputs = { urn, outputs };
          else registrations.registerOutputs(urn, outputs);
        },
        find: (urn) => registrations.find(urn),
        programIsComplete: () => {
          complete.resolve();
          return answered.promise;
        },
      } satisfies Registrar),
    );
    const program = new ProgramProcess({ ...how.program, monitorAddress: monitor.address });
    try {
      const failed = new Promise<void>((resolve) => run.executor.onCancel(resolve));
      const end = await Promise.race([program.ended, complete.promise, failed, this.#interrupted.promise]);
      if (end && !end.ok) {
        this.#bailed = true;
        if (end.message !== undefined) run.reporter.diagnose({ severity: "error", message: end.message });
        run.executor.cancel();
      }
      if (this.#wasInterrupted) await program.kill();
      await registrations.settled();
      if (!run.executor.cancelled) await this.#afterProgram(generator);
      await run.executor.idle();
      this.#bailed ||= registrations.bailed;
      this.#sawError ||= generator.sawError;
      this.#finishStackOutputs(registrations);
    } finally {
      answered.resolve();
      registrations.end();
      const timer = setTimeout(() => void program.kill(), graceMs);
      await program.ended.finally(() => clearTimeout(timer));
      monitor.close();
    }
  }

  async #afterProgram(generator: Generator): Promise<void> {
    if (generator.mode === "refresh") {
      await refreshAll(this.run, this.#targets, (resource) => generator.isOperatedOn(resource.urn));
      return;
    }
    await this.#deleteTheRest(generator);
  }

  async #deleteTheRest(generator: Generator): Promise<void> {
    await deleteTheRest(generator).catch((error: unknown) => {
      if (!(error instanceof Reported)) throw error;
    });
    this.#sawError ||= generator.sawError;
    this.#requireTargets(this.#targets, generator.urns);
  }

  /** After a failure, a missing output may only be one that the program hasn't reached. The old one stays. */
  #finishStackOutputs({ stackOutputs, bailed }: Registrations): void {
    const stack = stackOutputs && this.run.executor.entryOf(stackOutputs.urn);
    if (!stackOutputs || !stack) return;
    const errored = bailed || this.#bailed || this.run.executor.failed;
    const old = this.run.snapshot.base.find((resource) => resource.urn === stackOutputs.urn)?.outputs ?? {};
    stack.outputs = errored ? { ...old, ...stackOutputs.outputs } : stackOutputs.outputs;
    this.run.snapshot.write();
  }

  #requireTargets(targets: Targets, registered: ReadonlySet<string>): void {
    const known = new Set([...this.run.snapshot.base.map((resource) => resource.urn), ...registered]);
    const missing = targets.missing((urn) => known.has(urn));
    for (const target of missing) {
      this.run.reporter.diagnose({
        severity: "error",
        message: `Target '${target}' could not be found in the stack.`,
      });
    }
    if (missing.length > 0) throw new Reported("a target is missing");
  }

  #warnOfPendingOperations(): void {
    const left = this.run.snapshot.leftOverOperations;
    if (left.length === 0) return;
    const list = left
      .map(({ resource, type }) => `  * ${resource.urn}, interrupted while ${type}`)
      .join("\n");
    const message =
      `The stack has ${left.length} pending operations from an earlier command that was interrupted:\n${list}\n` +
      "Their outcome is unknown. `pulumi refresh` clears them. It clears those of unfinished creations only " +
      "with `--clear-pending-creates`, or if you confirm it.";
    this.run.reporter.diagnose({ severity: "warning", message });
  }
}
