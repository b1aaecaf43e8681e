import { setTimeout as delay } from "node:timers/promises";
import { type Finding, mismatch } from "../compare";
import type { Program } from "../programs";
import type { Ended } from "./commands";
import { killed, type Made } from "./killed";
import type { Kill, Task } from "./plan";
import type { Scene } from "./scene";
import { everythingAnswered, settled } from "./settled";

/** What became of a task that was killed. */
export interface Episode {
  readonly task: Task;
  /** What the program asks for in the end; undefined: nothing. */
  readonly wanted: Program | undefined;
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
  for (const program of [task.program, task.instead]) if (program) scene.search.program(program);
  if (task.program) scene.machine.write(task.program);
  const made: Made[] = [];
  const findings: Finding[] = [];
  let recovered = "";
  for (const kill of kills) {
    const one = await killed(scene, task, kill);
    if (one === undefined) continue;
    made.push(one);
    scene.search.look(scene.machine);
    const said = await after(scene, made);
    recovered += said?.output ?? "";
    if (said && said.code !== 0) findings.push(mismatch(`recover ended with ${said.code}:\n${said.output}`));
  }
  if (task.instead && made.length > 0) {
    scene.machine.write(task.instead);
    if (task.needsRefresh) findings.push(...(await refreshed(scene)));
  }
  const { ups, ok } = await untilSuccess(scene, task);
  if (!ok) findings.push(mismatch(`${task.command} did not succeed in ${ups} tries`));
  await scene.machine.killAll();
  // After a `destroy` there is no stack left to name, so that is where people leave the list as it is.
  if (ok && task.command === "up" && recovered.includes("--clear-pending-creates") && clearsPending)
    await scene.stack.clearPending(scene.machine);
  const wanted = (made.length > 0 && task.instead) || task.program;
  findings.push(...(await settled(scene, task.command, wanted)));
  return { task, wanted, made, missed: kills.length - made.length, ups, findings };
}

/** Between a kill and the next command; what `recover` said, where it was run. */
async function after(scene: Scene, made: readonly Made[]): Promise<Ended | undefined> {
  const kills = made.map(({ kill }) => kill);
  const last = kills.at(-1);
  if (last === undefined) return undefined;
  const { victim, where, graceMs, allEnd } = last;
  await delay(graceMs);
  if (where === "other" || allEnd) await scene.machine.killAll();
  // Where the CLI outlives its provider, it takes the failed creation off its list, and the journal alone knows of it: the
  // other machine has to be given it (docs/recovery.md), and then is like the first.
  const isForgotten = kills.some((kill) => kill.victim === "provider");
  if (where === "other" && !isForgotten) scene.machine = scene.machine.another();
  if (victim !== "provider") await scene.stack.unlock(scene.machine);
  return where === "other" ? recover(scene) : undefined;
}

/** Does what its hint says, too: where the stack is empty by now, it may have to be told the address of the service. */
async function recover({ stack, machine, emulator }: Scene): Promise<Ended> {
  const said = await stack.recover(machine);
  return said.code !== 0 && said.output.includes("name it with --endpoint")
    ? stack.recover(machine, "--endpoint", emulator.endpoint)
    : said;
}

/** Tells the state what the service has, once nothing is under way there. */
async function refreshed({ stack, machine, emulator }: Scene): Promise<Finding[]> {
  await everythingAnswered(emulator);
  emulator.finishOperations();
  const { code, output } = await stack.start(machine, "refresh").ended;
  return code === 0 ? [] : [mismatch(`refresh ended with ${code}:\n${output}`)];
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
