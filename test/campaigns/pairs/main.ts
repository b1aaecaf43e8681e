import { parseArgs } from "node:util";
import { engines } from "../../harness/engines";
import { breachesOf, pairsCampaign } from "./campaign";
import { pairsInOneStack } from "./stack";
import { tableOf } from "./table";

const USAGE = `usage: npm run campaign:pairs -- [options]
  --engine fake|pulumi   (fake)
  --pairs N              how many pairs of programs (100)
  --together N           how many of them share a stack (20)
  --seed N               repeats them (a new one)
  --jobs N               stacks at the same time (1)
  --stack SEED           one stack only, by its own seed, as a breach names it`;

const { values } = parseArgs({
  options: {
    engine: { type: "string", default: "fake" },
    pairs: { type: "string", default: "100" },
    together: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    jobs: { type: "string", default: "1" },
    stack: { type: "string" },
  },
});

async function main(): Promise<number> {
  const [pairs, together, seed, jobs] = [values.pairs, values.together, values.seed, values.jobs].map(Number);
  const engine = (await engines()).find(({ name }) => name === values.engine);
  const numbers = [pairs, together, seed, jobs];
  if (
    !engine ||
    !numbers.every((number): number is number => Number.isSafeInteger(number)) ||
    !pairs ||
    !together
  ) {
    console.error(engine ? USAGE : `there is no ${values.engine} here\n${USAGE}`);
    return 2;
  }
  const again = `--engine ${engine.name} --pairs ${pairs} --together ${together} --seed ${seed} --jobs ${jobs}`;
  console.log(`npm run campaign:pairs -- ${again}`);
  const one =
    values.stack === undefined ? undefined : await pairsInOneStack(engine, Number(values.stack), together);
  let done = 0;
  const reports = one
    ? [one]
    : await pairsCampaign({
        ...{ engine, pairs, together, seed: seed ?? 0, jobs: jobs ?? 1 },
        onStack: (report) => {
          done += report.pairs;
          console.log(`${done} pairs; stack ${report.seed}: ${(report.ms / 1000).toFixed(0)} s`);
          for (const breach of breachesOf([report])) console.error(`BROKEN: ${breach}`);
        },
      });
  if (one) for (const breach of breachesOf([one])) console.error(`BROKEN: ${breach}`);
  console.log(`\n${tableOf(engine.name, reports)}`);
  const broken = breachesOf(reports).length;
  console.log(broken === 0 ? "no promise was broken" : `${broken} promises were broken`);
  return broken === 0 ? 0 : 1;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 2;
  },
);
