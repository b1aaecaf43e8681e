import { transitiveDependencies } from "../state/graph";
import type { Resource } from "../state/resource";

/** The URNs of all that can go while what is protected stays. */
export function unprotectedUrns(resources: readonly Resource[]): string[] {
  const stays = new Set(resources.filter((resource) => resource.protect));
  for (const resource of [...stays]) {
    for (const needed of transitiveDependencies(resources, resource)) stays.add(needed);
  }
  return resources.filter((resource) => !stays.has(resource)).map((resource) => resource.urn);
}
