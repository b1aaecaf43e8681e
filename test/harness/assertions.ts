import { expect } from "vitest";
import type { Emulator } from "../../src/emulator";
import type { RunResult } from "./engine";
import type { Scenario } from "./scenario";

/** Expects that the run succeeded. If it didn't, the assertion shows the command's output. */
export function expectOk(result: RunResult): RunResult {
  expect(result.ok, result.output).toBe(true);
  return result;
}

/** The counts of a run's changes, without the unchanged resources. */
export function changesOf(result: RunResult): Record<string, number> {
  const { same: _unchanged, ...changes } = result.changes;
  return changes;
}

/** Expects that another `up` changes nothing and sends no requests. */
export async function expectConverged({
  stack,
  emulator,
}: Pick<Scenario, "stack" | "emulator">): Promise<void> {
  const { value: result, requests } = await requestsDuring(emulator, () => stack.run("up"));
  expect(changesOf(expectOk(result)), result.output).toEqual({});
  expectNone(requests);
}

/** Runs `action` and expects that it sends no requests. */
export async function noRequestsDuring<T>(emulator: Emulator, action: () => Promise<T>): Promise<T> {
  const { value, requests } = await requestsDuring(emulator, action);
  expectNone(requests);
  return value;
}

function expectNone(requests: readonly string[]): void {
  expect(requests, `asked the service: ${requests.join(", ")}`).toEqual([]);
}

/** Runs `action` and returns its value and the requests it sent, in order, as `GET /v1/projects`. */
export async function requestsDuring<T>(
  emulator: Emulator,
  action: () => Promise<T>,
): Promise<{ value: T; requests: string[] }> {
  const before = emulator.requests.length;
  const value = await action();
  return { value, requests: emulator.requests.slice(before).map(({ method, path }) => `${method} ${path}`) };
}
