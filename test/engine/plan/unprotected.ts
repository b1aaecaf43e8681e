import { transitiveDependencies } from "../state/graph";
import type { Resource } from "../state/resource";

/** Returns the URNs of all resources that can be deleted while the protected ones remain. */
export function unprotectedUrns(resources: readonly Resource[]): string[] {
  const stays = new Set(resources.filter((resource) => resource.protect));
  for (const resource of [...stays]) {
    for (const needed of transitiveDependencies(resources, resource)) stays.add(needed);
  }
  return resources.filter((resource) => !stays.has(resource)).map((resource) => resource.urn);
}
