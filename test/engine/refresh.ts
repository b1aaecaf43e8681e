import type { Targets } from "./plan/targets";
import type { Run } from "./run";
import type { Resource } from "./state/resource";
import { RefreshStep } from "./steps/refresh";

/** Refreshes the state before the command's own work. After a failure, the remaining entries are still refreshed. */
export async function refreshAll(
  run: Run,
  targets: Targets,
  skip: (resource: Resource) => boolean = () => false,
): Promise<void> {
  const steps = new Map<Resource, RefreshStep>();
  for (const resource of run.snapshot.base) {
    if (skip(resource) || !targets.includes(resource)) continue;
    targets.add(resource.urn);
    steps.set(resource, new RefreshStep(resource));
  }
  await run.executor.all(run, [...steps.values()], { carryOn: true });
  run.snapshot.base = rebuilt(run.snapshot.base, (resource) => {
    const step = steps.get(resource);
    return step ? step.current : resource;
  });
  run.snapshot.write();
}

/** Returns the list with refreshed entries, without deleted ones, and without dependencies on deleted ones. */
function rebuilt(
  base: readonly Resource[],
  exchange: (resource: Resource) => Resource | undefined,
): Resource[] {
  const kept = new Set<string>();
  const parents = new Map<string, string>();
  const result: Resource[] = [];
  for (const before of base) {
    const resource = exchange(before);
    if (!resource) {
      parents.set(before.urn, before.parent);
      continue;
    }
    resource.dependencies = resource.dependencies.filter((urn) => kept.has(urn));
    for (const [key, urns] of Object.entries(resource.propertyDependencies)) {
      resource.propertyDependencies[key] = urns.filter((urn) => kept.has(urn));
    }
    if (!kept.has(resource.deletedWith)) resource.deletedWith = "";
    resource.replaceWith = resource.replaceWith.filter((urn) => kept.has(urn));
    while (resource.parent !== "" && !kept.has(resource.parent))
      resource.parent = parents.get(resource.parent) ?? "";
    result.push(resource);
    kept.add(resource.urn);
  }
  return result;
}
