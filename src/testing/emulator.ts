import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type ConfigMap, LocalWorkspace, type PulumiFn, type Stack } from "@pulumi/pulumi/automation";
import { type Behaviour, type Emulator, type FaultHandle, type FaultRule, startEmulator } from "../emulator";

/** A stack of a program against the emulator, as {@link withEmulator} sets it up. */
export interface WithEmulator {
  /** The stack of Pulumi's Automation API. */
  readonly stack: Stack;
  /** The service. */
  readonly emulator: Emulator;
  /**
   * Lets something go wrong the next time that it can.
   *
   * @returns a handle that tells how often it has happened
   */
  fault(name: FaultName): FaultHandle;
}

/** What {@link withEmulator} sets up. */
export interface WithEmulatorOptions {
  /** The program: its folder, or a function. @default the working directory */
  readonly program?: string | PulumiFn;
  /** The stack's configuration, besides endpoint and token. @default empty */
  readonly config?: Readonly<Record<string, string>>;
  /** How the emulated service behaves. @default operations take 100 ms */
  readonly behaviour?: Partial<Behaviour>;
  /** Added to the environment of Pulumi's commands. @default empty */
  readonly env?: Readonly<Record<string, string>>;
}

/** The name of something that can go wrong. `docs/testing.md` describes each. */
export type FaultName = "lost-reply" | "outage" | "rate-limit" | "concurrent-change" | "proxy-page";

/** What can go wrong. */
const FAULTS: Record<FaultName, (emulator: Emulator) => FaultRule> = {
  /** The service carries out the next creation of an instance, but its reply is lost. */
  "lost-reply": () => ({ kind: "lost-reply", method: "POST", path: "/v1/instances" }),
  /** The next three requests are answered with 503. */
  outage: () => ({ kind: "status", status: 503, times: 3 }),
  /** The next request is answered with 429 and Retry-After: 1. */
  "rate-limit": () => ({ kind: "status", status: 429, retryAfter: 1 }),
  /** Somebody else changes the flavor of an instance immediately before the next update of it. */
  "concurrent-change": (emulator) => ({
    kind: "slow",
    delayMs: 0,
    method: "PUT",
    path: "/v1/instances/",
    when: ({ path: requested }) => {
      emulator.edit(requested.split("/").at(-1) ?? "", { flavor: "changed-by-somebody-else" });
      return true;
    },
  }),
  /** A page of a proxy answers the next request. */
  "proxy-page": () => ({ kind: "html", status: 502 }),
};

/**
 * Sets up a stack of a program, a folder for its state and the emulator, and removes all of it at the end, for integration tests. The `pulumi`
 * CLI must be on the PATH. No account and no service are needed.
 *
 * @param body runs commands of the stack, and looks at what the service has
 * @returns what the body returns
 * @throws whatever the body throws, and an error of the Automation API if there is no `pulumi`
 *
 * @example
 * ```ts
 * await withEmulator({ program: import.meta.dirname }, async ({ stack, emulator, fault }) => {
 *   const lost = fault("lost-reply");
 *   await stack.up();
 *   assert.equal(lost.used, 1);
 *   assert.equal(emulator.instances.size, 2);
 * });
 * ```
 */
export async function withEmulator<T>(
  options: WithEmulatorOptions,
  body: (test: WithEmulator) => Promise<T>,
): Promise<T> {
  const { program = process.cwd(), config = {}, behaviour, env = {} } = options;
  const temporary = await mkdtemp(path.join(os.tmpdir(), "pulumi-cloudinfra-test-"));
  const emulator = await startEmulator({ behaviour: { operationMs: 100, ...behaviour } });
  const stackName = `test-${randomUUID().slice(0, 8)}`;
  const envVars = {
    PULUMI_BACKEND_URL: pathToFileURL(temporary).href,
    PULUMI_CONFIG_PASSPHRASE: "test",
    CLOUDINFRA_ENDPOINT: emulator.endpoint,
    CLOUDINFRA_TOKEN: emulator.token,
    CLOUDINFRA_JOURNAL_DIR: path.join(temporary, "journal"),
    ...env,
  };
  try {
    const stack =
      typeof program === "string"
        ? await LocalWorkspace.createStack({ stackName, workDir: program }, { envVars })
        : await LocalWorkspace.createStack({ stackName, projectName: "test", program }, { envVars });
    const settings: ConfigMap = Object.fromEntries(
      Object.entries(config).map(([key, value]) => [key, { value }]),
    );
    await stack.setAllConfig(settings);
    return await body({ stack, emulator, fault: (name) => emulator.fail(FAULTS[name](emulator)) });
  } finally {
    await emulator.stop();
    if (typeof program === "string")
      await rm(path.join(program, `Pulumi.${stackName}.yaml`), { force: true });
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
  }
}
