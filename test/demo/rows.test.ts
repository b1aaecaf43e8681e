import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { liveRows, plainRows } from "../../demo/rows";
import type { EngineEvent, Step } from "../harness/engine";

const type = "pulumi-nodejs:dynamic/cloudinfra:Instance";
const web: Step = { op: "create", urn: "urn::web", name: "web", type };
const worker: Step = { op: "update", urn: "urn::worker", name: "worker", type, diffs: ["flavor"] };
const progress = (message: string): EngineEvent => {
  return { kind: "diagnostic", severity: "info", urn: web.urn, message, ephemeral: true };
};

const EVENTS: readonly EngineEvent[] = [
  { kind: "step-started", ...web },
  progress("creating 42% · about 2 s left"),
  { kind: "step-started", ...worker },
  { kind: "diagnostic", severity: "info", message: "of no resource" },
  progress(""),
  { kind: "step-done", ...web },
  { kind: "step-failed", ...worker },
];

function terminal(columns: number): PassThrough & { columns: number } {
  return Object.assign(new PassThrough({ encoding: "utf8" }), { columns });
}

it("prints a line for each event without a terminal", () => {
  const out = terminal(80);
  const rows = plainRows(out, false);
  for (const event of EVENTS) rows.show(event);
  expect(
    String(out.read())
      .split("\n")
      .map((line) => line.trim()),
  ).toEqual([
    "+ Instance  web              creating",
    "+ Instance  web              creating 42% · about 2 s left",
    "~ Instance  worker           updating [flavor]",
    "+ Instance  web              creating",
    "+ Instance  web              created",
    "~ Instance  worker           updating failed [flavor]",
    "",
  ]);
});

it("redraws one row for each resource in a terminal", () => {
  const out = terminal(40);
  const rows = liveRows(out, false);
  const drawings = EVENTS.map((event) => {
    rows.show(event);
    return String(out.read() ?? "");
  });
  const up = (count: number): string => `\u001b[${count}A`;
  const clear = "\u001b[0J";
  expect(drawings.slice(0, 4)).toEqual([
    `${clear} + Instance  web              creating\n`,
    // Truncated at the edge, because a row that wraps would take two lines.
    `${up(1)}${clear} + Instance  web              creating \n`,
    `${up(1)}${clear} + Instance  web              creating \n ~ Instance  worker           updating \n`,
    "",
  ]);
  expect(drawings.at(-1)).toContain(up(2));
  expect(drawings.at(-1)).toContain("created");
});

it("shows the planned operations in a preview", () => {
  const out = terminal(80);
  const rows = plainRows(out, true);
  rows.show({ kind: "step-started", ...web });
  rows.show({ kind: "step-done", ...web });
  rows.show({ kind: "step-done", ...worker, op: "same" });
  expect(out.read()).toBe(
    " + Instance  web              create\n   Instance  worker           unchanged [flavor]\n",
  );
});
