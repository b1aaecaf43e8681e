import { expect } from "vitest";
import type { Emulator } from "../../src/emulator";
import { expectConverged } from "../harness/assertions";
import type { RunResult } from "../harness/engine";
import type { ProcessStack } from "../harness/process-stack";
import type { Scenario } from "../harness/scenario";
import { statesOf } from "../harness/state";

/** An operation that ends only when a test says so. */
export const HELD_MS = 600_000;

/** URN of an instance of that name in the program. */
export const urnOf = (name: string): string =>
  `urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/cloudinfra:Instance::${name}`;

/** A program with a project and instances: by name, further arguments and options as source text. */
export function programOf(instances: Readonly<Record<string, readonly [args?: string, options?: string]>>) {
  return [
    'const project = new Project("p", { region: "eu-1" });',
    'const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n" };',
    ...Object.entries(instances).map(
      ([name, [args = "", options = ""]]) => `new Instance("${name}", { ...args, ${args} }, { ${options} });`,
    ),
  ].join("\n");
}

/** What a command that failed told of errors, its broken lines joined. */
export function errorsOf(result: RunResult): string {
  expect(result.ok, result.output).toBe(false);
  const errors = result.diagnostics.filter(({ severity }) => severity === "error");
  return errors.map(({ message }) => message.replaceAll(/\n {4,}/g, " ")).join("\n");
}

/**
 * Runs an `up` in which no wait for an operation comes to its end, as if its time were up. Of operations that have ended before, the
 * end can be seen, but for that of the resources named.
 */
export async function cutOff({ stack, emulator }: Scenario, unseen: readonly string[] = []) {
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

/** The creation requests for instances that the service has seen. */
export const postsOf = (emulator: Emulator) =>
  emulator.requests.filter(({ method, path }) => method === "POST" && path === "/v1/instances");

/** Those requests without repetitions of one under its key. */
export const requestsOf = (emulator: Emulator): ReadonlySet<string> =>
  new Set(postsOf(emulator).map(({ headers, body }) => `${headers["idempotency-key"]} ${body}`));

/** The service has exactly one instance for each of these names, the state knows it by its id, and nothing is left to do. */
export async function expectOneEach(scenario: Scenario, names: readonly string[]): Promise<void> {
  const { stack, emulator } = scenario;
  const deployment = await stack.deployment();
  const known = names.flatMap((name) => statesOf(deployment, name).map(({ id }) => id));
  expect(known.toSorted()).toEqual([...emulator.instances.keys()].toSorted());
  expect(known).toHaveLength(names.length);
  await expectConverged({ stack, emulator });
}

/**
 * The service has one instance, made by one request however often that was sent; the state knows it as `web`, and nothing is left on
 * the machine.
 */
export function expectOnly({ emulator, state, journal }: ProcessStack, machine?: string): void {
  expect(requestsOf(emulator).size).toBe(1);
  expect(emulator.instances.size).toBe(1);
  expect(statesOf(state(), "web").map(({ id }) => id)).toEqual([...emulator.instances.keys()]);
  expect(journal(machine).filter((name) => !name.endsWith(".facts"))).toEqual([]);
}
