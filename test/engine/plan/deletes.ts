import { Reported } from "../run";
import { deletionLayers, dependents, transitiveDependencies } from "../state/graph";
import type { Resource } from "../state/resource";
import { DeleteStep, RemovePendingReplaceStep } from "../steps/delete";
import { SameStep } from "../steps/same";
import type { Step } from "../steps/step";
import type { Generator } from "./generator";
import { dependentReplacements } from "./replacement";

/** Deletes, at the end of a run, replaced resources and those that the program no longer declares. */
export async function deleteTheRest(generator: Generator): Promise<void> {
  const { run } = generator;
  const { sames, deletes } = await plan(generator);
  for (const same of sames) await (await run.executor.submit(run, [same])).done;
  const all = [...generator.toDelete, ...run.snapshot.base];
  const steps = new Map(deletes.map((step) => [step.resource, step]));
  for (const layer of deletionLayers(all, [...steps.keys()])) {
    // Everything that a remaining resource depends on must remain, too.
    const needed = new Set(run.executor.failedSteps.flatMap((step) => stillNeeded(all, step)));
    const free = layer.filter((resource) => !needed.has(resource)).map((resource) => steps.get(resource));
    await run.executor.all(
      run,
      free.filter((step) => step !== undefined),
    );
    if (run.executor.cancelled) return;
  }
}

function stillNeeded(all: readonly Resource[], failed: Step): Resource[] {
  return [failed.resource, failed.old].flatMap((r) =>
    r && all.includes(r) ? [...transitiveDependencies(all, r)] : [],
  );
}

async function plan(generator: Generator): Promise<{ sames: Step[]; deletes: Step[] }> {
  const { run, targets } = generator;
  const allowed = await allowedByTargets(generator);
  const isAllowed = (resource: Resource) => allowed?.has(resource.urn) ?? true;
  const sames: Step[] = [];
  const deletes: Step[] = [];
  for (const resource of run.snapshot.base) {
    if (!isAllowed(resource)) {
      if (!generator.isOperatedOn(resource.urn) && !resource.delete)
        sames.push(new SameStep(resource, { ...resource }));
    } else if (resource.delete) {
      if (generator.pendingDeletes.has(resource)) continue;
      run.deletions.add(resource.urn);
      deletes.push(new DeleteStep(resource, "left-over"));
    } else if (!generator.isOperatedOn(resource.urn)) {
      run.deletions.add(resource.urn);
      deletes.push(
        resource.pendingReplacement ? new RemovePendingReplaceStep(resource) : new DeleteStep(resource),
      );
    }
  }
  for (const resource of generator.toDelete.filter(isAllowed)) {
    run.deletions.add(resource.urn);
    deletes.push(new DeleteStep(resource));
  }
  const unasked = deletes.filter((step) => !targets.names(step.resource.urn) && !targets.withDependents);
  for (const { resource } of unasked) {
    const message = `Resource '${resource.urn}' will be destroyed but was not specified in --target list.\nName it, too, or pass --target-dependents.`;
    run.reporter.diagnose({ severity: "error", message, urn: resource.urn });
    generator.sawError = true;
  }
  if (unasked.length > 0 && !run.dryRun) throw new Reported("delete untargeted resource");
  return { sames, deletes };
}

/** Returns the targets and everything that depends on them, or undefined if the operation has no targets. */
async function allowedByTargets(generator: Generator): Promise<Set<string> | undefined> {
  const { run, targets } = generator;
  if (!targets.constrained) return undefined;
  const all = [...generator.toDelete, ...run.snapshot.base];
  const allowed = new Set<string>();
  for (const target of run.snapshot.base.filter((resource) => targets.names(resource.urn))) {
    allowed.add(target.urn);
    for (const dependent of dependents(all, target, { children: true })) allowed.add(dependent.urn);
    for (const dependent of await dependentReplacements(generator, target)) allowed.add(dependent.urn);
  }
  return allowed;
}
