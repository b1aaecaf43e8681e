import { systemClock } from "../operations/clock";
import { Interruption } from "./interruption";
import { instanceKind, projectKind } from "./kind";
import { providerOf, type Surroundings } from "./provider";
import { EngineLog } from "./row-log";
import { Sessions } from "./session";

/** One a process: what project and instance calls share. */
const surroundings: Surroundings = {
  sessions: new Sessions(process.env),
  log: new EngineLog(process.argv.at(-1)),
  interruption: new Interruption(process, systemClock),
  inCi: Boolean(process.env.CI),
};

/** Serves every state that names `require("pulumi-cloudinfra/provider").project`: for ever. */
export const project = providerOf(projectKind, surroundings);

/** Serves every state that names `require("pulumi-cloudinfra/provider").instance`: for ever. */
export const instance = providerOf(instanceKind, surroundings);
