import { fork } from "node:child_process";
import path from "node:path";
import { parseArgs } from "node:util";
import { runCommand, UsageError, wholeNumber } from "../../test/campaigns/command";
import type { Cost, LifeOptions } from "./life";
import { costsTable, type Measured, peaksTable, ratiosTable, requestsTable } from "./report";

const USAGE = `usage: npm run bench:scale -- [options]
  --instances N[,N...]   sizes; the ratios are relative to the first one (500,1000,2000,5000)
  --parallel N           concurrent calls (16)
  --runs N               runs of each size; sizes of 2,000 or more run once (5)`;

const { values } = parseArgs({
  options: {
    instances: { type: "string", default: "500,1000,2000,5000" },
    parallel: { type: "string", default: "16" },
    runs: { type: "string", default: "5" },
  },
});

/** Sizes from this one on run only once. */
const ONCE = 2_000;

async function main(): Promise<number> {
  const sizes = values.instances.split(",").map(wholeNumber);
  const [parallel, runs] = [wholeNumber(values.parallel), wholeNumber(values.runs)];
  if (![...sizes, parallel, runs].every((number) => number > 0)) throw new UsageError();
  const measured: Measured[] = [];
  for (const instances of sizes) {
    const costs: Cost[] = [];
    for (let run = 0; run < (instances < ONCE ? runs : 1); run++) {
      console.error(`${instances} instances, run ${run + 1} …`);
      costs.push(...(await life({ instances, parallel })));
    }
    measured.push({ instances, costs });
  }
  console.log(`\n## Cost per instance, ${parallel} concurrent calls\n\n${costsTable(measured)}`);
  console.log(`\n## Against ${sizes[0]} instances\n\n${ratiosTable(measured)}`);
  console.log(`\n## Memory of the whole process\n\n${peaksTable(measured)}`);
  console.log(`\n## Requests per instance\n\n${requestsTable(measured)}`);
  return 0;
}

/** Runs in a separate process, so that no size benefits from an earlier one. @throws Error if the process fails */
async function life(options: LifeOptions): Promise<Cost[]> {
  const child = fork(path.join(__dirname, "life.ts"), [JSON.stringify(options)], {
    execArgv: ["--expose-gc", "--import", "tsx"],
  });
  const costs: Cost[] = [];
  child.on("message", (cost: Cost) => void costs.push(cost));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  if (code !== 0) throw new Error(`${options.instances} instances failed`);
  return costs;
}

runCommand(USAGE, main);
