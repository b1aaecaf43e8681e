import { dependenciesOf, type Resource } from "../state/resource";
import { parseProviderReference } from "../state/urn";

/** The resources that an operation is limited to. Without targets, it isn't limited. */
export class Targets {
  readonly #patterns: readonly RegExp[];
  /** Includes dependents of targets. They are registered after their dependencies, so the set is complete in time. */
  readonly #actual = new Set<string>();

  constructor(
    readonly named: readonly string[],
    readonly withDependents: boolean,
  ) {
    this.#patterns = named.map(pattern);
  }

  get constrained(): boolean {
    return this.named.length > 0;
  }

  names(urn: string): boolean {
    return !this.constrained || this.#patterns.some((p) => p.test(urn));
  }

  includes(resource: Resource): boolean {
    if (this.names(resource.urn)) return true;
    if (!this.withDependents) return false;
    const provider = resource.provider === "" ? [] : [parseProviderReference(resource.provider).urn];
    return [...dependenciesOf(resource), ...provider].some((urn) => this.#actual.has(urn) || this.names(urn));
  }

  /** Records an included resource, so that its dependents are included, too. */
  add(urn: string): void {
    if (this.constrained) this.#actual.add(urn);
  }

  /** Returns the targets without a matching resource. Patterns may match nothing. */
  missing(known: (urn: string) => boolean): string[] {
    return this.named.filter((target) => !target.includes("*") && !known(target));
  }
}

/** `*` matches anything within one part of a URN, and `**` matches anything. */
function pattern(text: string): RegExp {
  const source = text
    .split("**")
    .map((part) => part.split("*").map(literally).join("[^:]*"))
    .join(".*");
  return new RegExp(`^${source}$`);
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
