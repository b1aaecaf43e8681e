import type { Provider } from "../provider";
import { Reported } from "../run";
import { dependents } from "../state/graph";
import type { Resource } from "../state/resource";
import { parseProviderReference } from "../state/urn";
import { CreateStep } from "../steps/create";
import { DeleteStep } from "../steps/delete";
import { ReplaceStep } from "../steps/replace";
import type { Step } from "../steps/step";
import { applyReplaceOnChanges, type Diff } from "../values/diff";
import { unknown, type Value } from "../values/values";
import { check } from "./check";
import type { Generator } from "./generator";
import type { Registration } from "./registration";

/** Plans the replacement of a resource that can't be updated in place. */
export async function replacement(
  generator: Generator,
  registration: Registration,
  old: Resource,
  diff: Diff,
  provider: Provider | undefined,
): Promise<Step[]> {
  const { goal, settle, urn, current } = registration;
  if (current.protect && old.protect) refuseProtected(generator, urn, urn);
  generator.replaces.add(urn);
  // Defaults come from the old inputs, which no longer apply. A resource that is marked for replacement never had them.
  if (provider && !generator.isReplaceTarget(urn, old))
    await check(generator.run, provider, current, {}, goal.inputs);
  if (!(goal.deleteBeforeReplace ?? diff.deleteBeforeReplace)) {
    const create = new CreateStep(current, settle, { old, diff, oldIsDeletedLater: true });
    return [create, new ReplaceStep(old, current, diff)];
  }
  const steps: Step[] = [];
  for (const dependent of (await dependentReplacements(generator, old)).toReversed()) {
    if (generator.pendingDeletes.has(dependent)) continue;
    if (dependent.protect && !dependent.delete) refuseProtected(generator, dependent.urn, urn);
    steps.push(new DeleteStep(dependent, dependent.delete ? "no" : "before-create"));
    generator.run.deletions.add(dependent.urn);
    generator.pendingDeletes.add(dependent);
  }
  // An earlier command deleted the object, and then its create failed. There is nothing to delete again.
  if (!old.pendingReplacement) {
    generator.run.deletions.add(old.urn);
    steps.push(new DeleteStep(old, "before-create"));
  }
  const create = new CreateStep(current, settle, { old, diff, oldIsDeletedLater: false });
  return [...steps, new ReplaceStep(old, current, diff), create];
}

function refuseProtected(generator: Generator, urn: string, replaced: string): void {
  const because = urn === replaced ? "" : ` as part of replacing "${replaced}"`;
  const message =
    `unable to replace resource "${urn}"${because}\nas it is currently marked for protection. To unprotect it, remove ` +
    "the `protect` flag in the program and run `pulumi up`";
  generator.run.reporter.diagnose({ severity: "error", message, urn: replaced });
  generator.sawError = true;
  // A preview continues, to show the difference that requires the replacement.
  if (!generator.run.dryRun) throw new Reported(message);
}

/**
 * Returns the resources to delete together with `root`, if `root` is deleted before its replacement is created: those
 * dependents that would be replaced if the inputs they take from `root` changed. The provider compares them with
 * unknown values for these inputs.
 */
export async function dependentReplacements(generator: Generator, root: Resource): Promise<Resource[]> {
  const { run } = generator;
  const goesToo = new Set([root.urn]);
  const found: Resource[] = [];
  const registered = new Set<string>();
  for (const set of [
    generator.reads,
    generator.creates,
    generator.sames,
    generator.updates,
    run.deletions,
    generator.replaces,
  ]) {
    for (const urn of set) registered.add(urn);
  }
  // Resources that are already registered can't depend on one that is registered now.
  for (const candidate of dependents(run.snapshot.base, root, { ignore: registered, children: false })) {
    if (await isReplacedToo(generator, candidate, goesToo)) {
      goesToo.add(candidate.urn);
      found.push(candidate);
    }
  }
  const cascading = [...generator.olds.values()].filter(
    (r) => (r.replaceWith.includes(root.urn) || r.deletedWith === root.urn) && !found.includes(r),
  );
  return [...found, ...cascading];
}

async function isReplacedToo(
  generator: Generator,
  candidate: Resource,
  goesToo: ReadonlySet<string>,
): Promise<boolean> {
  if (!candidate.custom || candidate.external || candidate.provider === "") return false;
  if (goesToo.has(parseProviderReference(candidate.provider).urn)) return true;
  if (candidate.deletedWith !== "" && goesToo.has(candidate.deletedWith)) return true;
  const inputs: Record<string, Value> = { ...candidate.inputs };
  const affected = Object.keys(inputs).filter((key) =>
    candidate.propertyDependencies[key]?.some((urn) => goesToo.has(urn)),
  );
  if (affected.length === 0) return false;
  for (const key of affected) inputs[key] = unknown;
  const provider = await generator.run.providers.get(candidate.provider);
  const { urn, id, outputs, ignoreChanges, replaceOnChanges } = candidate;
  const diff = await provider.diff(urn, id, candidate.inputs, outputs, inputs, ignoreChanges);
  return applyReplaceOnChanges(diff, replaceOnChanges, false).replaces.length > 0;
}
