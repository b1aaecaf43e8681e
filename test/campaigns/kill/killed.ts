import type { Emulator } from "../../../src/emulator";
import { ownStates } from "../../harness/state";
import { comes } from "./moment";
import type { Kill, Task } from "./plan";
import type { Scene } from "./scene";
import { isUnanswered } from "./settled";

/** A kill that was made. */
export interface Made {
  readonly kill: Kill;
  /** A request or an operation was under way at the service. */
  readonly atWork: boolean;
  /** The service had an object, or was making one, that the state did not know. */
  readonly unsaved: boolean;
}

/** Starts a command and kills it; `undefined` where it was over before. */
export async function killed(scene: Scene, { command }: Task, kill: Kill): Promise<Made | undefined> {
  const { stack, machine, emulator } = scene;
  const { child, ended } = stack.start(machine, command);
  if (!(await comes(kill.moment, { ...scene, over: ended }))) {
    await ended;
    return undefined;
  }
  if (kill.victim === "cli") child.kill("SIGKILL");
  else if (kill.victim === "all") await machine.killAll();
  else if (!(await machine.killProviders())) {
    await ended;
    return undefined;
  }
  const made = { kill, atWork: isAtWork(emulator), unsaved: hasUnsaved(scene) };
  await ended; // where only the provider was killed, the CLI ends by itself
  return made;
}

function isAtWork({ operations, requests }: Emulator): boolean {
  return requests.some(isUnanswered) || [...operations.values()].some(({ outcome }) => outcome === "open");
}

function hasUnsaved({ stack, emulator, others }: Scene): boolean {
  const known = new Set([...ownStates(stack.state()).map(({ id }) => id), ...others.ids]);
  const making = [...emulator.operations.values()].flatMap(({ kind, resultPath }) =>
    kind === "create" && resultPath ? [resultPath.slice(resultPath.lastIndexOf("/") + 1)] : [],
  );
  const gone = (id: string): boolean =>
    !emulator.instances.has(id) && !emulator.projects.has(id) && !isOpen(emulator, id);
  return [...emulator.projects.keys(), ...emulator.instances.keys(), ...making].some(
    (id) => !known.has(id) && !gone(id),
  );
}

function isOpen({ operations }: Emulator, id: string): boolean {
  return [...operations.values()].some(
    ({ outcome, resultPath }) => outcome === "open" && resultPath?.endsWith(`/${id}`),
  );
}
