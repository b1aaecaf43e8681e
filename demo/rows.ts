import readline from "node:readline";
import type { EngineEvent, Step, StepOp } from "../test/harness/engine";

/** Shows the progress of a run, for an engine that has no display of its own. */
export interface Rows {
  show(event: EngineEvent): void;
}

interface Words {
  readonly sign: string;
  readonly planned: string;
  readonly doing: string;
  readonly done: string;
}

const QUIET: Words = { sign: " ", planned: "unchanged", doing: "checking", done: "unchanged" };

const WORDS: Partial<Record<StepOp, Words>> = {
  create: { sign: "+", planned: "create", doing: "creating", done: "created" },
  update: { sign: "~", planned: "update", doing: "updating", done: "updated" },
  delete: { sign: "-", planned: "delete", doing: "deleting", done: "deleted" },
  replace: { sign: "±", planned: "replace", doing: "replacing", done: "replaced" },
};

/** Shows one row for each resource, with its status and progress, and redraws the rows at each event. */
export function liveRows(
  out: NodeJS.WritableStream & { readonly columns: number },
  isPreview: boolean,
): Rows {
  const rows = new Map<string, Row>();
  return {
    show: (event) => {
      const drawn = rows.size;
      if (!record(rows, event, isPreview)) return;
      if (drawn > 0) readline.moveCursor(out, 0, -drawn);
      readline.clearScreenDown(out);
      // A row that is wider than the terminal would wrap, and the next redraw would start in the wrong line.
      for (const row of rows.values()) out.write(`${rowText(row).slice(0, out.columns - 1)}\n`);
    },
  };
}

/** Prints a line for each event, for logs and pipes. */
export function plainRows(out: NodeJS.WritableStream, isPreview: boolean): Rows {
  const rows = new Map<string, Row>();
  let last = "";
  return {
    show: (event) => {
      const row = record(rows, event, isPreview);
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

/** Records an event, and returns the row to show, if any. */
function record(rows: Map<string, Row>, event: EngineEvent, isPreview: boolean): Row | undefined {
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
  const next = { step, state: isPreview ? words.planned : states[kind], progress: "" };
  rows.set(event.urn, next);
  return next;
}

function rowText({ step, state, progress }: Row): string {
  const { sign } = WORDS[step.op] ?? QUIET;
  const kind = step.type.split(":").at(-1) ?? step.type;
  const changed = step.diffs?.length ? ` [${step.diffs.join(", ")}]` : "";
  return ` ${sign} ${kind.padEnd(9)} ${step.name.padEnd(16)} ${progress || state}${changed}`;
}
