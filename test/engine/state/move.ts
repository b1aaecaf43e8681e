import { identical } from "../values/diff";
import type { Editable } from "./edit";
import { withReferences } from "./renamed";
import { newResource, type Resource } from "./resource";
import { isProviderType, makeUrn, parseUrn, stackType } from "./urn";

export interface Destination {
  readonly project: string;
  readonly stack: string;
}

/**
 * Moves resources and their children to another stack, as `pulumi state move` does. Their providers are copied, and
 * dependencies between moved and remaining resources are dropped. Both stacks lose their pending operations.
 */
export function move(
  source: Editable,
  destination: Editable,
  urns: readonly string[],
  to: Destination,
): void {
  const moving = withChildren(source.resources, urns);
  const staying = source.resources.filter((resource) => !moving.includes(resource));
  const arrivals = new Arrivals(destination, to);
  const used = new Set(moving.map(({ provider }) => provider));
  for (const resource of staying.filter(({ urn, id }) => used.has(`${urn}::${id}`)))
    arrivals.addProvider(detached(resource, staying));
  for (const resource of moving) arrivals.add(detached(resource, staying));
  destination.operations = [];
  source.resources = staying.map((resource) => detached(resource, moving));
  source.operations = [];
}

/** The resources that arrive in the other stack. */
class Arrivals {
  readonly #stackUrn: string;
  /** URN in the source → URN in the destination. */
  readonly #urns = new Map<string, string>();
  /** Provider reference in the source → reference in the destination. */
  readonly #providers = new Map<string, string>();

  constructor(
    private readonly destination: Editable,
    private readonly to: Destination,
  ) {
    this.#stackUrn = makeUrn(to, "", stackType, `${to.project}-${to.stack}`);
    if (this.#find(this.#stackUrn)) return;
    const root = newResource({ urn: this.#stackUrn, type: stackType, custom: false });
    destination.resources = [root, ...destination.resources];
  }

  addProvider(resource: Resource): void {
    const arrived = this.#arrived(resource);
    const there = this.#find(arrived.urn);
    if (there && there.id !== resource.id && !identical(there.inputs, resource.inputs))
      throw new Error(`provider ${arrived.urn} already exists in destination stack`);
    this.#providers.set(`${resource.urn}::${resource.id}`, `${arrived.urn}::${(there ?? arrived).id}`);
    if (!there) this.destination.resources.push(arrived);
  }

  add(resource: Resource): void {
    const arrived = this.#arrived(resource);
    if (this.#find(arrived.urn))
      throw new Error(`resource ${arrived.urn} already exists in destination stack`);
    this.#urns.set(resource.urn, arrived.urn);
    this.destination.resources.push(arrived);
  }

  #arrived(resource: Resource): Resource {
    const parent = this.#urns.get(resource.parent) ?? this.#stackUrn;
    const { type, name } = parseUrn(resource.urn);
    return {
      ...withReferences(resource, (urn) => this.#urns.get(urn) ?? this.#here(urn)),
      urn: makeUrn(this.to, parent, type, name),
      parent,
      provider: this.#providers.get(resource.provider) ?? resource.provider,
    };
  }

  #here(urn: string): string {
    const { qualifiedType, name } = parseUrn(urn);
    return `urn:pulumi:${this.to.stack}::${this.to.project}::${qualifiedType}::${name}`;
  }

  #find(urn: string): Resource | undefined {
    return this.destination.resources.find((resource) => resource.urn === urn);
  }
}

function withChildren(resources: readonly Resource[], urns: readonly string[]): Resource[] {
  const named = new Set(urns);
  for (const { urn, parent, type } of resources) {
    if (named.has(urn) && isProviderType(type))
      throw new Error(
        "cannot move providers. Only resources can be moved, and providers will be included automatically",
      );
    if (named.has(parent) && !isProviderType(type)) named.add(urn);
  }
  const found = resources.filter(({ urn }) => named.has(urn));
  if (found.length === 0) throw new Error("no resources found to move");
  return found;
}

/** Returns the resource without its dependencies on the others. Its parent stays. */
function detached(resource: Resource, others: readonly Resource[]): Resource {
  const gone = new Set(others.map(({ urn }) => urn));
  const stays = (urn: string) => !gone.has(urn);
  return {
    ...resource,
    dependencies: resource.dependencies.filter(stays),
    propertyDependencies: Object.fromEntries(
      Object.entries(resource.propertyDependencies)
        .map(([key, urns]) => [key, urns.filter(stays)] as const)
        .filter(([, urns]) => urns.length > 0),
    ),
    deletedWith: stays(resource.deletedWith) ? resource.deletedWith : "",
    replaceWith: resource.replaceWith.filter(stays),
  };
}
