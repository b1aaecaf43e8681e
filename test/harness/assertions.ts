import { expect } from "vitest";
import type { Emulator } from "../../src/emulator";
import type { Deployment, RunResult, StateResource } from "./engine";
import type { Scenario } from "./scenario";

/** The run succeeded; where it did not, the message is what a person saw. */
export function expectOk(result: RunResult): RunResult {
  expect(result.ok, result.output).toBe(true);
  return result;
}

/** What the run changed: its counts without those of resources that stayed the same. */
export function changesOf(result: RunResult): Record<string, number> {
  const { same: _unchanged, ...changes } = result.changes;
  return changes;
}

/** A further `up` changes nothing and asks the service nothing. */
export async function expectConverged({
  stack,
  emulator,
}: Pick<Scenario, "stack" | "emulator">): Promise<void> {
  const { value: result, requests } = await requestsDuring(emulator, () => stack.run("up"));
  expect(changesOf(expectOk(result)), result.output).toEqual({});
  expectNone(requests);
}

/** Does `action`, which must not ask the service anything. */
export async function noRequestsDuring<T>(emulator: Emulator, action: () => Promise<T>): Promise<T> {
  const { value, requests } = await requestsDuring(emulator, action);
  expectNone(requests);
  return value;
}

function expectNone(requests: readonly string[]): void {
  expect(requests, `asked the service: ${requests.join(", ")}`).toEqual([]);
}

/** Does `action` and tells what it asked the service: `GET /v1/projects`, in order. */
export async function requestsDuring<T>(
  emulator: Emulator,
  action: () => Promise<T>,
): Promise<{ value: T; requests: string[] }> {
  const before = emulator.requests.length;
  const value = await action();
  return { value, requests: emulator.requests.slice(before).map(({ method, path }) => `${method} ${path}`) };
}

/** The one entry that the state has under this name; not one that only waits for its deletion. */
export function stateOf(deployment: Deployment, name: string): StateResource {
  const [found, ...others] = statesOf(deployment, name).filter((resource) => !resource.delete);
  if (!found) throw new Error(`the state has no resource "${name}"`);
  if (others.length > 0) throw new Error(`the state has ${others.length + 1} resources "${name}"`);
  return found;
}

/** Every entry that the state has under this name. */
export function statesOf(deployment: Deployment, name: string): StateResource[] {
  return (deployment.resources ?? []).filter(({ urn }) => urn.endsWith(`::${name}`));
}

/** Every resource of ours in the state. */
export function ownStates(deployment: Deployment): StateResource[] {
  return (deployment.resources ?? []).filter(({ type }) =>
    type.startsWith("pulumi-nodejs:dynamic/cloudinfra:"),
  );
}

const SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d";

/** Whether the state keeps this value as a secret. */
export function isSecret(value: unknown): value is { readonly plaintext: string } {
  return typeof value === "object" && value !== null && SECRET_SIGNATURE in value && "plaintext" in value;
}

/** A value of the state with its secrets in clear. */
export function inClear(value: unknown): unknown {
  if (isSecret(value)) return inClear(JSON.parse(value.plaintext));
  if (Array.isArray(value)) return value.map(inClear);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inClear(inner)]));
}
