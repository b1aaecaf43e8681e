import { aligned } from "../aligned";
import type { Command, Race } from "./race";
import type { RacesReport } from "./races";
import type { Done } from "./somebody";
import type { StackReport } from "./stack-rounds";

const OUTCOMES = [
  ...[
    "succeeded",
    "conflict",
    "not found",
    "keeps changing",
    "undone",
    "being deleted",
    "being updated",
    "unfinished",
    "name taken",
  ],
  "broken",
] as const;

/** Formats the races by command: how each ended, and its cost. */
export function racesTable({ races }: RacesReport): string {
  const commands = [...new Set(races.map(nameOf))].sort();
  const header = ["", "races", ...OUTCOMES, "requests each"];
  const row = (name: string, some: readonly Race[]): string[] => {
    const requests = some.reduce((sum, one) => sum + one.requests, 0);
    return [
      ...[name, String(some.length)],
      ...OUTCOMES.map((outcome) => String(some.filter((one) => one.outcome === outcome).length)),
      (requests / Math.max(1, some.length)).toFixed(1),
    ];
  };
  const rows = commands.map((name) =>
    row(
      name,
      races.filter((race) => nameOf(race) === name),
    ),
  );
  return aligned([header, ...rows, row("all", races)]);
}

function nameOf({ kind, command }: Race): `${string}: ${Command}` {
  return `${kind}: ${command}`;
}

/** Formats the actions of somebody else: before, during and after the command. */
export function deedsTable(races: readonly Pick<Race, "done">[]): string {
  const done = races.flatMap((race) => race.done);
  const kinds = [...new Set(done.map(wordsOf))].sort();
  const header = ["somebody", "before", "between", "after"];
  const row = (name: string, some: readonly Done[]): string[] => [
    name,
    ...(["before", "between", "after"] as const).map((when) =>
      String(some.filter((one) => one.when === when).length),
    ),
  ];
  const rows = kinds.map((kind) =>
    row(
      kind,
      done.filter((one) => wordsOf(one) === kind),
    ),
  );
  return aligned([header, ...rows, row("all", done)]);
}

function wordsOf({ deed }: Done): string {
  return deed.kind === "set" ? `set ${deed.target}` : deed.kind;
}

/** Formats the rounds of stacks by engine and by the command during which somebody acted. */
export function roundsTable(reports: readonly StackReport[]): string {
  const header = [
    "engine",
    "command",
    "rounds",
    "deeds",
    "between requests",
    "refused",
    "requests",
    "seconds",
  ];
  const rows = reports.flatMap(({ engine, rounds }) =>
    [...new Set(rounds.map(({ command }) => command))].sort().map((command) => {
      const some = rounds.filter((round) => round.command === command);
      const sum = (of: (round: (typeof some)[number]) => number): number =>
        some.reduce((total, round) => total + of(round), 0);
      const between = sum(({ done }) => done.filter(({ when }) => when === "between").length);
      return [
        ...[engine, command],
        ...[some.length, sum(({ done }) => done.length), between, sum(({ refused }) => refused)].map(String),
        ...[sum(({ requests }) => requests), Math.round(sum(({ ms }) => ms) / 1000)].map(String),
      ];
    }),
  );
  return aligned([header, ...rows], 2);
}
