import { expect } from "vitest";
import type { Emulator } from "../../src/emulator";
import { expectConverged } from "../harness/assertions";
import type { RunResult } from "../harness/engine";
import type { ProcessStack } from "../harness/process-stack";
import type { Scenario } from "../harness/scenario";
import { statesOf } from "../harness/state";

/** A duration of operations that outlasts the test, unless it calls `finishOperations`. */
export const HELD_MS = 600_000;

/** The URN of an instance with this name. */
export const urnOf = (name: string): string =>
  `urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/cloudinfra:Instance::${name}`;

/** A program with a project and instances. The record maps each name to source text of further arguments and options. */
export function programOf(instances: Readonly<Record<string, readonly [args?: string, options?: string]>>) {
  return [
    'const project = new Project("p", { region: "eu-1" });',
    'const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n" };',
    ...Object.entries(instances).map(
      ([name, [args = "", options = ""]]) => `new Instance("${name}", { ...args, ${args} }, { ${options} });`,
    ),
  ].join("\n");
}

/** The errors of a failed command, with wrapped lines joined. */
export function errorsOf(result: RunResult): string {
  expect(result.ok, result.output).toBe(false);
  const errors = result.diagnostics.filter(({ severity }) => severity === "error");
  return errors.map(({ message }) => message.replaceAll(/\n {4,}/g, " ")).join("\n");
}

/**
 * Runs an `up` that is interrupted while it waits for operations: polls fail. Polls of operations that finished before this
 * call succeed, except for those of the resources in `unseen`.
 */
export async function runInterruptedUp({ stack, emulator }: Scenario, unseen: readonly string[] = []) {
  const { operationMs } = emulator.behaviour;
  emulator.behaviour.operationMs = HELD_MS;
  const deployment = await stack.deployment();
  const hidden = unseen.flatMap((name) => statesOf(deployment, name)).map(({ id }) => id);
  const seen = [...emulator.operations.values()].filter(
    ({ id, outcome }) => outcome !== "open" && !hidden.includes(`operation/${id}`),
  );
  const path = new RegExp(`^/v1/operations/(?!${seen.map(({ id }) => `${id}$`).join("|") || "$"})`);
  const polls = emulator.fail({ path, kind: "status", status: 403, times: Number.POSITIVE_INFINITY });
  const result = await stack.run("up", { continueOnError: true });
  polls.off();
  emulator.behaviour.operationMs = operationMs;
  return result;
}

/** The requests for creations of instances that the service has received, including retries. */
export const postsOf = (emulator: Emulator) =>
  emulator.requests.filter(({ method, path }) => method === "POST" && path === "/v1/instances");

/** The creation requests without retries that have the same key and body. */
export const requestsOf = (emulator: Emulator): ReadonlySet<string> =>
  new Set(postsOf(emulator).map(({ headers, body }) => `${headers["idempotency-key"]} ${body}`));

/** Expects exactly one instance for each name, whose id is in the state, and that another `up` changes nothing. */
export async function expectOneEach(scenario: Scenario, names: readonly string[]): Promise<void> {
  const { stack, emulator } = scenario;
  const deployment = await stack.deployment();
  const known = names.flatMap((name) => statesOf(deployment, name).map(({ id }) => id));
  expect(known.toSorted()).toEqual([...emulator.instances.keys()].toSorted());
  expect(known).toHaveLength(names.length);
  await expectConverged({ stack, emulator });
}

/**
 * Expects that the service has one instance, that all attempts to create it sent the same request, that the state contains it
 * as `web`, and that the journal of the machine is empty.
 */
export function expectOnly({ emulator, state, journal }: ProcessStack, machine?: string): void {
  expect(requestsOf(emulator).size).toBe(1);
  expect(emulator.instances.size).toBe(1);
  expect(statesOf(state(), "web").map(({ id }) => id)).toEqual([...emulator.instances.keys()]);
  expect(journal(machine).filter((name) => !name.endsWith(".facts"))).toEqual([]);
}
