import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { LocalWorkspace, type PulumiFn, type Stack } from "@pulumi/pulumi/automation";
import { isOfTarget, type SettingName, settings, variableName } from "../config/settings";
import { type Behaviour, type Emulator, type FaultHandle, type FaultRule, startEmulator } from "../emulator";
import { projectFileFor, readProjectFile } from "../journal/location";
import { currentRun } from "../resources/sdk";

export { type MockedProgram, type MockedResource, type MocksOptions, mocks } from "./mocks";

/** The stack and the emulator that {@link withEmulator} provides. */
export interface WithEmulator {
  /** The stack of Pulumi's Automation API, with methods such as `up`, `preview`, `refresh` and `destroy`. */
  readonly stack: Stack;
  /** The running emulator. Use it to inspect objects and requests, and to inject more faults. */
  readonly emulator: Emulator;
  /**
   * Injects a fault, which applies to the next matching request.
   *
   * @param name one of the faults that `docs/testing.md` describes
   * @returns a handle that counts the affected requests (`used`) and ends the fault (`off()`)
   */
  fault(name: FaultName): FaultHandle;
}

/** The options of {@link withEmulator}. */
export interface WithEmulatorOptions {
  /**
   * The program: a folder that contains `Pulumi.yaml`, or an inline program. An inline program runs in this process, in a project named
   * `test`.
   * @default the working directory
   */
  readonly program?: string | PulumiFn;
  /** The stack's configuration. A key without a namespace belongs to the program's project. @default empty */
  readonly config?: Readonly<Record<string, string>>;
  /** The behavior of the emulated service. @default operations take 100 ms, and everything else is as in {@link startEmulator} */
  readonly behaviour?: Partial<Behaviour>;
  /**
   * Environment variables to add for Pulumi's commands. Variables that set a backend, a service, a token or a journal have no effect.
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
}

/** The name of a fault, as described in `docs/testing.md`. */
export type FaultName = "lost-reply" | "outage" | "rate-limit" | "concurrent-change" | "proxy-page";

const FAULTS: Record<FaultName, (emulator: Emulator) => FaultRule> = {
  "lost-reply": () => ({ kind: "lost-reply", method: "POST", path: "/v1/instances" }),
  outage: () => ({ kind: "status", status: 503, times: 3 }),
  "rate-limit": () => ({ kind: "status", status: 429, retryAfter: 1 }),
  "concurrent-change": (emulator) => ({
    kind: "slow",
    delayMs: 0,
    method: "PUT",
    path: "/v1/instances/",
    when: ({ path: requested }) => {
      emulator.edit(requested.split("/").at(-1) ?? "", { flavor: "changed-by-another-user" });
      return true;
    },
  }),
  "proxy-page": () => ({ kind: "html", status: 502 }),
};

/**
 * Runs an integration test with the real Pulumi CLI. Starts the emulator, creates a stack, calls `body`, and removes everything afterwards,
 * even if `body` fails. The test requires the `pulumi` CLI on the PATH, but no account and no service.
 *
 * All requests of this package go to the emulator. Endpoints, tokens and journal folders have no effect, whether they come from your
 * environment, `Pulumi.yaml`, the options or explicit providers.
 *
 * @param options the program, its configuration, and the behavior of the service
 * @param body runs commands on the stack and checks the objects of the service
 * @returns the result of `body`
 * @throws the error of `body`, or an error of the Automation API if it can't find `pulumi` or create the stack
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
  const stackConfig = typeof program === "string" ? stackConfigFolder(program) : undefined;
  const temporary = await mkdtemp(path.join(os.tmpdir(), "pulumi-cloudinfra-test-"));
  const emulator = await startEmulator({ behaviour: { operationMs: 100, ...behaviour } });
  const stackName = `test-${randomUUID().slice(0, 8)}`;
  const envVars = environmentFor(emulator, temporary, env);
  try {
    const stack =
      typeof program === "string"
        ? await LocalWorkspace.createStack({ stackName, workDir: program }, { envVars })
        : await createInlineStack(stackName, program, { temporary, envVars });
    const settings = Object.entries(config).map(([key, value]) => [key, { value }]);
    await stack.setAllConfig(Object.fromEntries(settings));
    return await body({ stack, emulator, fault: (name) => emulator.fail(FAULTS[name](emulator)) });
  } finally {
    await emulator.stop();
    if (stackConfig !== undefined)
      await rm(path.join(stackConfig, `Pulumi.${stackName}.yaml`), { force: true });
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Returns the folder in which the CLI stores the configuration of a program's stacks. */
function stackConfigFolder(program: string): string {
  const file = projectFileFor(path.resolve(program));
  if (file === undefined) return program;
  return path.resolve(path.dirname(file), readProjectFile(file).stackConfigDir ?? ".");
}

type Environment = Record<string, string>;

/** Returns variables for Pulumi's commands. They extend this process's environment, so the developer's own variables are set to "". */
function environmentFor(emulator: Emulator, temporary: string, env: Readonly<Environment>): Environment {
  const names = Object.keys(settings) as SettingName[];
  const ofTarget = names.filter(isOfTarget).map(variableName);
  const ours = Object.keys(process.env).filter((name) => /^CLOUDINFRA_/i.test(name));
  return {
    PULUMI_CONFIG_PASSPHRASE: "test",
    ...Object.fromEntries(ours.map((name) => [name, ""])),
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !ofTarget.includes(name.toUpperCase()))),
    PULUMI_BACKEND_URL: pathToFileURL(temporary).href,
    CLOUDINFRA_EMULATED: "true",
    CLOUDINFRA_ENDPOINT: emulator.endpoint,
    CLOUDINFRA_TOKEN: emulator.token,
    CLOUDINFRA_JOURNAL_DIR: path.join(temporary, "journal"),
  };
}

async function createInlineStack(
  stackName: string,
  program: PulumiFn,
  { temporary, envVars }: { readonly temporary: string; readonly envVars: Environment },
): Promise<Stack> {
  const workDir = path.join(temporary, "project"); // without one, the Automation API leaves a folder behind
  await mkdir(workDir);
  const NODE_PATH = [await linkPackages(temporary), process.env.NODE_PATH]
    .filter(Boolean)
    .join(path.delimiter);
  const inEnvironment: PulumiFn = () => {
    currentRun().environment = { ...process.env, ...envVars }; // the program runs in this process
    return program();
  };
  const inline = { stackName, projectName: "test", program: inEnvironment };
  return LocalWorkspace.createStack(inline, { workDir, envVars: { NODE_PATH, ...envVars } });
}

/** Links the packages that the provider process loads, and returns the folder of the links. */
async function linkPackages(temporary: string): Promise<string> {
  const modules = path.join(temporary, "node_modules");
  await mkdir(path.join(modules, "@pulumi"), { recursive: true });
  const pulumi = path.dirname(require.resolve("@pulumi/pulumi/package.json"));
  await symlink(pulumi, path.join(modules, "@pulumi", "pulumi"), "junction");
  await symlink(path.join(__dirname, "..", ".."), path.join(modules, "pulumi-cloudinfra"), "junction");
  return modules;
}
