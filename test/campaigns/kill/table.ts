import { aligned } from "../aligned";
import type { Episode } from "./episode";
import type { Life } from "./life";

interface Row {
  kills: number;
  atWork: number;
  unsaved: number;
  ups: number;
  mostUps: number;
  orphan: number;
  duplicate: number;
  leak: number;
  mismatch: number;
}

const HEADINGS = [
  "action",
  "killed",
  "next machine",
  "kills",
  "running",
  "unsaved",
  "ups",
  "max. ups",
  "orphans",
  "duplicates",
  "leaks",
  "mismatches",
];

/**
 * Formats the kills of all lives by action, target and the machine of the next command. An episode's result counts for
 * its last kill. `running`: while a request or an operation was running. `unsaved`: while the service had something
 * that the state didn't record.
 */
export function tableOf(lives: readonly Life[]): string {
  const rows = new Map<string, Row>();
  for (const { episodes } of lives) for (const one of episodes) count(rows, one);
  const lines = [...rows]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, row]) => [...key.split(" "), ...cells(row)]);
  const total = [...rows.values()].reduce(added, empty());
  return aligned([HEADINGS, ...lines, ["all", "", "", ...cells(total)]], 3);
}

function count(rows: Map<string, Row>, { task, made, ups, findings }: Episode): void {
  for (const [at, { kill, atWork, unsaved }] of made.entries()) {
    const key = `${task.action} ${kill.victim} ${kill.where}`;
    const isLast = at === made.length - 1;
    const of = (kind: string): number =>
      isLast ? findings.filter((finding) => finding.kind === kind).length : 0;
    const needed = isLast ? ups : 0;
    const one = { kills: 1, atWork: Number(atWork), unsaved: Number(unsaved), ups: needed, mostUps: needed };
    const found = {
      orphan: of("orphan"),
      duplicate: of("duplicate"),
      leak: of("leak"),
      mismatch: of("mismatch"),
    };
    rows.set(key, added(rows.get(key) ?? empty(), { ...one, ...found }));
  }
}

function empty(): Row {
  return {
    kills: 0,
    atWork: 0,
    unsaved: 0,
    ups: 0,
    mostUps: 0,
    orphan: 0,
    duplicate: 0,
    leak: 0,
    mismatch: 0,
  };
}

function added(a: Row, b: Row): Row {
  return {
    kills: a.kills + b.kills,
    atWork: a.atWork + b.atWork,
    unsaved: a.unsaved + b.unsaved,
    ups: a.ups + b.ups,
    mostUps: Math.max(a.mostUps, b.mostUps),
    orphan: a.orphan + b.orphan,
    duplicate: a.duplicate + b.duplicate,
    leak: a.leak + b.leak,
    mismatch: a.mismatch + b.mismatch,
  };
}

function cells({ kills, atWork, unsaved, ups, mostUps, orphan, duplicate, leak, mismatch }: Row): string[] {
  return [kills, atWork, unsaved, ups, mostUps, orphan, duplicate, leak, mismatch].map(String);
}
