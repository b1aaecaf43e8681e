import type { Diagnostic } from "../harness/engine";
import type { ReporterOptions } from "./reporter";
import { makeUrn, parseUrn, stackType } from "./state/urn";
import { RefreshStep } from "./steps/refresh";
import type { Step } from "./steps/step";
import { summary } from "./summary";
import { shortDiff } from "./values/short-diff";
import type { Values } from "./values/values";
import { verb, verbs } from "./verbs";

/** Steps without a line of their own: they clean up an entry, or another line already shows them. */
const silent: ReadonlySet<string> = new Set(["remove-pending-replace", "read-replacement", "read-discard"]);

/** Prints the lines of a run without a terminal: one for each event, and a summary. */
export class Display {
  readonly #lines: string[] = [];
  readonly #startedAt = Date.now();
  readonly #began = new Map<string, number>();
  /** Components whose outputs are not registered yet, including the stack. */
  readonly #open = new Map<string, Step>();
  readonly #rows = new Map<string, string>();
  readonly #diffs = new Map<string, string>();
  readonly #latest = new Map<string, Step>();
  readonly #diagnostics: Diagnostic[] = [];
  readonly #stackUrn: string;

  constructor(private readonly options: ReporterOptions) {
    this.#stackUrn = makeUrn(options, "", stackType, `${options.project}-${options.stack}`);
    const { command, dryRun } = options;
    const [doing, noun] = {
      preview: ["", "update"],
      up: ["Updating", "update"],
      refresh: ["Refreshing", "refresh"],
      destroy: ["Destroying", "destroy"],
    }[command];
    this.#line(`${dryRun ? `Previewing ${noun}` : doing} (${options.stack}):`);
  }

  get output(): string {
    return this.#lines.map((line) => `${line}\n`).join("");
  }

  started(step: Step): void {
    this.#began.set(step.resource.urn, Date.now());
    this.#latest.set(step.resource.urn, step);
    if (!step.resource.custom && step.current) this.#open.set(step.resource.urn, step);
    if (step.op === "same" || step.op === "read" || silent.has(step.op) || this.options.dryRun) return;
    this.#row(step, verb(step).doing);
  }

  done(step: Step): void {
    if (this.#open.has(step.resource.urn) && step.op !== "refresh") return;
    this.#finished(step);
  }

  failed(step: Step): void {
    this.#open.delete(step.resource.urn);
    this.#row(
      step,
      `**${verb(step).doing.replace(" replacement", "").replace(" original", "")} failed**`,
      this.#firstError(step.resource.urn),
    );
  }

  completed(urn: string): void {
    const step = this.#open.get(urn);
    if (!step || urn === this.#stackUrn) return;
    this.#open.delete(urn);
    this.#finished(step);
  }

  diagnostic(diagnostic: Diagnostic): void {
    if (!diagnostic.ephemeral) this.#diagnostics.push(diagnostic);
    const urn = diagnostic.urn ?? this.#stackUrn;
    const step = this.#latest.get(urn);
    const [first] = withSeverity(diagnostic).split("\n");
    if (step) this.#row(step, verb(step).doing, first);
    else this.#line(`    ${this.#describe(urn)} ${urn === this.#stackUrn ? "running" : ""} ${first}`);
  }

  /** Shows failures of resources that never got a step. */
  #failedWithoutStep(): void {
    const errors = this.#diagnostics.filter((d) => d.severity === "error" && d.urn !== undefined);
    for (const urn of new Set(errors.map((d) => d.urn ?? ""))) {
      if (this.#latest.has(urn) || urn === this.#stackUrn) continue;
      this.#line(
        `    ${this.#describe(urn)} **failed** ${plural(errors.filter((d) => d.urn === urn).length, "error")}`,
      );
    }
  }

  finish(result: {
    ok: boolean;
    oldOutputs: Values;
    newOutputs: Values;
    changes: Readonly<Record<string, number>>;
    forgotten: boolean;
  }): void {
    for (const step of this.#open.values()) {
      const failed = !result.ok && step.resource.urn === this.#stackUrn;
      if (failed)
        this.#row(step, step.op === "same" ? "**failed**" : `**${verb(step).doing} failed**`, this.#counts());
      else this.#finished(step);
    }
    this.#failedWithoutStep();
    const about = (urn: string) => this.#describe(urn);
    const seconds = Math.round((Date.now() - this.#startedAt) / 1000);
    const stackIsNew = this.#latest.get(this.#stackUrn)?.op === "create";
    for (const line of summary({
      ...this.options,
      ...result,
      about,
      stackIsNew,
      diagnostics: this.#diagnostics,
      stackUrn: this.#stackUrn,
      seconds,
    })) {
      this.#line(line);
    }
  }

  #finished(step: Step): void {
    if (silent.has(step.op)) return;
    const refreshed =
      step instanceof RefreshStep && this.options.command === "refresh" ? step.result : undefined;
    const { mark, done, planned } = verbs[refreshed ?? step.op] ?? verb(step);
    const stack = this.#latest.get(this.#stackUrn);
    if (step.op === "read" && stack) {
      this.#row(stack, verb(stack).doing, `read ${this.#describe(step.resource.urn)}`);
      return;
    }
    const optionsChanged = step.op === "same" && step.old && step.old.protect !== step.current?.protect;
    if (step.op === "same" && !optionsChanged && step.resource.urn !== this.#stackUrn) return;
    this.#row(step, this.options.dryRun ? planned : done, undefined, mark);
  }

  #row(step: Step, status: string, message?: string, mark = verb(step).mark): void {
    const began = this.#began.get(step.resource.urn);
    const seconds = began === undefined ? 0 : Math.round((Date.now() - began) / 10) / 100;
    const time =
      this.options.dryRun || step.op === "same" || status.startsWith("**") || status === ""
        ? ""
        : ` (${seconds}s)`;
    const retained =
      step.op !== "same" && step.op !== "create" && (step.old ?? step.resource).retainOnDelete
        ? " [retain]"
        : "";
    const diff =
      shortDiff(step) ?? (step.op === "delete-replaced" ? this.#diffs.get(step.resource.urn) : undefined);
    if (diff !== undefined) this.#diffs.set(step.resource.urn, diff);
    const info = [diff, message].filter((part) => part !== undefined && part !== "").join("; ");
    const { urn } = step.resource;
    const row = ` ${mark.padEnd(2)} ${this.#describe(urn)} ${status}${time}${retained} ${info}`.trimEnd();
    // Two unchanged entries of one resource share a line.
    if (status === "" && this.#rows.get(urn) === row) return;
    this.#rows.set(urn, row);
    this.#line(row);
  }

  #counts(): string {
    const own = this.#diagnostics.filter((d) => (d.urn ?? this.#stackUrn) === this.#stackUrn);
    const errors = own.filter((d) => d.severity === "error").length;
    const messages = own.filter((d) => d.severity.startsWith("info")).length;
    const parts = [plural(errors, "error"), plural(messages, "message")];
    return parts.filter((part) => part !== "").join("; ");
  }

  #firstError(urn: string): string | undefined {
    const error = this.#diagnostics.findLast((d) => d.urn === urn && d.severity === "error");
    return error && withSeverity(error).split("\n")[0];
  }

  #describe(urn: string): string {
    const { type, name } = parseUrn(urn);
    return `${type} ${name}`;
  }

  #line(line: string): void {
    this.#lines.push(line);
    this.options.onLine(line);
  }
}

function plural(count: number, noun: string): string {
  return count === 0 ? "" : `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function withSeverity({ severity, message }: Diagnostic): string {
  return severity === "error" || severity === "warning" ? `${severity}: ${message}` : message;
}
