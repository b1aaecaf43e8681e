import { setTimeout as delay } from "node:timers/promises";
import type { Emulator } from "../../../src/emulator";
import { ownStates } from "../../harness/state";
import { compare, type Finding, mismatch, type Others } from "../compare";
import type { Ended } from "./commands";
import type { Machine } from "./machine";
import { type Answers, comes } from "./moment";
import type { Kill, Task } from "./plan";
import type { KillableStack } from "./stacks";

/** Where an episode happens; the machine changes. */
export interface Scene {
  readonly stack: KillableStack;
  readonly emulator: Emulator;
  readonly answers: Answers;
  /** What is not the stack's, and stays as it is. */
  readonly others: Others;
  machine: Machine;
}

/** A kill that was made. */
interface Made {
  readonly kill: Kill;
  /** An operation was under way at the service. */
  readonly atWork: boolean;
  /** The service had an object, or was making one, that the state did not know. */
  readonly unsaved: boolean;
}

/** What became of a task that was killed. */
export interface Episode {
  readonly task: Task;
  readonly made: readonly Made[];
  /** Kills whose moment did not come before the command had ended. */
  readonly missed: number;
  /** Commands it took after the last kill. */
  readonly ups: number;
  readonly findings: readonly Finding[];
}

const MOST_UPS = 5;

/** Begins a task, kills it, and lets people do what they are told to do: the same again, until it succeeds. */
export async function episode(
  scene: Scene,
  task: Task,
  kills: readonly Kill[],
  clearsPending: boolean,
): Promise<Episode> {
  if (task.program) scene.machine.write(task.program);
  const made: Made[] = [];
  const findings: Finding[] = [];
  let recovered = "";
  for (const kill of kills) {
    const one = await killOnce(scene, task, kill);
    if (one === undefined) continue;
    made.push(one);
    const said = await after(scene, kill);
    recovered += said?.output ?? "";
    if (said && said.code !== 0) findings.push(mismatch(`recover ended with ${said.code}:\n${said.output}`));
  }
  const { ups, ok } = await untilSuccess(scene, task);
  if (!ok) findings.push(mismatch(`${task.command} did not succeed in ${ups} tries`));
  await scene.machine.killAll();
  // After a `destroy` there is no stack left to name, so that is where people leave the list as it is.
  if (ok && task.command === "up" && recovered.includes("--clear-pending-creates") && clearsPending)
    await scene.stack.clearPending(scene.machine);
  findings.push(...(await settled(scene, task)));
  return { task, made, missed: kills.length - made.length, ups, findings };
}

async function killOnce(scene: Scene, { command }: Task, kill: Kill): Promise<Made | undefined> {
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

function isAtWork({ operations }: Emulator): boolean {
  return [...operations.values()].some(({ outcome }) => outcome === "open");
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

/** Between a kill and the next command; what `recover` said, where it was run. */
async function after(scene: Scene, { victim, where, graceMs, allEnd }: Kill): Promise<Ended | undefined> {
  await delay(graceMs);
  if (where === "other" || allEnd) await scene.machine.killAll();
  // Where the CLI outlives its provider, it takes the failed creation off its list, and the journal alone knows of it: the
  // other machine has to be given it (docs/recovery.md), and then is like the first.
  if (where === "other" && victim !== "provider") scene.machine = scene.machine.another();
  if (victim !== "provider") await scene.stack.unlock(scene.machine);
  return where === "other" ? scene.stack.recover(scene.machine) : undefined;
}

async function untilSuccess(
  { stack, machine }: Scene,
  { command }: Task,
): Promise<{ ups: number; ok: boolean }> {
  for (let ups = 1; ; ups += 1) {
    const { code, hung } = await stack.start(machine, command).ended;
    if (code === 0 || hung || ups === MOST_UPS) return { ups, ok: code === 0 };
  }
}

/** What is wrong when all is over; the same command once more has nothing to do. */
async function settled(
  { stack, emulator, others, machine }: Scene,
  { command, program }: Task,
): Promise<Finding[]> {
  await everythingAnswered(emulator);
  emulator.finishOperations();
  const findings = compare(emulator, others, stack.state(), program);
  const before = emulator.requests.length;
  const { code, output, words } = await stack.start(machine, command).ended;
  const asked = emulator.requests.slice(before).map(({ method, path }) => `${method} ${path}`);
  const changed = /^\s*[-+~<>]+ *\d+ (?:created|updated|deleted|replaced)/m.exec(output);
  if (code !== 0 || changed || asked.length > 0)
    findings.push(
      mismatch(`one more ${words} ended with ${code}, asked [${asked.join(", ")}], and said\n${output}`),
    );
  findings.push(
    ...compare(emulator, others, stack.state(), program).filter(
      ({ words }) => !findings.some((f) => f.words === words),
    ),
  );
  const entries = machine.journalFiles().filter(({ name }) => name.endsWith(".jsonl"));
  for (const { name, text } of entries) findings.push(mismatch(`the journal still has ${name}:\n${text}`));
  return findings;
}

/** What a process sent before it was killed may only now be carried out. */
async function everythingAnswered({ requests }: Emulator): Promise<void> {
  for (let waited = 0; waited < 3000 && requests.some(({ status }) => status === 0); waited += 20)
    await delay(20);
}
