import type { Diagnostic } from "../harness/engine";
import { withSeverity } from "./display";
import { identical } from "./values/diff";
import { print } from "./values/show";
import type { Value, Values } from "./values/values";

export interface Ending {
  readonly command: string;
  readonly dryRun: boolean;
  readonly stack: string;
  readonly showSecrets: boolean;
  readonly ok: boolean;
  readonly oldOutputs: Values;
  readonly newOutputs: Values;
  readonly changes: Readonly<Record<string, number>>;
  readonly diagnostics: readonly Diagnostic[];
  readonly stackUrn: string;
  readonly seconds: number;
  /** Whether the state is empty. */
  readonly forgotten: boolean;
  readonly stackIsNew: boolean;
  about(urn: string): string;
}

/** Returns the lines below the steps. */
export function summary(ending: Ending): string[] {
  return [
    ...diagnosticLines(ending),
    ...outputLines(ending),
    ...resourceLines(ending),
    "",
    `Duration: ${ending.seconds}s`,
    ...farewell(ending),
  ];
}

function diagnosticLines({ diagnostics, stackUrn, about }: Ending): string[] {
  if (diagnostics.length === 0) return [];
  const byUrn = Map.groupBy(diagnostics, (diagnostic) => diagnostic.urn ?? stackUrn);
  const sections = [...byUrn].flatMap(([urn, list]) => [
    `  ${about(urn).replace(/ (.*)$/, " ($1):")}`,
    ...list.flatMap((diagnostic) => [
      ...withSeverity(diagnostic)
        .trimEnd()
        .split("\n")
        .map((line) => `    ${line}`),
      "",
    ]),
  ]);
  return ["Diagnostics:", ...sections];
}

function outputLines({ oldOutputs, newOutputs, showSecrets, stackIsNew, forgotten }: Ending): string[] {
  const keys = [...new Set([...Object.keys(oldOutputs), ...Object.keys(newOutputs)])].sort();
  if (keys.length === 0 || forgotten) return [];
  const width = Math.max(...keys.map((key) => key.length));
  const text = (value: Value | undefined) => print(value, { showSecrets, indent: "    " });
  const lines = keys.map((key) => {
    const [before, after] = [oldOutputs[key], newOutputs[key]];
    const label = `${key.padEnd(width)}: `;
    if (after === undefined) return `  - ${label}${text(before)}`;
    if (before === undefined) return `  ${stackIsNew ? " " : "+"} ${label}${text(after)}`;
    return identical(before, after)
      ? `    ${label}${text(after)}`
      : `  ~ ${label}${text(before)} => ${text(after)}`;
  });
  return ["Outputs:", ...lines, ""];
}

const counted = [
  ["create", "+ ", "created", "create"],
  ["update", "~ ", "updated", "update"],
  ["delete", "- ", "deleted", "delete"],
  ["replace", "+-", "replaced", "replace"],
  ["import", "= ", "imported", "import"],
] as const;

function resourceLines({ changes, diagnostics, dryRun, stackUrn }: Ending): string[] {
  const present = counted.filter(([op]) => changes[op] !== undefined);
  const lines = present.map(
    ([op, mark, done, planned]) => `    ${mark}${changes[op]} ${dryRun ? `to ${planned}` : done}`,
  );
  const total = present.reduce((sum, [op]) => sum + (changes[op] ?? 0), 0);
  const together = present.length > 1 ? `${total} changes. ` : "";
  if (changes.same !== undefined) lines.push(`    ${together}${changes.same} unchanged`);
  else if (together !== "") lines.push(`    ${together.trimEnd().replace(/\.$/, "")}`);
  const errored = new Set(diagnostics.filter((d) => d.severity === "error").map((d) => d.urn ?? stackUrn))
    .size;
  if (errored > 0) lines.push(`    ${errored} errored`);
  return lines.length === 0 ? [] : ["Resources:", ...lines];
}

function farewell({ command, dryRun, ok, forgotten, stack }: Ending): string[] {
  if (command !== "destroy" || dryRun || !ok || !forgotten) return [];
  return ["", `Nothing is left in the stack ${stack}; its configuration stays.`];
}
