import { dependenciesOf, type Resource } from "../state/resource";
import { parseProviderReference } from "../state/urn";

/** The resources that an operation is confined to; without any, it is not confined. */
export class Targets {
  readonly #patterns: readonly RegExp[];
  /** Grows by dependents, as they come after what they depend on. */
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

  /** Remembers what was included, for its dependents. */
  add(urn: string): void {
    if (this.constrained) this.#actual.add(urn);
  }

  /** Those that name nothing at all; a pattern may. */
  missing(known: (urn: string) => boolean): string[] {
    return this.named.filter((target) => !target.includes("*") && !known(target));
  }
}

/** `*` stands for anything within a part of a URN, `**` for anything. */
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
