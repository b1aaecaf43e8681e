import { wrapLongLines } from "../diagnostics/format";
import { instanceKind, projectKind } from "../model/kinds";
import { nodeProblem } from "../node-version";
import { systemClock } from "../polling/clock";
import { type ProviderEnvironment, providerOf } from "./host";
import { EngineLog } from "./progress/engine-log";
import { Sessions } from "./session";
import { Shutdown } from "./shutdown";

const problem = nodeProblem();
if (problem !== undefined) throw new Error(problem);

/** The engine's address, which all provider processes of one run share. */
const engine = process.argv.at(-1);
const log = new EngineLog(engine);

/** One a process: what project and instance calls share. */
const surroundings: ProviderEnvironment = {
  sessions: new Sessions(process.env, systemClock, (message) => log.warn(message), { run: engine }),
  log,
  interruption: new Shutdown(process, systemClock),
  inCi: Boolean(process.env.CI),
  layOut: wrapLongLines,
};

/** Serves every state that names `require("pulumi-cloudinfra/provider").project`: for ever. */
export const project = providerOf(projectKind, surroundings);

/** Serves every state that names `require("pulumi-cloudinfra/provider").instance`: for ever. */
export const instance = providerOf(instanceKind, surroundings);
