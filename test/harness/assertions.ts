import { expect } from "vitest";
import type { Emulator } from "../../src/emulator";
import type { RunResult } from "./engine";
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
