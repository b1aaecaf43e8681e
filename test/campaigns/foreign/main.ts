import { parseArgs } from "node:util";
import { engines } from "../../harness/engines";
import { runCommand, tellBroken, UsageError, verdictOf, wholeNumber } from "../command";
import { racesCampaign } from "./races";
import { type StackReport, stackRounds } from "./stack-rounds";
import { deedsTable, racesTable, roundsTable } from "./table";

const USAGE = `usage: npm run campaign:foreign -- [options]
  --races N    commands through the host interface, while somebody else changes the resource (1000)
  --seed N     repeats the commands and changes; even seeds run stacks at debug level (a new seed)
  --engine all|none|fake|pulumi
               engines that also run a stack while somebody changes its instances (all available)
  --rounds N   rounds of each stack (10)
  --life SEED  runs only the life with this seed, as a violation names it`;

const { values } = parseArgs({
  options: {
    races: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    engine: { type: "string", default: "all" },
    rounds: { type: "string", default: "10" },
    life: { type: "string" },
  },
});

async function main(): Promise<number> {
  const [races, seed] = [wholeNumber(values.races), wholeNumber(values.seed)];
  const rounds = wholeNumber(values.rounds);
  const isKnown = ["all", "none", "fake", "pulumi"].includes(values.engine);
  if (!isKnown) throw new UsageError();
  const again = `--races ${races} --seed ${seed} --engine ${values.engine} --rounds ${rounds}`;
  console.log(`npm run campaign:foreign -- ${again}\n`);
  const life = values.life === undefined ? undefined : Number(values.life);
  const report = await racesCampaign({ races, seed, life });
  console.log(`${racesTable(report)}\n\n${deedsTable(report.races)}\n`);
  console.log(`${report.races.length} races in ${report.lives} lives, ${(report.ms / 1000).toFixed(0)} s\n`);
  const stacks: StackReport[] = [];
  for (const engine of life === undefined ? await engines() : []) {
    if (values.engine !== "all" && values.engine !== engine.name) continue;
    stacks.push(
      await stackRounds(engine, { seed, rounds, instances: 3, endsIdle: true, isVerbose: seed % 2 === 0 }),
    );
  }
  if (stacks.length > 0) console.log(`${roundsTable(stacks)}\n`);
  const breaches = [...report.breaches, ...stacks.flatMap((stack) => stack.breaches)];
  tellBroken(breaches);
  return verdictOf(breaches.length, { kept: "nothing was overwritten, and no promise was broken" });
}

runCommand(USAGE, main);
