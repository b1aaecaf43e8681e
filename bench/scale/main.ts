import { fork } from "node:child_process";
import path from "node:path";
import { parseArgs } from "node:util";
import { runCommand, UsageError, wholeNumber } from "../../test/campaigns/command";
import type { Cost, LifeOptions } from "./life";
import { costsTable, type Measured, peaksTable, ratiosTable, requestsTable } from "./report";

const USAGE = `usage: npm run bench:scale -- [options]
  --instances N[,N...]   sizes; the first one is what the others are compared with (500,1000,2000,5000)
  --parallel N           calls that the engine keeps in flight (16)
  --runs N               of each; of 2,000 and more once only (5)`;

const { values } = parseArgs({
  options: {
    instances: { type: "string", default: "500,1000,2000,5000" },
    parallel: { type: "string", default: "16" },
    runs: { type: "string", default: "5" },
  },
});

/** From this size on one run has to do. */
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
  console.log(`\n## One instance, ${parallel} calls at a time\n\n${costsTable(measured)}`);
  console.log(`\n## Against ${sizes[0]} instances\n\n${ratiosTable(measured)}`);
  console.log(`\n## The whole process\n\n${peaksTable(measured)}`);
  console.log(`\n## Requests for each instance\n\n${requestsTable(measured)}`);
  return 0;
}

/** In a process of its own, so that no size profits from the one before. @throws Error where it fails */
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
