import type { Deployment, StateResource } from "./engine";

/** The only resource with this name in the state, except for resources that are pending deletion. */
export function stateOf(deployment: Deployment, name: string): StateResource {
  const [found, ...others] = statesOf(deployment, name).filter((resource) => !resource.delete);
  if (!found) throw new Error(`the state has no resource "${name}"`);
  if (others.length > 0) throw new Error(`the state has ${others.length + 1} resources "${name}"`);
  return found;
}

/** All resources with this name in the state. */
export function statesOf(deployment: Deployment, name: string): StateResource[] {
  return (deployment.resources ?? []).filter(({ urn }) => urn.endsWith(`::${name}`));
}

/** All resources of this package in the state. */
export function ownStates(deployment: Deployment): StateResource[] {
  return (deployment.resources ?? []).filter(({ type }) =>
    type.startsWith("pulumi-nodejs:dynamic/cloudinfra:"),
  );
}

const SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d";

/** Whether the state contains this value as a secret. */
export function isSecret(value: unknown): value is { readonly plaintext: string } {
  return typeof value === "object" && value !== null && SECRET_SIGNATURE in value && "plaintext" in value;
}

/** A value of the state with its secrets in plaintext. */
export function inClear(value: unknown): unknown {
  if (isSecret(value)) return inClear(JSON.parse(value.plaintext));
  if (Array.isArray(value)) return value.map(inClear);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inClear(inner)]));
}
