import type { Step } from "./steps/step";

export interface Verb {
  readonly mark: string;
  readonly planned: string;
  readonly doing: string;
  readonly done: string;
}

/** The words for each kind of step, before, during and after it. */
export const verbs: Readonly<Record<string, Verb>> = {
  same: { mark: "", planned: "", doing: "running", done: "" },
  create: { mark: "+", planned: "create", doing: "creating", done: "created" },
  update: { mark: "~", planned: "update", doing: "updating", done: "updated" },
  delete: { mark: "-", planned: "delete", doing: "deleting", done: "deleted" },
  replace: { mark: "+-", planned: "replace", doing: "replacing", done: "replaced" },
  "create-replacement": {
    mark: "++",
    planned: "create replacement",
    doing: "creating replacement",
    done: "created replacement",
  },
  "delete-replaced": {
    mark: "--",
    planned: "delete original",
    doing: "deleting original",
    done: "deleted original",
  },
  "discard-replaced": {
    mark: "<<",
    planned: "discard original",
    doing: "discarding original",
    done: "discarded original",
  },
  "remove-pending-replace": {
    mark: "~",
    planned: "complete replacement",
    doing: "completing replacement",
    done: "completed replacement",
  },
  read: { mark: ">", planned: "read", doing: "reading", done: "read" },
  "read-replacement": {
    mark: ">>",
    planned: "read for replacement",
    doing: "reading for replacement",
    done: "read for replacement",
  },
  "read-discard": { mark: "<", planned: "discard", doing: "discarding", done: "discarded" },
  refresh: { mark: "~", planned: "refresh", doing: "refreshing", done: "refresh" },
  import: { mark: "=", planned: "import", doing: "importing", done: "imported" },
};

export function verb(step: Step): Verb {
  return verbs[step.op] ?? { mark: "", planned: step.op, doing: step.op, done: step.op };
}
