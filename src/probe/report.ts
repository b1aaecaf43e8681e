import { oneLine, quoteForShell } from "../diagnostics/format";
import { type Finding, observedBehaviour, points, requiredSettings, works } from "./points";

const MARKS = { works: "✓", limited: "!", fails: "✗", unknown: "?" } as const;
const WIDTHS = { point: 20, observation: 38, consequence: 38 } as const;

/**
 * Formats the findings for people: a table, the settings that the service requires, and what won't work there.
 *
 * @param base the base URL of the service
 */
export function formatReport(base: string, findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ point, verdict, observation, consequence = "" }) =>
    tableRow(`${MARKS[verdict]} ${points[point]}`, observation, consequence),
  );
  const settings = Object.entries(requiredSettings(findings)).map(
    ([name, value]) => `  pulumi config set cloudinfra:${name} ${quoteForShell(oneLine(value))}`,
  );
  const limits = findings
    .filter(({ verdict }) => verdict === "limited" || verdict === "fails")
    .map(({ point, consequence }) => `  - ${points[point]}: ${oneLine(consequence ?? "")}.`);
  const unknown = findings.some(({ verdict }) => verdict === "unknown");
  return [
    `Service: ${base}`,
    [...tableRow("  Point", "Observation", "Consequence"), ...rows].join("\n"),
    settings.length > 0 && `Settings that this service requires:\n${settings.join("\n")}`,
    limits.length > 0 && `Limits of this service:\n${limits.join("\n")}`,
    unknown &&
      "Points marked with ? need an existing object. Run the command again when the account has some.",
    conclusion(findings),
  ]
    .filter(Boolean)
    .join("\n\n");
}

function conclusion(findings: readonly Finding[]): string {
  if (!works(findings))
    return "pulumi-cloudinfra can't be used with this service until the points marked with ✗ are fixed.";
  return findings.some(({ point }) => point === "creation")
    ? "pulumi-cloudinfra works with this service."
    : "pulumi-cloudinfra works with this service, as far as reading shows. The probe changed nothing.";
}

/** The report for tools. `settings` and `behaviour` are objects by name. */
export function reportAsJson(base: string, findings: readonly Finding[]): object {
  return {
    service: base,
    works: works(findings),
    points: findings.map(({ point, verdict, observation, consequence = null }) => ({
      ...{ point, verdict, observation, consequence },
    })),
    settings: requiredSettings(findings),
    behaviour: observedBehaviour(findings),
  };
}

function tableRow(...cells: readonly [point: string, observation: string, consequence: string]): string[] {
  const widths = Object.values(WIDTHS);
  const columns = cells.map((cell, at) => wrapped(oneLine(cell), widths[at] ?? 0));
  const height = Math.max(...columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    columns
      .map((lines, at) => (lines[line] ?? "").padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Splits a text into lines at spaces. Longer words get a line of their own. */
function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}
