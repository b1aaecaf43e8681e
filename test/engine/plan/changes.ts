import { DiffUnavailable, type Provider } from "../provider";
import { configurationOf } from "../providers";
import type { Resource } from "../state/resource";
import { isProviderType } from "../state/urn";
import { SameStep } from "../steps/same";
import type { Step } from "../steps/step";
import { UpdateStep } from "../steps/update";
import { applyReplaceOnChanges, type Diff, equal, identical, noDiff, replaceBecause } from "../values/diff";
import type { Generator } from "./generator";
import type { Registration } from "./registration";
import { replacement } from "./replacement";

/** Decides whether an existing resource stays, is updated, or is replaced. */
export async function stepsFromDiff(
  generator: Generator,
  registration: Registration,
  provider: Provider | undefined,
): Promise<Step[]> {
  const { goal, settle, urn, current, old } = registration;
  if (!old) throw new Error(`nothing to compare ${urn} with`);
  const hasInitErrors = old.initErrors.length > 0;
  const compared = await compare(generator, old, current, provider);
  const diff = applyReplaceOnChanges(compared, goal.replaceOnChanges, hasInitErrors);
  if ((diff.changes && diff.replaces.length > 0) || old.pendingReplacement) {
    return replacement(generator, registration, old, diff, provider);
  }
  if (diff.changes || hasInitErrors) {
    generator.updates.add(urn);
    return [new UpdateStep(old, current, diff, settle)];
  }
  generator.sames.add(urn);
  return [new SameStep(old, current, settle)];
}

async function compare(
  generator: Generator,
  old: Resource,
  current: Resource,
  provider: Provider | undefined,
): Promise<Diff> {
  if (generator.isReplaceTarget(current.urn, old)) return replaceBecause("id");
  if (current.replaceWith.some((urn) => generator.replaces.has(urn))) return replaceBecause("replaceWith");
  if (current.deletedWith !== "" && generator.replaces.has(current.deletedWith))
    return replaceBecause("deletedWith");
  if ((old.provider === "") !== (current.provider === "")) return replaceBecause("provider");
  if (isProviderType(current.type))
    return { ...noDiff, changes: !identical(old.outputs, configurationOf(current.inputs)) };
  if (!provider) return { ...noDiff, changes: !equal(old.inputs, current.inputs) };
  const { urn, inputs, ignoreChanges } = current;
  return provider
    .diff(urn, old.id, old.inputs, old.outputs, inputs, ignoreChanges)
    .catch((error: unknown) => {
      if (!(error instanceof DiffUnavailable)) throw error;
      generator.run.reporter.diagnose({ severity: "warning", message: error.message, urn });
      return { ...noDiff, changes: true };
    });
}
