import type { Resource } from "./resource";
import { parseProviderReference } from "./urn";

/** Returns the resource with all URNs mapped: its own, and those of resources that it refers to. */
export function renamed(resource: Resource, now: (urn: string) => string): Resource {
  return { ...withReferences(resource, now), urn: now(resource.urn) };
}

/** Returns the resource with the URNs of other resources mapped. */
export function withReferences(resource: Resource, now: (urn: string) => string): Resource {
  return {
    ...resource,
    parent: resource.parent === "" ? "" : now(resource.parent),
    provider: provider(resource.provider, now),
    dependencies: resource.dependencies.map(now),
    propertyDependencies: Object.fromEntries(
      Object.entries(resource.propertyDependencies).map(([key, urns]) => [key, urns.map(now)]),
    ),
    deletedWith: resource.deletedWith === "" ? "" : now(resource.deletedWith),
    replaceWith: resource.replaceWith.map(now),
  };
}

function provider(reference: string, now: (urn: string) => string): string {
  if (reference === "") return "";
  const { urn, id } = parseProviderReference(reference);
  return `${now(urn)}::${id}`;
}
