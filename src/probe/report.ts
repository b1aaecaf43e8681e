import type { SettingName } from "../config/settings";
import { quoteForShell } from "../diagnostics/format";
import { oneLine } from "../diagnostics/redact";
import type { Behaviour } from "../emulator";

/**
 * The consequence of an observation for users. `works` requires no action. `limited` means that something is slower, or must be set or
 * avoided. `fails` means that the package can't be used. `unknown` means that the service has no object to check.
 */
type Verdict = "works" | "limited" | "fails" | "unknown";

/** The switches that the probe has observed. A switch is undefined if the probe can't tell its value. */
export type Switches = { readonly [Name in keyof Behaviour]?: Behaviour[Name] | undefined };
type Settings = { readonly [Name in SettingName]?: string };

export interface Result {
  readonly verdict: Verdict;
  /** The observed behavior of the service. The text contains no values of objects except ids. */
  readonly observation: string;
  readonly consequence?: string | undefined;
  readonly settings?: Settings;
  /** The switches that make the emulator behave in the same way. */
  readonly behaviour?: Switches;
}

export interface Finding extends Result {
  readonly point: string;
  readonly title: string;
}

export interface Point<Facts> {
  readonly title: string;
  /** Evaluates the facts of the probe. Returns `undefined` if the probe ended too early. */
  readonly judge: (facts: Facts) => Result | undefined;
}

/** A table of points by id, in the order of the report. */
export type Points<Facts> = Readonly<Record<string, Point<Facts>>>;

export const point = <Facts>(title: string, judge: Point<Facts>["judge"]): Point<Facts> => ({ title, judge });

const withBehaviour =
  (verdict: "works" | "unknown") =>
  (observation: string, behaviour: Switches = {}, consequence?: string): Result => ({
    ...{ verdict, observation, behaviour, consequence },
  });

export const works = withBehaviour("works");
export const unknown = withBehaviour("unknown");

const withConsequence =
  (verdict: "limited" | "fails") =>
  (observation: string, consequence: string, behaviour: Switches = {}, settings: Settings = {}): Result => ({
    ...{ verdict, observation, consequence, behaviour, settings },
  });

export const limited = withConsequence("limited");
export const fails = withConsequence("fails");

export function judge<Facts>(points: Points<Facts>, facts: Facts): Finding[] {
  return Object.entries(points).flatMap(([point, { title, judge }]) => {
    const result = judge(facts);
    return result === undefined ? [] : [{ point, title, ...result }];
  });
}

export function parts(...all: readonly (string | false | undefined)[]): string {
  const text = all.filter(Boolean).join("; ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Merges findings. A later finding replaces an earlier finding about the same point. */
export function addFindings(findings: readonly Finding[], later: readonly Finding[]): Finding[] {
  return [...new Map([...findings, ...later].map((finding) => [finding.point, finding])).values()];
}

export function isServiceUsable(findings: readonly Finding[]): boolean {
  return findings.every(({ verdict }) => verdict !== "fails");
}

export function requiredSettings(findings: readonly Finding[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...findings.map(({ settings }) => settings));
}

export function observedBehaviour(findings: readonly Finding[]): Partial<Behaviour> {
  const switches = findings.flatMap(({ behaviour = {} }) => Object.entries(behaviour));
  return Object.fromEntries(switches.filter(([, value]) => value !== undefined));
}

const MARKS = { works: "✓", limited: "!", fails: "✗", unknown: "?" } as const;

/** Formats the findings as text: a table, the required settings, and the limitations of the service. */
export function formatReport(base: string, findings: readonly Finding[], columns = 100): string {
  const width = Math.floor((Math.min(Math.max(columns, 60), 120) - 24) / 2);
  const row = (...cells: readonly string[]): string[] => tableRow(cells, [20, width, width]);
  const rows = findings.flatMap(({ verdict, title, observation, consequence = "" }) =>
    row(`${MARKS[verdict]} ${title}`, observation, consequence),
  );
  const settings = Object.entries(requiredSettings(findings)).map(
    ([name, value]) => `  pulumi config set cloudinfra:${name} ${quoteForShell(oneLine(value))}`,
  );
  const limits = findings
    .filter(({ verdict }) => verdict === "limited" || verdict === "fails")
    .map(({ title, consequence = "" }) => `  - ${title}: ${oneLine(consequence)}.`);
  const sections = [
    `Service: ${base}`,
    [...row("  Point", "Observation", "Consequence"), ...rows].join("\n"),
    settings.length > 0 && `Settings that this service requires:\n${settings.join("\n")}`,
    limits.length > 0 && `Limits of this service:\n${limits.join("\n")}`,
    findings.some(({ verdict }) => verdict === "unknown") &&
      "Points marked with ? need existing objects. Run the command with --create, or run it again when the account has two projects and two instances.",
    conclusion(findings),
  ];
  return sections.filter(Boolean).join("\n\n");
}

function conclusion(findings: readonly Finding[]): string {
  if (!isServiceUsable(findings))
    return "pulumi-cloudinfra can't be used with this service until the points marked with ✗ are fixed.";
  return findings.some(({ point }) => point === "creation")
    ? "pulumi-cloudinfra works with this service."
    : "pulumi-cloudinfra works with this service, as far as reading shows. The probe changed nothing.";
}

export function reportAsJson(base: string, findings: readonly Finding[]): object {
  return {
    service: base,
    works: isServiceUsable(findings),
    points: findings.map(({ point, title, verdict, observation, consequence = null }) => ({
      ...{ point, title, verdict, observation, consequence },
    })),
    settings: requiredSettings(findings),
    behaviour: observedBehaviour(findings),
  };
}

function tableRow(cells: readonly string[], widths: readonly number[]): string[] {
  const columns = cells.map((cell, at) => wrapped(oneLine(cell), widths[at] ?? 0));
  const height = Math.max(...columns.map((lines) => lines.length));
  const line = (at: number): string =>
    columns.map((lines, column) => (lines[at] ?? "").padEnd(widths[column] ?? 0)).join("  ");
  return Array.from({ length: height }, (_, at) => line(at).trimEnd());
}

/** Wraps a text at spaces. A word that is longer than the width gets its own line. */
function wrapped(text: string, width: number): readonly string[] {
  return text.match(new RegExp(`[^ ].{0,${width - 1}}(?= |$)|[^ ]+`, "g")) ?? [""];
}
