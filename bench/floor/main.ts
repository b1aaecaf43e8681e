import { parseArgs } from "node:util";
import { runCommand, UsageError, wholeNumber } from "../../test/campaigns/command";
import { engines } from "../../test/harness/engines";
import { COMMANDS, type Life, measure, type Size } from "./measure";
import { requestsTable, secondsTable, stateTable } from "./report";
import { VARIANTS, type Variant } from "./variants";

const LAST = "destroy";

const USAGE = `usage: npm run bench:floor -- [options]
  --engine pulumi|fake|all   (all available)
  --instances N[,N...]       instances of each stack (1,100,500)
  --parallel N[,N...]        concurrent resource operations (8, Pulumi's default on two cores)
  --operation MS             duration of a creation at the service, and of the no-op's sleep (2000)
  --runs N                   runs of each stack; stacks of 2,000 or more instances run once (5)
  --until COMMAND            the last command to run: ${COMMANDS.join("; ")} (${LAST})
  --variants A[,B...]        ${VARIANTS.join(", ")} (all)`;

const { values } = parseArgs({
  options: {
    engine: { type: "string", default: "all" },
    instances: { type: "string", default: "1,100,500" },
    parallel: { type: "string", default: "8" },
    operation: { type: "string", default: "2000" },
    until: { type: "string", default: LAST },
    runs: { type: "string", default: "5" },
    variants: { type: "string", default: VARIANTS.join(",") },
  },
});

/** Stacks of this size and larger run only once. */
const ONCE = 2000;

async function main(): Promise<number> {
  const sizes = values.instances.split(",").map(wholeNumber);
  const parallels = values.parallel.split(",").map(wholeNumber);
  const [operationMs, runs] = [wholeNumber(values.operation), wholeNumber(values.runs)];
  const variants = VARIANTS.filter((variant) => values.variants.split(",").includes(variant));
  const numbers = [...sizes, ...parallels, operationMs, runs];
  const until = COMMANDS.find((name) => name === values.until);
  if (until === undefined) throw new UsageError();
  if (!numbers.every((number) => number > 0) || variants.length === 0) throw new UsageError();
  for (const engine of await engines()) {
    if (values.engine !== "all" && values.engine !== engine.name) continue;
    const measured: { size: Size; lives: readonly Life[] }[] = [];
    for (const instances of sizes)
      for (const parallel of parallels) {
        const size = { instances, parallel, operationMs, until };
        const lives: Life[] = [];
        // Alternate the variants, so that a change of the machine's speed affects all of them.
        for (let run = 0; run < (instances < ONCE ? runs : 1); run++)
          for (const variant of variants)
            lives.push(await told(variant, size, measure(engine, variant, size)));
        measured.push({ size, lives });
      }
    const words = `on ${engine.name}, ${operationMs} ms per creation`;
    console.log(`\n## Seconds ${words}\n\n${secondsTable(measured)}`);
    console.log(`\n## Requests of this package\n\n${requestsTable(measured)}`);
    console.log(`\n## State in bytes per instance\n\n${stateTable(measured)}`);
  }
  return 0;
}

async function told(variant: Variant, { instances, parallel }: Size, life: Promise<Life>): Promise<Life> {
  const { seconds } = await life;
  const all = Object.entries(seconds).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  console.error(`${instances} × ${variant}, --parallel ${parallel}: ${all.join("; ")}`);
  return life;
}

runCommand(USAGE, main);
