import type { Emulator, LoggedRequest } from "../../../src/emulator";
import { ownStates } from "../../harness/state";
import { type Finding, keyOf, keysIn, mismatch, objectsIn, othersOf } from "../compare";
import type { Scene } from "./scene";
import { everythingAnswered } from "./settled";
import type { KillableStack } from "./stacks";

const MOST_TRIES = 6;

/**
 * Another stack with the same name in the same folder, but with its own backend. The two stacks share the journal.
 * Neither may ever change what belongs to the other.
 */
export class Twin {
  readonly #sent = new Set<string>();

  constructor(private readonly stack: KillableStack) {}

  /** Runs a command of this stack to its end, while no process of the other stack runs. */
  async run(scene: Scene, command: "up" | "destroy"): Promise<Finding[]> {
    const { emulator, machine } = scene;
    await machine.killAll();
    await everythingAnswered(emulator);
    const own = new Set(this.#keys());
    const theirs = new Set([...objectsIn(emulator).keys(), ...inCreation(emulator)]);
    for (const key of [...own, ...inDeletion(emulator)]) theirs.delete(key);
    const sentByThem = new Set(emulator.requests.flatMap((request) => idempotencyKey(request) ?? []));
    for (const key of this.#sent) sentByThem.delete(key);
    const before = emulator.requests.length;
    let ended = await this.stack.start(machine, command).ended;
    for (let tries = 1; ended.code !== 0 && tries < MOST_TRIES; tries += 1)
      ended = await this.stack.start(machine, command).ended;
    const wrong = ended.code === 0 ? [] : [`${ended.words} exited with ${ended.code}:\n${ended.output}`];
    for (const request of emulator.requests.slice(before)) {
      const { method, path } = request;
      const key = idempotencyKey(request);
      if (method !== "GET" && theirs.has(path.replace("/v1/", ""))) wrong.push(`sent ${method} ${path}`);
      if (key !== undefined && sentByThem.has(key)) wrong.push(`sent ${method} ${path} with ${key}`);
      if (key !== undefined) this.#sent.add(key);
    }
    const held = this.#keys();
    wrong.push(...held.filter((key) => theirs.has(key)).map((key) => `adopted ${key}`));
    const ofNeither = [...scene.others.keys].filter((key) => !own.has(key));
    scene.others = othersOf(emulator, [...ofNeither, ...held]);
    return wrong.map((words) => mismatch(`the other stack with this name: ${words}`));
  }

  #keys(): string[] {
    return keysIn(ownStates(this.stack.state()));
  }
}

function idempotencyKey({ headers }: LoggedRequest): string | undefined {
  const key = headers["idempotency-key"];
  return typeof key === "string" ? key : undefined;
}

function inCreation({ operations }: Emulator): string[] {
  return [...operations.values()].flatMap(({ kind, outcome, target }) =>
    kind === "create" && outcome === "open" ? keyOf(target.kind, target.id) : [],
  );
}

/** The service may reuse the ids of deleted objects. */
function inDeletion({ operations }: Emulator): string[] {
  return [...operations.values()].flatMap(({ kind, outcome, target }) =>
    kind === "delete" && outcome === "open" ? keyOf(target.kind, target.id) : [],
  );
}
