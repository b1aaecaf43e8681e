import { setTimeout as delay } from "node:timers/promises";
import { type Emulator, startEmulator } from "../../src/emulator";
import { type Row, tableOf } from "../table";
import { type Kind, planOperation, type Sampling } from "./operation";
import { type Figures, figuresOf, type Outcome, ROUND_TRIP_MS, simulate } from "./simulate";
import type { Look, Waiter } from "./waiter";

const DURATIONS = [2, 10];
const KINDS = [
  { name: "linear", shape: "linear" },
  { name: "absent", shape: "absent" },
] as const satisfies readonly Kind[];
/** Operations of each duration and kind for each waiter. All of them run concurrently. */
const SAMPLES = 20;

/** Waits for the same operations in the simulation and over HTTP against the emulator, and prints both results. */
export async function compareWithReality(waiters: readonly Waiter[], seed: number): Promise<void> {
  const sampling = { samples: SAMPLES, seed };
  const simulated: Figures[] = [];
  const measured: Promise<Figures>[] = [];
  const names: Row[] = [];
  const cells = KINDS.flatMap((kind) => DURATIONS.map((seconds) => ({ kind, seconds })));
  for (const { kind, seconds } of cells) {
    for (const waiter of waiters) {
      names.push([`${kind.name}, ${seconds} s`, waiter.name]);
      simulated.push(await simulate(waiter, kind, seconds, sampling));
    }
  }
  const emulators = new Map<Kind, Emulator>();
  for (const kind of KINDS) {
    const emulator = await startEmulator({ behaviour: { progress: kind.shape } });
    emulator.addProject();
    emulators.set(kind, emulator);
  }
  for (const { kind, seconds } of cells) {
    const emulator = emulators.get(kind);
    if (emulator === undefined) continue;
    for (const waiter of waiters) measured.push(measure(emulator, waiter, kind, seconds, sampling));
  }
  const rows = (await Promise.all(measured)).map((real, at): Row => {
    const planned = simulated[at];
    return [...(names[at] ?? []), ...(planned ? inWords(planned) : ["", ""]), ...inWords(real)];
  });
  for (const emulator of emulators.values()) await emulator.stop();
  const head = ["operations", "waiter", "polls, simulated", "overshoot", "polls, real", "overshoot"];
  console.log(`Means of ${SAMPLES} operations each\n\n${tableOf(head, rows)}`);
}

async function measure(
  emulator: Emulator,
  waiter: Waiter,
  kind: Kind,
  seconds: number,
  sampling: Sampling,
): Promise<Figures> {
  const outcomes: Promise<Outcome>[] = [];
  for (let number = 0; number < sampling.samples; number++) {
    outcomes.push(waitForReal(emulator, waiter, planOperation(kind, seconds, number, sampling).endsAt));
  }
  return figuresOf(await Promise.all(outcomes));
}

async function waitForReal(emulator: Emulator, waiter: Waiter, durationMs: number): Promise<Outcome> {
  // One at a time, because the emulator's switch applies to the next request.
  const accepted = await inTurn(() => {
    emulator.behaviour.operationMs = durationMs;
    const [project] = emulator.projects.keys();
    const body = JSON.stringify({ project, name: "any", image: "any", flavor: "any", network: "any" });
    return request(emulator, "/instances", { method: "POST", body });
  });
  const id = String(accepted.id);
  await delay(ROUND_TRIP_MS / 2);
  let polls = 0;
  const look = async (): Promise<Look> => {
    polls++;
    await delay(ROUND_TRIP_MS / 2);
    const seen = lookOf(await request(emulator, `/operations/${id}`));
    await delay(ROUND_TRIP_MS / 2);
    return seen;
  };
  await waiter.wait(lookOf(accepted), look);
  const endsAt = emulator.operations.get(id)?.endsAt ?? Number.NaN;
  return { polls, overshootMs: Date.now() - endsAt };
}

let turn: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const result = turn.then(work);
  turn = result.catch(() => {});
  return result;
}

async function request(
  { endpoint, token }: Emulator,
  path: string,
  init: RequestInit = {},
): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const reply = await fetch(`${endpoint}${path}`, { ...init, headers });
  if (!reply.ok) throw new Error(`${path} returned ${reply.status}: ${await reply.text()}`);
  return (await reply.json()) as Record<string, unknown>;
}

function lookOf({ status, progress }: Record<string, unknown>): Look {
  const told = typeof progress === "number" ? progress : undefined;
  return { state: status === "done" || status === "failed" ? status : "running", progress: told };
}

function inWords({ polls, overshootMs }: Figures): Row {
  return [polls.toFixed(1), `${(overshootMs / 1_000).toFixed(2)} s`];
}
