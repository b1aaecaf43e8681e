import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { linkModules, REPOSITORY } from "../test/harness/modules";

/** The change that the demo makes to the program. */
const BEFORE = 'flavor: "small"';
const AFTER = 'flavor: "large"';

/** A line of the program before and after a change. */
export interface ChangedLine {
  readonly number: number;
  readonly before: string;
  readonly after: string;
}

/** Copies examples/quickstart to `dir`, and links this package and its dependencies there. */
export function copyQuickstart(dir: string): void {
  cpSync(path.join(REPOSITORY, "examples/quickstart"), dir, { recursive: true });
  linkModules(dir, ["@pulumi/pulumi", "@types/node", "typescript"]);
}

/** Changes the flavor of an instance in the quickstart, and returns the changed line. */
export function changeFlavor(dir: string): ChangedLine {
  const file = path.join(dir, "index.ts");
  const lines = readFileSync(file, "utf8").split("\n");
  const index = lines.findIndex((line) => line.includes(BEFORE));
  const before = lines[index];
  if (before === undefined) throw new Error(`examples/quickstart/index.ts has no line with ${BEFORE}`);
  const after = before.replace(BEFORE, AFTER);
  writeFileSync(file, lines.with(index, after).join("\n"));
  return { number: index + 1, before, after };
}
