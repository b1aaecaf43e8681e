import { execFileSync } from "node:child_process";
import path from "node:path";
import { median } from "./statistics";
import { printTable } from "./table";

const RUNS = 15;
const root = path.join(__dirname, "..");

/** Starts a process that loads the SDK and then this package, and returns the milliseconds of each. */
function loadOnce(): { sdk: number; own: number } {
  const script = `
    const a = performance.now(); require("@pulumi/pulumi");
    const b = performance.now(); require(${JSON.stringify(path.join(root, "dist/index.js"))});
    console.log(JSON.stringify({ sdk: b - a, own: performance.now() - b }));
  `;
  return JSON.parse(execFileSync(process.execPath, ["-e", script], { cwd: root, encoding: "utf8" }));
}

/** Measures how much time the import of the package adds after `@pulumi/pulumi`. Goal: at most 20 ms. */
export function importCost(): void {
  const runs = Array.from({ length: RUNS }, loadOnce);
  const sdk = median(runs.map((run) => run.sdk));
  const own = median(runs.map((run) => run.own));
  printTable(
    `importing the package (median of ${RUNS} processes)`,
    ["", "figure", "goal"],
    [
      ["@pulumi/pulumi alone", `${sdk.toFixed(0)} ms`, ""],
      ["the package after it", `${own.toFixed(1)} ms`, "≤ 20 ms"],
      ["ratio of both to the SDK alone", ((sdk + own) / sdk).toFixed(3), ""],
    ],
  );
}
