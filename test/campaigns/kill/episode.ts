import { setTimeout as delay } from "node:timers/promises";
import type { StateResource } from "../../harness/engine";
import { ownStates } from "../../harness/state";
import { type Finding, keysIn, mismatch, objectsIn } from "../compare";
import type { Program } from "../programs";
import { Random } from "../random";
import { Changes, taint, taintOne } from "./between";
import type { Ended } from "./commands";
import { killed, type Made } from "./killed";
import type { Kill } from "./kills";
import type { Task } from "./plan";
import type { Scene } from "./scene";
import { everythingAnswered, settled } from "./settled";
import type { How } from "./stacks";

/** What became of a task that was killed. */
export interface Episode {
  readonly task: Task;
  /** What the program asks for in the end; undefined: nothing. */
  readonly wanted: Program | undefined;
  /** What people changed between the commands, in words. */
  readonly changes: readonly string[];
  readonly made: readonly Made[];
  /** Kills whose moment did not come before the command had ended. */
  readonly missed: number;
  /** Commands it took after the last kill. */
  readonly ups: number;
  readonly findings: readonly Finding[];
}

const MOST_UPS = 8;

export interface Plan {
  readonly kills: readonly Kill[];
  /** Whether the engine writes the state only at the end of a command that is killed. */
  readonly skipsCheckpoints: boolean;
}

/** Begins a task, kills it, and lets people do what they are told to do: the same again, until it succeeds. */
export async function episode(scene: Scene, task: Task, plan: Plan): Promise<Episode> {
  for (const program of [task.program, task.instead]) if (program) scene.search.program(program);
  if (task.program) scene.machine.write(task.program);
  const made: Made[] = [];
  const changes = new Changes();
  const findings: Finding[] = [];
  let recovered = "";
  changes.words.push(...(await taint(scene, task.taints ?? [])));
  for (const kill of plan.kills) {
    const { skipsCheckpoints } = plan;
    const how = targeted(scene, task);
    if (how.targets?.length === 0) break; // without a target, everything would be destroyed
    const one = await killed(scene, task, { kill, how: { ...how, skipsCheckpoints } });
    if (one === undefined) continue;
    made.push(one);
    removeLeftAlone(scene, one.output);
    scene.search.look(scene.machine);
    const said = await after(scene, made);
    recovered += said?.output ?? "";
    if (said && said.code !== 0) findings.push(mismatch(`recover ended with ${said.code}:\n${said.output}`));
    // An export doesn't say which of the two stacks it is from (docs/recovery.md, "Known limits").
    const isFromFile = scene.stack.recoversFromFile && recovered !== "";
    const random = new Random(kill.between);
    findings.push(
      ...(await changed(isFromFile ? { ...scene, twin: undefined } : scene, task, { changes, random })),
    );
  }
  const wanted = (made.length > 0 && task.instead) || task.program;
  if (wanted) scene.machine.write(changes.in(wanted));
  if (made.length > 0 && task.needsRefresh) findings.push(...(await refreshed(scene)));
  const skipsCheckpoints = made.length > 0 && plan.skipsCheckpoints;
  const { ups, ok } = await untilSuccess(scene, task, { skipsCheckpoints, changes, wanted });
  if (!ok) findings.push(mismatch(`${task.command} did not succeed in ${ups} tries`));
  await scene.machine.killAll();
  // Creations whose objects are replaced or deleted later must not be found again.
  const isOpen = (scene.stack.state().pending_operations ?? []).length > 0;
  if (ok && isOpen) await scene.stack.clearPending(scene.machine);
  const asked = wanted && changes.in(wanted);
  findings.push(...(await settled(scene, asked ? "up" : "destroy", asked)));
  const missed = plan.kills.length - made.length;
  return { task, wanted: asked, made, changes: changes.words, missed, ups, findings };
}

/** If the object of an interrupted creation doesn't fit and may have been saved, a warning names it, and people delete it if nobody uses it. */
function removeLeftAlone({ stack, emulator }: Scene, output: string): void {
  const used = ownStates(stack.state()).map(
    ({ type, id }) => `${type.split(":").at(-1)?.toLowerCase()} ${id}`,
  );
  const named = output.matchAll(/created (instance|project) (\S+), which the program doesn't need/g);
  for (const [, kind = "", id = ""] of named) {
    const isInstance = kind === "instance";
    const isThere = isInstance ? emulator.instances.has(id) : emulator.projects.has(id);
    if (isThere && !used.includes(`${kind} ${id}`)) emulator.remove(id, isInstance ? "instance" : "project");
  }
}

/** Nothing proves that what another machine has deleted together with its project no longer exists (docs/recovery.md): people look, and say so. */
async function forgetGone({ stack, machine, emulator }: Scene): Promise<void> {
  const objects = objectsIn(emulator);
  const isGone = (state: StateResource): boolean => keysIn([state]).every((key) => !objects.has(key));
  const gone = ownStates(stack.state()).filter((state) => !state.id?.includes("/") && isGone(state));
  await stack.forget(
    machine,
    gone.map(({ urn }) => urn),
  );
}

/** What people change between a kill and the next command, also with the other stack. */
async function changed(
  scene: Scene,
  { command, program }: Task,
  { changes, random }: { changes: Changes; random: Random },
): Promise<Finding[]> {
  const findings = scene.twin && random.chance(0.4) ? await scene.twin.run(scene, "up") : [];
  if (findings.length === 0 && program && command === "up") {
    if (random.chance(0.5)) changes.draw(random, program);
    const next = changes.in(program);
    changes.words.push(...(await taintOne(scene, random, program)));
    scene.machine.write(next);
  }
  return findings;
}

/** The options that limit a `destroy` to resources that the state still records. */
function targeted({ stack }: Scene, { targets }: Task): How {
  if (targets === undefined) return {};
  const urns = ownStates(stack.state()).map(({ urn }) => urn);
  return { targets: [...new Set(urns)].filter((urn) => targets.some((name) => urn.endsWith(`::${name}`))) };
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
  return said.code !== 0 && said.output.includes("Give the address with --endpoint")
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

/** The commands after the last kill. */
interface Next {
  readonly skipsCheckpoints: boolean;
  readonly changes: Changes;
  readonly wanted: Program | undefined;
}

async function untilSuccess(
  scene: Scene,
  task: Task,
  { skipsCheckpoints, changes, wanted }: Next,
): Promise<{ ups: number; ok: boolean }> {
  const { stack, machine, emulator } = scene;
  for (let ups = 1; ; ups += 1) {
    const how = targeted(scene, task);
    if (how.targets?.length === 0) return { ups, ok: true };
    const { code, hung, output } = await stack.start(machine, task.command, { ...how, skipsCheckpoints })
      .ended;
    removeLeftAlone(scene, output);
    if (code === 0 || hung || ups === MOST_UPS) return { ups, ok: code === 0 };
    // If a killed update was carried out, nobody can tell its value in the service's own words, or what isn't shown, from somebody else's.
    const { normalize, unshown, itemsWithout } = emulator.behaviour;
    const isHidden = [normalize, unshown, itemsWithout].some((one) => one.length > 0);
    const isUnclear = isHidden && output.includes("code revision_conflict");
    if (isUnclear) await refreshed(scene);
    if (output.includes("`pulumi state delete <urn>`")) await forgetGone(scene);
    if (wanted && output.includes("which the `import` option names, doesn't exist")) {
      changes.dropImports();
      scene.machine.write(changes.in(wanted));
    }
  }
}
