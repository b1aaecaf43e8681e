import { hiddenOf } from "../../provider/values/state";
import type { RecoverArgs } from "./args";
import { type Deployment, withoutSecretMarks } from "./deployment";

/** The name that backends without organizations use for all stacks. */
const NO_ORGANIZATION = "organization";

/**
 * Returns the organization of the stack: the one that `--stack` names, or else the one that the state names.
 *
 * @returns undefined if the backend has no organizations, or if the state names none or several: a stack can be moved
 */
export function organizationOf(
  { resources, pending_operations }: Deployment,
  { stack }: Pick<RecoverArgs, "stack">,
): string | undefined {
  const [named, ...rest] = stack?.split("/") ?? [];
  if (rest.length > 0) return named === NO_ORGANIZATION ? undefined : named;
  const known = [...resources, ...pending_operations.map(({ resource }) => resource)]
    .map(
      ({ inputs }) => hiddenOf({ __organization: withoutSecretMarks(inputs.__organization) }).__organization,
    )
    .filter((organization) => organization !== undefined);
  const [only, ...others] = new Set(known);
  return others.length === 0 ? only : undefined;
}
