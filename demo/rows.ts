import readline from "node:readline";
import type { EngineEvent, Step, StepOp } from "../test/harness/engine";

/** Shows how a run goes, for an engine that draws nothing itself. */
export interface Rows {
  take(event: EngineEvent): void;
}

interface Words {
  readonly sign: string;
  readonly planned: string;
  readonly doing: string;
  readonly done: string;
}

const QUIET: Words = { sign: " ", planned: "unchanged", doing: "looking", done: "unchanged" };

const WORDS: Partial<Record<StepOp, Words>> = {
  create: { sign: "+", planned: "create", doing: "creating", done: "created" },
  update: { sign: "~", planned: "update", doing: "updating", done: "updated" },
  delete: { sign: "-", planned: "delete", doing: "deleting", done: "deleted" },
  replace: { sign: "±", planned: "replace", doing: "replacing", done: "replaced" },
};

/** Rows that are drawn anew with each event: one for each resource, its state and progress in it. */
export function liveRows(out: NodeJS.WritableStream & { readonly columns: number }, planning: boolean): Rows {
  const rows = new Map<string, Row>();
  return {
    take: (event) => {
      const drawn = rows.size;
      if (!keep(rows, event, planning)) return;
      if (drawn > 0) readline.moveCursor(out, 0, -drawn);
      readline.clearScreenDown(out);
      // A row longer than the terminal would wrap, and the next drawing would start in the wrong place.
      for (const row of rows.values()) out.write(`${rowText(row).slice(0, out.columns - 1)}\n`);
    },
  };
}

/** A line for each thing that happens, for logs and pipes. */
export function plainRows(out: NodeJS.WritableStream, planning: boolean): Rows {
  const rows = new Map<string, Row>();
  let last = "";
  return {
    take: (event) => {
      const row = keep(rows, event, planning);
      const text = row ? rowText(row) : "";
      if (text === "" || text === last) return;
      last = text;
      out.write(`${text}\n`);
    },
  };
}

interface Row {
  readonly step: Step;
  state: string;
  progress: string;
}

/** Notes the event; the row it belongs to, or undefined where it is none to show. */
function keep(rows: Map<string, Row>, event: EngineEvent, planning: boolean): Row | undefined {
  const row = event.urn === undefined ? undefined : rows.get(event.urn);
  if (event.kind === "diagnostic") {
    if (row && event.ephemeral) row.progress = event.message;
    return row;
  }
  const words = WORDS[event.op] ?? QUIET;
  const states = {
    "step-started": words.doing,
    "step-done": words.done,
    "step-failed": `${words.doing} failed`,
  };
  const { kind, ...step } = event;
  const next = { step, state: planning ? words.planned : states[kind], progress: "" };
  rows.set(event.urn, next);
  return next;
}

function rowText({ step, state, progress }: Row): string {
  const { sign } = WORDS[step.op] ?? QUIET;
  const kind = step.type.split(":").at(-1) ?? step.type;
  const changed = step.diffs?.length ? ` [${step.diffs.join(", ")}]` : "";
  return ` ${sign} ${kind.padEnd(9)} ${step.name.padEnd(16)} ${progress || state}${changed}`;
}
