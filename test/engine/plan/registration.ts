import { newResource, type Resource } from "../state/resource";
import type { Settle } from "../steps/step";
import type { Goal } from "../wire/goal";

/** A registration before its steps are planned. */
export interface Registration {
  readonly goal: Goal;
  readonly settle: Settle;
  readonly urn: string;
  readonly current: Resource;
  /** The resource's entry in the state. A refresh may replace it. */
  old: Resource | undefined;
}

/** Returns the resource as the program registers it, before the provider has checked it. */
export function asked(urn: string, goal: Goal, old: Resource | undefined): Resource {
  return newResource({
    urn,
    type: goal.type,
    custom: goal.custom,
    inputs: goal.inputs,
    parent: goal.parent,
    provider: goal.provider,
    dependencies: [...goal.dependencies],
    propertyDependencies: goal.custom ? { ...goal.propertyDependencies } : {},
    protect: goal.protect ?? false,
    retainOnDelete: goal.retainOnDelete ?? false,
    additionalSecretOutputs: [...goal.additionalSecretOutputs],
    ignoreChanges: [...goal.ignoreChanges],
    replaceOnChanges: [...goal.replaceOnChanges],
    customTimeouts: goal.customTimeouts,
    formerUrn: old && old.urn !== urn ? old.urn : "",
    deletedWith: goal.deletedWith,
    replaceWith: [...goal.replaceWith],
    created: old?.created ?? "",
    modified: old?.modified ?? "",
    sourcePosition: goal.sourcePosition,
  });
}

/** Some options also apply to the children of a resource. */
export function inherit(goal: Goal, parent: Goal | undefined): Goal {
  if (!parent) return goal;
  return {
    ...goal,
    protect: goal.protect ?? parent.protect,
    retainOnDelete: goal.retainOnDelete ?? parent.retainOnDelete,
    deletedWith: goal.deletedWith || parent.deletedWith,
  };
}
