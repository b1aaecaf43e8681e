import * as pulumi from "@pulumi/pulumi";
import { childrenOf, constructed } from "./sdk";

/** What the `dependsOn` option of a function takes: the same as the option of a resource. */
export type DependsOn =
  | pulumi.Input<pulumi.Resource>
  | pulumi.Input<readonly pulumi.Input<pulumi.Resource>[]>;

/**
 * Resolves once the engine has created these resources. A component stands for all its children, as it does in the `dependsOn`
 * option of resources. In a preview that creates one of them, the output is unknown.
 */
export function whenCreated(dependsOn: DependsOn | undefined): pulumi.Output<unknown> {
  const given: pulumi.Output<unknown> = pulumi.output(dependsOn);
  return given.apply((value) => created(resourcesIn(value)));
}

function created(resources: readonly pulumi.Resource[], before = 0): pulumi.Output<unknown> {
  return pulumi.output(withChildren(resources)).apply((all) => {
    const ids = pulumi.all(all.map((one) => (pulumi.CustomResource.isInstance(one) ? one.id : one.urn)));
    // A component may declare a child only when it knows the id of another one.
    return all.length === before ? ids : ids.apply(() => created(resources, all.length));
  });
}

function resourcesIn(value: unknown): pulumi.Resource[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values
    .filter((one) => one !== undefined)
    .map((one) => {
      if (pulumi.Resource.isInstance(one)) return one;
      throw new pulumi.RunError("cloudinfra: dependsOn: must be a resource or a list of resources");
    });
}

/** The resources and, of components that this program runs, everything inside. The engine runs the others as one resource. */
async function withChildren(
  resources: Iterable<pulumi.Resource>,
  found = new Set<pulumi.Resource>(),
): Promise<pulumi.Resource[]> {
  for (const resource of resources) {
    if (found.has(resource)) continue;
    found.add(resource);
    if (!pulumi.ComponentResource.isInstance(resource)) continue;
    await constructed(resource);
    await withChildren(childrenOf(resource), found);
  }
  return [...found];
}
