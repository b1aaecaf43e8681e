import { ownStates } from "../../harness/state";
import { type DeclaredResource, type Program, resourcesOf } from "../programs";
import type { Random } from "../random";
import { canBeTainted, OTHER_VERSION } from "./plan";
import type { Scene } from "./scene";

type Options = Pick<DeclaredResource, "resource" | "formerly" | "version">;

/** What people change about resources between a kill and the next command, by the names that the resources had at first. */
export class Changes {
  readonly #options = new Map<string, Options>();
  /** What was done, for whoever looks for what went wrong. */
  readonly words: string[] = [];

  /** Renames resources, or moves them to another provider process. */
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

  /** The program with these changes. */
  in({ project, instances }: Program): Program {
    return { project: this.#in(project), instances: instances.map((one) => this.#in(one)) };
  }

  #in<T extends DeclaredResource>(one: T): T {
    const options = this.#options.get(one.resource);
    if (options === undefined) return one;
    return { ...one, version: undefined, ...options };
  }
}

/** Taints resources that the state records once. @returns what was done */
export async function taint(scene: Scene, names: readonly string[]): Promise<string[]> {
  const states = ownStates(scene.stack.state());
  const urns = names.flatMap((name) => {
    const found = states.filter(({ urn }) => urn.endsWith(`::${name}`));
    return found.length === 1 && !found[0]?.delete ? (found[0]?.urn ?? []) : [];
  });
  if (urns.length > 0) await scene.stack.taint(scene.machine, urns);
  return urns.map((urn) => `tainted ${urn.slice(urn.lastIndexOf("::") + 2)}`);
}

/** Taints one resource of a program, by chance. */
export async function taintOne(scene: Scene, random: Random, program: Program): Promise<string[]> {
  const all = resourcesOf(program).filter((one) => canBeTainted(one, scene.rules));
  const [one] = random.shuffled(all);
  return one !== undefined && random.chance(0.15) ? taint(scene, [one.resource]) : [];
}
