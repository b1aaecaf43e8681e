import type { Emulator } from "../../../src/emulator";
import { withElsewhere } from "../../harness/elsewhere";
import type { Engine } from "../../harness/engine";
import { type Scenario, withStack } from "../../harness/scenario";
import { MOST_VERBOSE } from "../../harness/watched-stack";
import { randomBehaviour } from "../behaviours";
import { addOthers, compare, type Others } from "../compare";
import {
  changedForReplacement,
  changedInPlace,
  type Program,
  randomInstance,
  randomProgram,
  sourceOf,
} from "../programs";
import { Random } from "../random";
import { FaultMix } from "./fault-mix";

export interface StackOptions {
  readonly seed: number;
  /** The share of requests with a fault, from 0 to 1. */
  readonly faults: number;
  readonly instances: number;
  /** Whether the stack is destroyed at the end. */
  readonly destroys: boolean;
  /** Whether all processes log at debug level, and the logs are searched for secrets. */
  readonly isVerbose: boolean;
}

/** One command, repeated until it succeeds. */
interface Step {
  readonly words: string;
  readonly runs: number;
  readonly requests: number;
  readonly hits: number;
  readonly ms: number;
}

export interface StackReport {
  readonly engine: string;
  readonly steps: readonly Step[];
  readonly breaches: readonly string[];
}

const MOST_RUNS = 15;
/** Longer than any command takes. */
const LIMIT_MS = 120_000;

/** Creates, changes and destroys a stack at a service with faults. Each command is repeated until it succeeds. */
export async function stackCampaign(engine: Engine, options: StackOptions): Promise<StackReport> {
  const random = new Random(options.seed);
  const program = firstProgram(random, options.instances);
  const steps: Step[] = [];
  const breaches: string[] = [];
  // Short deadlines, because the default of half an hour of retries takes too long.
  const config = { "cloudinfra:operationTimeout": "5s" };
  const behaviour = { ...randomBehaviour(random), operationMs: 300, pageSize: undefined };
  const env = options.isVerbose ? MOST_VERBOSE : {};
  const played = withStack(engine, { program: sourceOf(program), behaviour, config, env }, (scenario) =>
    withElsewhere(scenario.leaks, async (elsewhere) => {
      scenario.emulator.behaviour.linkOrigin = elsewhere.url;
      const echo = [scenario.emulator.token];
      const mix = new FaultMix(new Random(random.seed()), { share: options.faults, slowMs: 300, echo });
      const life = new Life(scenario, mix, breaches);
      steps.push(await life.step("up, all new", "up", program));
      const changed = changedProgram(random, program);
      scenario.write(sourceOf(changed));
      steps.push(await life.step("up, all changed", "up", changed));
      if (options.destroys) steps.push(await life.step("destroy", "destroy", undefined));
      breaches.push(...elsewhere.requests.map((request) => `a request to another origin: ${request}`));
    }),
  );
  // Finally, search for the token and for secret inputs everywhere.
  await played.catch(
    (error: unknown) => void breaches.push(error instanceof Error ? error.message : String(error)),
  );
  return { engine: engine.name, steps, breaches };
}

class Life {
  private readonly others: Others;

  constructor(
    private readonly scenario: Scenario,
    private readonly mix: FaultMix,
    private readonly breaches: string[],
  ) {
    this.others = addOthers(scenario.emulator);
  }

  async step(words: string, command: "up" | "destroy", wanted: Program | undefined): Promise<Step> {
    const { stack, emulator } = this.scenario;
    const started = performance.now();
    const before = emulator.requests.length;
    this.mix.start(emulator);
    let runs = 0;
    for (let ok = false; !ok && runs < MOST_RUNS; runs++) {
      const result = await stack.run(command, { signal: AbortSignal.timeout(LIMIT_MS) });
      ok = result.ok;
      if (!ok && runs + 1 === MOST_RUNS)
        this.breaches.push(`${words} hasn't succeeded after ${MOST_RUNS} runs:\n${result.output}`);
    }
    this.mix.stop();
    const ms = performance.now() - started;
    const requests = emulator.requests.slice(before);
    await this.judge(words, wanted);
    return { words, runs, requests: requests.length, hits: requests.filter(({ fault }) => fault).length, ms };
  }

  private async judge(words: string, wanted: Program | undefined): Promise<void> {
    const { stack, emulator } = this.scenario;
    emulator.finishOperations();
    const found = compare(emulator, this.others, await stack.deployment(), wanted).map((one) => one.words);
    if (wanted !== undefined) found.push(...(await whatAnotherUpDoes(this.scenario)));
    this.breaches.push(...found.map((what) => `after "${words}": ${what}`));
  }
}

/** After a successful `up`, another one changes nothing and sends no requests. */
async function whatAnotherUpDoes({ stack, emulator }: { stack: Scenario["stack"]; emulator: Emulator }) {
  const before = emulator.requests.length;
  const { ok, changes, output } = await stack.run("up");
  const { same: _unchanged, ...others } = changes;
  const asked = emulator.requests.slice(before).map((request) => `${request.method} ${request.path}`);
  return ok && Object.keys(others).length === 0 && asked.length === 0
    ? []
    : [`another up wasn't idle: ${JSON.stringify(changes)} ${asked.join(", ")}\n${output}`];
}

function firstProgram(random: Random, count: number): Program {
  const instances = Array.from({ length: count }, (_, at) => randomInstance(random, `web${at}`));
  return { ...randomProgram(random), instances };
}

/** Changes some instances in place, replaces some, removes one, and adds one. */
function changedProgram(random: Random, { project, instances }: Program): Program {
  const [first, ...rest] = instances.map((instance, at) =>
    at % 3 === 2 ? changedForReplacement(random, instance) : changedInPlace(random, instance),
  );
  const added = randomInstance(random, "more");
  return { project, instances: [...rest, added, ...(rest.length === 0 && first ? [first] : [])] };
}
