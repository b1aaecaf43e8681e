import { laidOut } from "../diagnostics/layout";
import { systemClock } from "../operations/clock";
import { Interruption } from "./interruption";
import { instanceKind, projectKind } from "./kind";
import { providerOf, type Surroundings } from "./provider";
import { Sessions } from "./session";
import { EngineLog } from "./shown/engine-log";

const log = new EngineLog(process.argv.at(-1));

/** One a process: what project and instance calls share. */
const surroundings: Surroundings = {
  sessions: new Sessions(process.env, systemClock, (message) => log.warn(message)),
  log,
  interruption: new Interruption(process, systemClock),
  inCi: Boolean(process.env.CI),
  layOut: laidOut,
};

/** Serves every state that names `require("pulumi-cloudinfra/provider").project`: for ever. */
export const project = providerOf(projectKind, surroundings);

/** Serves every state that names `require("pulumi-cloudinfra/provider").instance`: for ever. */
export const instance = providerOf(instanceKind, surroundings);
