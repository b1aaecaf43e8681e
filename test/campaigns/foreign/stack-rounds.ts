import type { LoggedRequest } from "../../../src/emulator";
import { withElsewhere } from "../../harness/elsewhere";
import type { Engine } from "../../harness/engine";
import { withStack } from "../../harness/scenario";
import { MOST_VERBOSE } from "../../harness/watched-stack";
import { randomInstance, randomProgram, sourceOf } from "../programs";
import { Random } from "../random";
import { foreignBehaviour } from "./behaviour";
import { StackLife, type StackRound } from "./stack-life";

export interface StackOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly instances: number;
  /** Whether all processes log at debug level, and the logs are searched for secrets. */
  readonly isVerbose: boolean;
  /** Whether a final `up` must do nothing. */
  readonly endsIdle: boolean;
}

export interface StackReport {
  readonly engine: string;
  readonly rounds: readonly StackRound[];
  readonly breaches: readonly string[];
}

/**
 * Runs rounds with a small stack, while somebody else changes, deletes and recreates its instances before and during
 * commands. Each round consists of `up`, `refresh` and `up`, and a comparison of the service, the state and the
 * program.
 */
export async function stackRounds(engine: Engine, options: StackOptions): Promise<StackReport> {
  const random = new Random(options.seed);
  const instances = Array.from({ length: options.instances }, (_, at) => randomInstance(random, `web${at}`));
  const program = { ...randomProgram(random), instances };
  const behaviour = {
    ...foreignBehaviour(random),
    operationMs: 200,
    pageSize: undefined,
    uniqueNames: false,
  };
  const env = options.isVerbose ? MOST_VERBOSE : {};
  const rounds: StackRound[] = [];
  const breaches: string[] = [];
  let listener: (request: LoggedRequest) => void = () => {};
  const onRequest = (request: LoggedRequest): void => listener(request);
  const played = withStack(engine, { program: sourceOf(program), behaviour, onRequest, env }, (scenario) =>
    withElsewhere(scenario.leaks, async (elsewhere) => {
      scenario.emulator.behaviour.linkOrigin = elsewhere.url;
      const life = new StackLife(scenario, random, program, breaches);
      listener = (request) => life.answered(request);
      await life.begin();
      while (rounds.length < options.rounds && breaches.length === 0) rounds.push(await life.round());
      if (options.endsIdle) await life.end();
      breaches.push(...elsewhere.requests.map((request) => `a request to another origin: ${request}`));
      if (breaches.length > 0) breaches.push(life.tale());
    }),
  );
  // Finally, search all output and files for the token and for secret inputs.
  await played.catch(
    (error: unknown) => void breaches.push(error instanceof Error ? `${error.stack}` : String(error)),
  );
  return { engine: engine.name, rounds, breaches };
}
