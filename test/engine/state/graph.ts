import { dependenciesOf, type Resource } from "./resource";
import { parseProviderReference } from "./urn";

/** Dependencies in an ordered list of resources: each resource comes after its dependencies. */

function needs(resource: Resource): Set<string> {
  const urns = new Set(dependenciesOf(resource));
  if (resource.provider !== "") urns.add(parseProviderReference(resource.provider).urn);
  return urns;
}

/** Returns everything that directly or indirectly depends on `root`, in order, optionally with children. */
export function dependents(
  resources: readonly Resource[],
  root: Resource,
  options: { ignore?: ReadonlySet<string>; children: boolean },
): Resource[] {
  const found: Resource[] = [];
  const urns = new Set([root.urn]);
  for (const candidate of resources.slice(resources.indexOf(root) + 1)) {
    if (options.ignore?.has(candidate.urn)) continue;
    const needed = needs(options.children ? candidate : { ...candidate, parent: "" });
    if ([...needed].some((urn) => urns.has(urn))) {
      found.push(candidate);
      urns.add(candidate.urn);
    }
  }
  return found;
}

/** Returns the resource's own dependencies, which are earlier entries. */
function dependencies(resources: readonly Resource[], resource: Resource): Set<Resource> {
  const needed = needs(resource);
  const at = resources.indexOf(resource);
  return new Set(
    resources.slice(0, at < 0 ? undefined : at).filter((candidate) => needed.has(candidate.urn)),
  );
}

export function transitiveDependencies(resources: readonly Resource[], resource: Resource): Set<Resource> {
  const found = new Set<Resource>();
  const visit = (from: Resource) => {
    for (const dependency of dependencies(resources, from)) {
      if (found.has(dependency)) continue;
      found.add(dependency);
      visit(dependency);
    }
  };
  visit(resource);
  return found;
}

/** Returns the entries to delete in layers of independent entries, dependents first. */
export function deletionLayers(resources: readonly Resource[], condemned: readonly Resource[]): Resource[][] {
  const left = new Set(condemned);
  const layers: Resource[][] = [];
  while (left.size > 0) {
    const layer = [...left].filter((resource) => !some(dependencies(resources, resource), left));
    if (layer.length === 0) throw new Error("the dependencies in this state go round in a circle");
    for (const resource of layer) left.delete(resource);
    layers.unshift(layer);
  }
  return layers;
}

function some(set: ReadonlySet<Resource>, other: ReadonlySet<Resource>): boolean {
  return [...set].some((resource) => other.has(resource));
}
