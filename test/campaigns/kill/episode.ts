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

/** The result of a killed task. */
export interface Episode {
  readonly task: Task;
  /** The final program, or undefined if everything is destroyed. */
  readonly wanted: Program | undefined;
  /** Descriptions of the changes between commands. */
  readonly changes: readonly string[];
  readonly made: readonly Made[];
  /** The number of kills whose moment didn't come before the command ended. */
  readonly missed: number;
  /** The number of commands after the last kill. */
  readonly ups: number;
  readonly findings: readonly Finding[];
}

const MOST_UPS = 8;

export interface Plan {
  readonly kills: readonly Kill[];
  /** Whether a killed engine writes the state only at the end of the command. */
  readonly skipsCheckpoints: boolean;
}

/** Starts a task, kills it, and does what the messages and docs tell users to do, until it succeeds. */
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
    if (how.targets?.length === 0) break; // without a target, `destroy` would delete everything
    const { made: one, output } = await killed(scene, task, { kill, how: { ...how, skipsCheckpoints } });
    removeLeftAlone(scene, output);
    if (one === undefined) continue;
    made.push(one);
    scene.search.look(scene.machine);
    const said = await after(scene, made);
    recovered += said?.output ?? "";
    if (said && said.code !== 0) findings.push(mismatch(`recover exited with ${said.code}:\n${said.output}`));
    // An exported state doesn't identify its stack, if two have the same name (docs/recovery.md, "Known limits").
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
  if (!ok) findings.push(mismatch(`${task.command} didn't succeed in ${ups} attempts`));
  await scene.machine.killAll();
  // Later tasks replace or delete these objects, so their creations must not be resumed.
  const isOpen = (scene.stack.state().pending_operations ?? []).length > 0;
  if (ok && isOpen) await scene.stack.clearPending(scene.machine);
  const asked = wanted && changes.in(wanted);
  findings.push(...(await settled(scene, asked ? "up" : "destroy", asked)));
  const missed = plan.kills.length - made.length;
  return { task, wanted: asked, made, changes: changes.words, missed, ups, findings };
}

/**
 * Deletes objects of interrupted creations that the provider reports as not needed, unless a resource uses them. Users
 * do the same.
 */
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

/**
 * Nothing proves that an object is deleted if another machine has deleted it with its project. Users check, and remove
 * it from the state (docs/recovery.md).
 */
async function forgetGone({ stack, machine, emulator }: Scene): Promise<void> {
  const objects = objectsIn(emulator);
  const isGone = (state: StateResource): boolean => keysIn([state]).every((key) => !objects.has(key));
  const gone = ownStates(stack.state()).filter((state) => !state.id?.includes("/") && isGone(state));
  await stack.forget(
    machine,
    gone.flatMap(({ id }) => id ?? []),
  );
}

/** Makes the users' changes between a kill and the next command, sometimes including a run of the other stack. */
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

/** Returns the options that limit a `destroy` to the targets that the state still records. */
function targeted({ stack }: Scene, { targets }: Task): How {
  if (targets === undefined) return {};
  const urns = ownStates(stack.state()).map(({ urn }) => urn);
  return { targets: [...new Set(urns)].filter((urn) => targets.some((name) => urn.endsWith(`::${name}`))) };
}

/** Does what follows a kill. Returns the result of `recover`, if it was run. */
async function after(scene: Scene, made: readonly Made[]): Promise<Ended | undefined> {
  const kills = made.map(({ kill }) => kill);
  const last = kills.at(-1);
  if (last === undefined) return undefined;
  const { victim, where, graceMs, allEnd } = last;
  await delay(graceMs);
  if (where === "other" || allEnd) await scene.machine.killAll();
  // If the CLI survives its provider, it removes the failed creation from its list of pending operations. Only the
  // journal then contains it, so users copy the journal to the other machine (docs/recovery.md), which makes it like
  // the first one.
  const isForgotten = kills.some((kill) => kill.victim === "provider");
  if (where === "other" && !isForgotten) scene.machine = scene.machine.another();
  if (victim !== "provider") await scene.stack.unlock(scene.machine);
  return where === "other" ? recover(scene) : undefined;
}

/** Runs `recover`, and follows its hint: if the stack is empty by now, `recover` may need the service's address. */
async function recover({ stack, machine, emulator }: Scene): Promise<Ended> {
  const said = await stack.recover(machine);
  return said.code !== 0 && said.output.includes("Specify the address with --endpoint")
    ? stack.recover(machine, "--endpoint", emulator.endpoint)
    : said;
}

/** Refreshes the state when no operation is running. */
async function refreshed(scene: Scene): Promise<Finding[]> {
  const { stack, machine, emulator } = scene;
  await everythingAnswered(emulator);
  emulator.finishOperations();
  const first = await stack.start(machine, "refresh").ended;
  const isGone = first.output.includes("`pulumi state delete <urn>`");
  if (isGone) await forgetGone(scene);
  const { code, output } = isGone ? await stack.start(machine, "refresh").ended : first;
  return code === 0 ? [] : [mismatch(`refresh ended with ${code}:\n${output}`)];
}

/** The options of the commands after the last kill. */
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
    // If a killed update was carried out, its normalized or hidden values can't be told from those of somebody else.
    const { normalize, unshown, itemsWithout } = emulator.behaviour;
    const isHidden = [normalize, unshown, itemsWithout].some((one) => one.length > 0);
    const isUnclear = isHidden && output.includes("code revision_conflict");
    if (isUnclear) await refreshed(scene);
    if (output.includes("`pulumi state delete <urn>`")) await forgetGone(scene);
    const isImportGone = output.includes("specified by the `import` option, doesn't exist");
    if (wanted && (isImportGone || output.includes("code import_differs"))) {
      changes.dropImports();
      scene.machine.write(changes.in(wanted));
    }
  }
}
