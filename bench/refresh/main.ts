import { parseArgs } from "node:util";
import { runCommand, UsageError, wholeNumber } from "../../test/campaigns/command";
import { spreadText } from "../statistics";
import { type Row, tableOf } from "../table";
import { type Case, casesOf } from "./cases";
import { type Measured, measure, openProject } from "./measure";

const USAGE = `usage: npm run bench:refresh -- [options]
  --parallel N[,N...]   concurrent reads (8,16,64)
  --most N              omits stacks with more instances (2000)
  --runs N              runs of each case, each with another order of the reads (5)
  --seed N              seed for that order (1)`;

const { values } = parseArgs({
  options: {
    parallel: { type: "string", default: "8,16,64" },
    most: { type: "string", default: "2000" },
    runs: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
  },
});

const PAGE = 200;

async function main(): Promise<number> {
  const parallels = values.parallel.split(",").map(wholeNumber);
  const [most, runs, seed] = [wholeNumber(values.most), wholeNumber(values.runs), wholeNumber(values.seed)];
  if (![...parallels, most, runs].every((number) => number > 0)) throw new UsageError();
  const cases = casesOf(parallels, most);
  const rows: Row[] = [];
  for (const held of new Set(cases.map((one) => one.held))) {
    console.error(`project with ${held} instances …`);
    const project = await openProject(held);
    try {
      for (const one of cases.filter((other) => other.held === held)) {
        const measured: Measured[] = [];
        for (let run = 0; run < runs; run++) measured.push(await measure(project, one, seed + run));
        rows.push(rowOf(one, measured));
      }
    } finally {
      await project.service.stop();
    }
  }
  const head = [
    "reads",
    "of",
    "--parallel",
    "order",
    "list calls",
    "GETs",
    "pages",
    "single GETs",
    "seconds",
  ];
  console.log(`\n## Requests of a refresh (${runs} runs)\n\n${tableOf(head, rows)}`);
  return 0;
}

function rowOf({ reads, held, parallel, order }: Case, measured: readonly Measured[]): Row {
  return [
    ...[reads, held, parallel].map(String),
    order,
    spreadText(measured.map(({ lists }) => lists)),
    spreadText(measured.map(({ gets }) => gets)),
    `${Math.ceil(held / PAGE)}`,
    `${reads}`,
    spreadText(
      measured.map(({ seconds }) => seconds),
      2,
    ),
  ];
}

runCommand(USAGE, main);
