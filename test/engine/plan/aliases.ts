import type { Resource } from "../state/resource";
import { makeUrn, parseUrn, stackType } from "../state/urn";
import type { AliasGoal, Goal } from "../wire/goal";

/** Finds the entry of the state that a registered resource continues, by its current URN or a former one. */
export class Aliases {
  /** Old URN → the URN that replaces it. */
  readonly takenOver = new Map<string, string>();
  /** New URN → the old one. */
  readonly #former = new Map<string, string>();

  constructor(private readonly where: { stack: string; project: string }) {}

  find(
    urn: string,
    goal: Goal,
    olds: ReadonlyMap<string, Resource>,
    seen: ReadonlySet<string>,
  ): Resource | undefined {
    for (const candidate of [urn, ...this.#candidates(goal)]) {
      const old = olds.get(candidate);
      if (!old) continue;
      if (candidate !== urn) {
        const other = seen.has(candidate) ? candidate : this.takenOver.get(candidate);
        if (other !== undefined) {
          throw new Error(`both ${urn} and ${other} claim to be what was ${candidate}`);
        }
        this.takenOver.set(candidate, urn);
        this.#former.set(urn, candidate);
      }
      return old;
    }
    return undefined;
  }

  #candidates(goal: Goal): string[] {
    const own = goal.aliases.map((alias) => this.#urn(goal, alias));
    const formerParent = this.#former.get(goal.parent);
    if (formerParent === undefined) return own;
    const parentName = parseUrn(goal.parent).name;
    const inherited = [{ type: goal.type, name: goal.name }, ...own.map(parseUrn)].map(({ type, name }) =>
      // A child whose name contains its parent's name is renamed together with the parent.
      makeUrn(
        this.where,
        formerParent,
        type,
        name.startsWith(parentName) ? parseUrn(formerParent).name + name.slice(parentName.length) : name,
      ),
    );
    return [...own, ...inherited];
  }

  #urn(goal: Goal, alias: AliasGoal): string {
    if (alias.urn) return alias.urn;
    const given = alias.parent ? (this.#former.get(alias.parent) ?? alias.parent) : goal.parent;
    const atTop = alias.noParent || given === "" || parseUrn(given).qualifiedType === stackType;
    const where = { stack: alias.stack || this.where.stack, project: alias.project || this.where.project };
    return makeUrn(where, atTop ? "" : given, alias.type || goal.type, alias.name || goal.name);
  }
}
