import type * as pulumi from "@pulumi/pulumi";

// Parts of the SDK that its types leave out. They are the same in every version that this package supports. This is the only file that
// uses them, and each function says what happens in a version without them.

/** Resolves when a component's asynchronous part has ended too; at once without it. */
export async function constructed(component: pulumi.ComponentResource): Promise<void> {
  await Reflect.get(component, "__data");
}

/** Returns the children that a component has declared so far; none in a version that doesn't keep them. */
export function childrenOf(component: pulumi.Resource): Iterable<pulumi.Resource> {
  const children: unknown = Reflect.get(component, "__childResources");
  return children instanceof Set ? children : [];
}
