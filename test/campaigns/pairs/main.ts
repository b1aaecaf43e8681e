import { parseArgs } from "node:util";
import { engines } from "../../harness/engines";
import { runCommand, tellBroken, UsageError, verdictOf, wholeNumber } from "../command";
import { breachesOf, pairsCampaign } from "./campaign";
import { pairsInOneStack } from "./stack";
import { tableOf } from "./table";

const USAGE = `usage: npm run campaign:pairs -- [options]
  --engine fake|pulumi   (fake)
  --pairs N              number of pairs of programs (100)
  --together N           pairs in each stack (20)
  --seed N               repeats the pairs (a new seed)
  --jobs N               concurrent stacks (1)
  --stack SEED           runs only the stack with this seed, as a violation names it`;

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
  const engine = (await engines()).find(({ name }) => name === values.engine);
  if (engine === undefined) throw new UsageError(`the engine ${values.engine} is not available`);
  const [pairs, together] = [wholeNumber(values.pairs), wholeNumber(values.together)];
  const [seed, jobs] = [wholeNumber(values.seed), wholeNumber(values.jobs)];
  if (pairs === 0 || together === 0) throw new UsageError();
  const again = `--engine ${engine.name} --pairs ${pairs} --together ${together} --seed ${seed} --jobs ${jobs}`;
  console.log(`npm run campaign:pairs -- ${again}`);
  const one =
    values.stack === undefined ? undefined : await pairsInOneStack(engine, Number(values.stack), together);
  let done = 0;
  const reports = one
    ? [one]
    : await pairsCampaign({
        ...{ engine, pairs, together, seed, jobs },
        onStack: (report) => {
          done += report.pairs;
          console.log(`${done} pairs; stack ${report.seed}: ${(report.ms / 1000).toFixed(0)} s`);
          tellBroken(breachesOf([report]));
        },
      });
  if (one) tellBroken(breachesOf([one]));
  console.log(`\n${tableOf(engine.name, reports)}`);
  return verdictOf(breachesOf(reports).length);
}

runCommand(USAGE, main);
