import { ownStates } from "../../harness/state";
import { type DeclaredResource, NETWORK, type Program, resourcesOf } from "../programs";
import type { Random } from "../random";
import { OTHER_VERSION, type Task, taintable } from "./plan";
import type { Scene } from "./scene";

type Options = Pick<DeclaredResource, "resource" | "formerly" | "version">;

/** Changes of resources by users between a kill and the next command, by the resources' original names. */
export class Changes {
  readonly #options = new Map<string, Options>();
  #dropsImports = false;
  /** Descriptions of the changes, for debugging. */
  readonly words: string[] = [];

  /** Renames some resources, or moves them to another provider process. */
  draw(random: Random, program: Program): void {
    for (const one of resourcesOf(program)) {
      const { resource, formerly = [], version } = this.#options.get(one.resource) ?? one;
      const renames = random.chance(0.25);
      const moves = random.chance(0.12) && !one.explicit;
      const name = renames ? `${one.resource.replace(/x\d+$/, "")}x${random.integer(100, 999)}` : resource;
      const next = moves && version === undefined ? OTHER_VERSION : moves ? undefined : version;
      if (renames) this.words.push(`renamed ${resource} to ${name}`);
      if (moves) this.words.push(`set the version of ${name} to ${next}`);
      this.#options.set(one.resource, {
        resource: name,
        ...((renames || formerly.length > 0) && { formerly: renames ? [...formerly, resource] : formerly }),
        ...(next !== undefined && { version: next }),
      });
    }
  }

  /** Removes the option `import`, as the error says if the object no longer exists or has to be replaced. */
  dropImports(): void {
    this.words.push("took `import` out");
    this.#dropsImports = true;
  }

  /** Returns the program with these changes. */
  in({ project, instances }: Program): Program {
    return { project: this.#in(project), instances: instances.map((one) => this.#in(one)) };
  }

  #in<T extends DeclaredResource>(one: T): T {
    const options = this.#options.get(one.resource);
    const imports = this.#dropsImports && "imports" in one ? { imports: undefined } : {};
    return { ...one, ...imports, ...(options && { version: undefined, ...options }) };
  }
}

/** Sometimes makes a task adopt an existing object instead of creating a new one. */
export function withImport(random: Random, task: Task, { stack, emulator, twin }: Scene): Task {
  const { action, program } = task;
  const added = program?.instances.at(-1);
  const project = ownStates(stack.state()).find(({ type }) => type.endsWith(":Project"))?.id;
  // Two stacks must not manage one object. The program also has to use the values as the service normalizes them.
  const isSpelled = emulator.behaviour.normalize.length === 0;
  const isPossible = action === "create" && project !== undefined && twin === undefined && isSpelled;
  if (!isPossible || program === undefined || added === undefined || !random.chance(0.7)) return task;
  // If a reply shows an address without `public_ip`, the address counts as the public one.
  const { publicIp: _, ...rest } = { name: `${added.resource}-found`, ...added };
  const { name, image, flavor } = rest;
  const { id } = emulator.addInstance({ project, name, image, flavor, network: NETWORK });
  const instances = [...program.instances.slice(0, -1), { ...rest, imports: id }];
  return { ...task, program: { ...program, instances } };
}

/** Taints resources that the state records once. @returns descriptions */
export async function taint(scene: Scene, names: readonly string[]): Promise<string[]> {
  const states = ownStates(scene.stack.state());
  const urns = names.flatMap((name) => {
    const found = states.filter(({ urn }) => urn.endsWith(`::${name}`));
    return found.length === 1 && !found[0]?.delete ? (found[0]?.urn ?? []) : [];
  });
  if (urns.length > 0) await scene.stack.taint(scene.machine, urns);
  return urns.map((urn) => `tainted ${urn.slice(urn.lastIndexOf("::") + 2)}`);
}

/** Sometimes taints one resource of a program. */
export async function taintOne(scene: Scene, random: Random, program: Program): Promise<string[]> {
  const [one] = random.shuffled(taintable(program, scene.rules));
  return one !== undefined && random.chance(0.15) ? taint(scene, [one.resource]) : [];
}
