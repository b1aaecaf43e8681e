import { type Args, readArgs, USAGE } from "./args";
import { kinds } from "./cells";
import { drawCells } from "./drawing";
import { ours } from "./ours";
import { compareWithReality } from "./real";
import { dominanceTable, figuresTable, openGoals } from "./report";
import { runCells } from "./run-cells";
import { peers, waiters } from "./waiters";

async function simulated({ durations, plot, samples, seed }: Args): Promise<void> {
  const cells = await runCells(waiters, kinds, durations, { samples, seed });
  const told = cells.filter(({ tellsProgress }) => tellsProgress);
  console.log("Polls · overshoot in seconds, mean (95th percentile)\n");
  console.log(figuresTable(cells, waiters));
  console.log("\nWith progress reports\n");
  console.log(dominanceTable(told, waiters));
  console.log("\nWithout progress reports\n");
  console.log(
    dominanceTable(
      cells.filter((cell) => !told.includes(cell)),
      waiters,
    ),
  );
  const open = openGoals(cells, ours, peers);
  console.log(`\nThe goal ${open.length === 0 ? "is met in every case" : "is not met in these cases:"}`);
  for (const line of open) console.log(`- ${line}`);
  if (plot !== undefined) await drawCells(plot, cells, waiters);
}

async function main(): Promise<void> {
  const args = readArgs(process.argv.slice(2));
  if (args === undefined) {
    console.error(USAGE);
    process.exitCode = 2;
    return;
  }
  const again = args.real ? "--real" : `--samples ${args.samples} --durations ${args.durations.join(",")}`;
  console.log(`npm run bench:waiting -- ${again} --seed ${args.seed}\n`);
  if (args.real) await compareWithReality(waiters, args.seed);
  else await simulated(args);
}

void main();
