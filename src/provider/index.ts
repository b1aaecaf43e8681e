import { wrapLongLines } from "../diagnostics/format";
import { instanceKind, projectKind } from "../model/resource-fields";
import { nodeProblem } from "../package";
import { systemClock } from "../polling/clock";
import { Sessions } from "./context";
import { type ProviderEnvironment, providerOf } from "./host";
import { EngineLog } from "./progress";
import { exitWithEngine, Shutdown } from "./shutdown";

const problem = nodeProblem();
if (problem !== undefined) throw new Error(problem);

/** The engine's address, which is the same for all provider processes of a run. */
const engine = process.argv.at(-1);
const log = new EngineLog(engine);
void exitWithEngine(engine, () => process.exit(1), systemClock);

/** The environment that the calls for projects and instances share. */
const surroundings: ProviderEnvironment = {
  sessions: new Sessions(process.env, systemClock, (message) => log.warn(message), { run: engine }),
  log,
  interruption: new Shutdown(process, systemClock),
  inCi: Boolean(process.env.CI),
  layOut: wrapLongLines,
};

/** The provider for projects. Its name must never change, because states contain `require("pulumi-cloudinfra/provider").project`. */
export const project = providerOf(projectKind, surroundings);

/** The provider for instances. Its name must never change, because states contain `require("pulumi-cloudinfra/provider").instance`. */
export const instance = providerOf(instanceKind, surroundings);
