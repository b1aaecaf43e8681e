import { parseArgs } from "node:util";
import { engines } from "../../harness/engines";
import { runCommand, tellBroken, UsageError, verdictOf, wholeNumber } from "../command";
import { hostCampaign } from "./host-campaign";
import { stackCampaign } from "./stack-campaign";
import { failuresLines, hitsLine, operationsTable, stackTable } from "./table";

const USAGE = `usage: npm run campaign:faults -- [options]
  --operations N   creations, reads, updates, replacements and deletions through the host interface (500)
  --seed N         repeats the operations and faults; even seeds run stacks at debug level (a new seed)
  --faults SHARE   share of requests with a fault, 0 to 0.5 (0.2)
  --engines all|none|fake|pulumi
                   engines that also create, change and destroy a stack (all available)
  --instances N    instances of that stack (10)`;

const { values } = parseArgs({
  options: {
    operations: { type: "string", default: "500" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    faults: { type: "string", default: "0.2" },
    engines: { type: "string", default: "all" },
    instances: { type: "string", default: "10" },
  },
});

async function main(): Promise<number> {
  const [operations, seed] = [wholeNumber(values.operations), wholeNumber(values.seed)];
  const [faults, instances] = [Number(values.faults), wholeNumber(values.instances)];
  const isKnown = ["all", "none", "fake", "pulumi"].includes(values.engines);
  if (!(faults >= 0 && faults <= 0.5) || !isKnown) throw new UsageError();
  const again = `--operations ${operations} --seed ${seed} --faults ${faults} --engines ${values.engines} --instances ${instances}`;
  console.log(`npm run campaign:faults -- ${again}\n`);
  const host = await hostCampaign({ operations, seed, faults });
  console.log(operationsTable(host));
  console.log(`\n${hitsLine(host)}`);
  const most = Math.max(0, ...host.made);
  console.log(`${host.made.length} calls of create, each with at most ${most} object(s)`);
  console.log(`${(host.ms / 1000).toFixed(0)} s; calls failed with:\n${failuresLines(host)}\n`);
  const stacks = [];
  for (const engine of await engines()) {
    if (values.engines !== "all" && values.engines !== engine.name) continue;
    stacks.push(
      await stackCampaign(engine, { seed, faults, instances, destroys: true, isVerbose: seed % 2 === 0 }),
    );
  }
  if (stacks.length > 0) console.log(`${stackTable(stacks)}\n`);
  const breaches = [...host.breaches, ...stacks.flatMap((stack) => stack.breaches)];
  tellBroken(breaches);
  return verdictOf(breaches.length);
}

runCommand(USAGE, main);
