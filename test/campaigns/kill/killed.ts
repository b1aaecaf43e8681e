import { setTimeout as delay } from "node:timers/promises";
import type { Emulator } from "../../../src/emulator";
import { ownStates } from "../../harness/state";
import { keyOf, keysIn, objectsIn } from "../compare";
import type { Kill } from "./kills";
import { comes } from "./moment";
import type { Task } from "./plan";
import type { Scene } from "./scene";
import { isUnanswered } from "./settled";
import type { How } from "./stacks";

/** A kill that has happened. */
export interface Made {
  readonly kill: Kill;
  /** Whether a request or an operation was running. */
  readonly atWork: boolean;
  /** Whether the service had an object, or was creating one, that the state didn't record. */
  readonly unsaved: boolean;
}

/** A command that should be killed. */
interface Killed {
  /** Is `undefined` if the command ended before the kill. */
  readonly made?: Made;
  readonly output: string;
}

/** Starts a command and kills it. */
export async function killed(
  scene: Scene,
  { command }: Task,
  { kill, how }: { kill: Kill; how: How },
): Promise<Killed> {
  const { stack, machine, emulator } = scene;
  const { child, ended } = stack.start(machine, command, how);
  if (!(await comes(kill.moment, { ...scene, over: ended }))) return ended;
  if (kill.victim === "cli") child.kill("SIGKILL");
  else if (kill.victim === "all") await machine.killAll();
  else if (kill.victim === "ctrl-c" || kill.victim === "ctrl-c-twice") child.kill("SIGINT");
  else if (!(await machine.killProviders())) return ended;
  const made = { kill, atWork: isAtWork(emulator), unsaved: hasUnsaved(scene) };
  if (kill.victim === "ctrl-c-twice") {
    await Promise.race([delay(kill.secondMs), ended]);
    child.kill("SIGINT");
  }
  const { output } = await ended; // the CLI ends by itself after Ctrl-C, or if only the provider was killed
  return { made, output };
}

function isAtWork({ operations, requests }: Emulator): boolean {
  return requests.some(isUnanswered) || [...operations.values()].some(({ outcome }) => outcome === "open");
}

function hasUnsaved({ stack, emulator, others }: Scene): boolean {
  const known = new Set([...keysIn(ownStates(stack.state())), ...others.keys]);
  const making = [...emulator.operations.values()].flatMap(({ kind, outcome, target }) =>
    kind === "create" && outcome === "open" ? keyOf(target.kind, target.id) : [],
  );
  return [...objectsIn(emulator).keys(), ...making].some((key) => !known.has(key));
}
