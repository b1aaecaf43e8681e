import { stripVTControlCharacters } from "node:util";
import type { Diagnostic, EngineEvent, Step as ReportedStep, RunResult, Shown } from "../harness/engine";
import { Display } from "./display";
import { isDefaultProvider, parseUrn } from "./state/urn";
import { RefreshStep } from "./steps/refresh";
import type { Step } from "./steps/step";
import { encodeMap, forEvents, type Values } from "./values/values";

export interface ReporterOptions {
  readonly command: "preview" | "up" | "refresh" | "destroy";
  readonly dryRun: boolean;
  readonly project: string;
  readonly stack: string;
  readonly showSecrets: boolean;
  onEvent(event: EngineEvent): void;
  /** Called with each displayed line. */
  onLine(line: string): void;
  /** Called with every message, including those that aren't displayed. */
  readonly overhear?: ((where: string, text: string) => void) | undefined;
}

/** Records the events of a command, and reports them. */
export class Reporter {
  readonly diagnostics: Diagnostic[] = [];
  readonly steps: ReportedStep[] = [];
  readonly changes: Record<string, number> = {};
  readonly #display: Display;
  readonly #begun = new Map<Step, number>();

  constructor(private readonly options: ReporterOptions) {
    this.#display = new Display(options);
  }

  started(step: Step): void {
    if (isInternal(step)) return;
    this.#display.started(step);
    this.#begun.set(step, this.steps.length);
    this.steps.push(describe(step));
    this.options.onEvent({ kind: "step-started", ...describe(step) });
  }

  done(step: Step): void {
    if (isInternal(step)) return;
    const op = step instanceof RefreshStep && this.options.command === "refresh" ? step.result : step.op;
    if (step.logical || op !== step.op) this.changes[op] = (this.changes[op] ?? 0) + 1;
    this.#display.done(step);
    const described = { ...describe(step), op };
    this.steps[this.#begun.get(step) ?? this.steps.length] = described;
    this.options.onEvent({ kind: "step-done", ...described, shown: shownOf(step) });
  }

  failed(step: Step, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const message = this.options.dryRun ? `Preview failed: ${reason}` : reason;
    this.diagnose({ severity: "error", message, ...(isInternal(step) ? {} : { urn: step.resource.urn }) });
    if (isInternal(step)) return;
    this.#display.failed(step);
    this.options.onEvent({ kind: "step-failed", ...describe(step) });
  }

  diagnose(reported: Diagnostic): void {
    this.options.overhear?.(`a message of severity ${reported.severity}`, JSON.stringify(reported));
    if (reported.severity === "debug") return;
    const diagnostic = { ...reported, message: stripVTControlCharacters(reported.message).trimEnd() };
    this.diagnostics.push(diagnostic);
    this.#display.diagnostic(diagnostic);
    this.options.onEvent({ kind: "diagnostic", ...diagnostic });
  }

  /** Marks a component as complete, because the program has registered its outputs. */
  registeredOutputs(urn: string): void {
    this.#display.completed(urn);
  }

  finish(result: {
    ok: boolean;
    oldOutputs: Values;
    newOutputs: Values;
    forgotten: boolean;
  }): Pick<RunResult, "output" | "steps" | "changes" | "diagnostics"> {
    this.#display.finish({ ...result, changes: this.changes });
    const { steps, changes, diagnostics } = this;
    return { output: this.#display.output, steps, changes, diagnostics };
  }
}

/** Steps of default providers aren't shown. */
function isInternal(step: Step): boolean {
  return isDefaultProvider(step.resource.urn) || (step instanceof RefreshStep && step.internal);
}

function shownOf({ current }: Step): Shown {
  const { inputs = {}, outputs = {} } = current ?? {};
  return { inputs: encodeMap(inputs, forEvents), outputs: encodeMap(outputs, forEvents) };
}

function describe(step: Step): ReportedStep {
  const { urn, type } = step.resource;
  const { diff } = step;
  return {
    op: step.op,
    urn,
    name: parseUrn(urn).name,
    type,
    ...(diff && diff.changed.length > 0 ? { diffs: diff.changed } : {}),
    ...(diff && diff.replaces.length > 0 ? { replaces: diff.replaces } : {}),
    ...(diff && Object.keys(diff.detailed).length > 0 ? { detailed: diff.detailed } : {}),
  };
}
