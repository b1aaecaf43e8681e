import type { Step } from "../steps/step";
import { type ChangeKind, detailedDiff } from "./diff";
import { parsePath } from "./paths";

/** Formats the changes as in Pulumi's status column: `[diff: +labels-publicIp~flavor]`. */
export function shortDiff(step: Step): string | undefined {
  if (step.op === "same")
    return step.old && step.old.protect !== step.current?.protect ? "[diff: ~protect]" : undefined;
  if (!step.old || !step.diff) return undefined;
  const compared = Object.keys(step.diff.detailed).length > 0;
  const places = compared
    ? step.diff.detailed
    : detailedDiff(step.old.inputs, step.current?.inputs ?? step.old.inputs);
  const kinds = new Map<string, ChangeKind>();
  for (const [place, kind] of Object.entries(places)) {
    const [key, ...deeper] = parsePath(place);
    // The display shows the engine's own comparison completely. It hides internal properties only if it compares by
    // itself.
    if (typeof key === "string" && (compared || !key.startsWith("__")))
      kinds.set(key, deeper.length > 0 ? "update" : kind);
  }
  const named = (kind: ChangeKind) =>
    [...kinds]
      .filter(([, k]) => k === kind)
      .map(([key]) => key)
      .sort()
      .join(",");
  const [added, deleted, updated] = [named("add"), named("delete"), named("update")];
  if (kinds.size === 0) return undefined;
  return `[diff: ${added && `+${added}`}${deleted && `-${deleted}`}${updated && `~${updated}`}]`;
}
