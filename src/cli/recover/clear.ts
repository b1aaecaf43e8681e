import type { Deployment } from "./deployment";

/**
 * How Pulumi is told that the creations it has as pending are settled: it keeps them, also after an `up` that went on
 * with them, and they would be found again once the state no longer has their resources. With the stack itself for a
 * target, nothing is refreshed.
 */
export function howToClear({ resources }: Deployment): string {
  const stack = resources.find(({ type }) => type === "pulumi:pulumi:Stack")?.urn;
  const target = stack === undefined ? "" : ` --target '${stack}'`;
  return (
    "Pulumi keeps these creations in its list of pending ones, for ever. After a `pulumi up` that succeeded, clear the list " +
    `(those of other clouds are in it too: settle them first), or they may be found again:\n` +
    `  pulumi refresh --yes --skip-preview --clear-pending-creates${target}`
  );
}
