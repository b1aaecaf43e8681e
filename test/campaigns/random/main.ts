import { inspect, parseArgs } from "node:util";
import { runCommand, tellBroken, UsageError, verdictOf, wholeNumber } from "../command";
import { type Breach, campaign } from "./campaign";
import { callsTable, countsLine, growthOf, heapLine } from "./table";

const USAGE = `usage: npm run campaign:random -- [options]
  --cases N          number of cases (1000)
  --seed N           repeats a campaign (a new seed)
  --case SEED:PATH   runs only this case, as a violation names it`;

/** The allowed growth of the heap between the start and the end. */
const MOST_GROWTH = 0.1;

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    case: { type: "string" },
  },
});

async function main(): Promise<number> {
  const [cases, seed] = [wholeNumber(values.cases), wholeNumber(values.seed)];
  const [, ofCase, path = ""] = /^(-?\d+):([\d:]*)$/.exec(values.case ?? "") ?? [];
  if (values.case !== undefined && ofCase === undefined) throw new UsageError();
  const again = ofCase === undefined ? undefined : { seed: Number(ofCase), path };
  console.log(`npm run campaign:random -- --cases ${cases} --seed ${seed}\n`);
  const report = await campaign({ cases, seed, again });
  const { tally, breaches, heap } = report;
  console.log(callsTable(report));
  console.log(`\n${tally.cases} cases, ${tally.requests} requests in ${(report.ms / 1000).toFixed(0)} s`);
  console.log(`faults: ${countsLine(tally.spoiled)}`);
  console.log(`damage: ${countsLine(tally.damages)}`);
  console.log(`failures: ${countsLine(tally.codes)}`);
  console.log(heapLine(report));
  for (const breach of breaches) tell(breach);
  const grows = heap !== undefined && growthOf(heap) > MOST_GROWTH;
  if (grows) tellBroken(["the heap grows"]);
  return verdictOf(breaches.length + Number(grows));
}

function tell({ promises, smallest, story, seed, path }: Breach): void {
  tellBroken(promises);
  console.error(inspect(smallest, { depth: 10, maxStringLength: 300 }));
  for (const line of story) console.error(line);
  console.error(`repeat with: npm run campaign:random -- --case=${seed}:${path}\n`);
}

runCommand(USAGE, main);
