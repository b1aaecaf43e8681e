import * as pulumi from "@pulumi/pulumi";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { type DependsOn, whenCreated } from "./depends-on";
import { namesOfSecrets } from "./hidden-inputs";
import type { InstanceStatus, PublicIp } from "./instance";
import { inputsOf, type Provider } from "./provider";
import { currentRun } from "./run";
import { resolved } from "./sdk";

/** The filters of {@link getInstances}. An instance must match all of them. */
export interface GetInstancesArgs {
  /** Id of the project. @default every project that the token may see */
  project?: string | undefined;
  /** Status, for example `"running"`. @default any */
  status?: InstanceStatus | undefined;
  /** Labels that an instance must have, with these values. @default any */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** {@link GetInstancesArgs} that may be outputs. */
export interface GetInstancesOutputArgs {
  /** Id of the project: `project.id`. @default every project that the token may see */
  project?: pulumi.Input<string | undefined>;
  /** Status, for example `"running"`. @default any */
  status?: pulumi.Input<InstanceStatus | undefined>;
  /** Labels that an instance must have, with these values. @default any */
  labels?: pulumi.Input<Record<string, pulumi.Input<string>> | undefined>;
}

/** An instance as the service returns it. Fields that the service doesn't return are left out. */
export interface GetInstancesInstance {
  /** Its id, as `Instance.get` and the `import` option take it. */
  readonly id: string;
  /** Id of the project that contains it. */
  readonly project?: string | undefined;
  /** Its name. */
  readonly name?: string | undefined;
  /** Its image, as normalized by the service. */
  readonly image?: string | undefined;
  /** Its flavor (size), as normalized by the service. */
  readonly flavor?: string | undefined;
  /** Its network, as normalized by the service. */
  readonly network?: string | undefined;
  /** Mode of its public address, for example `"auto"`, or the address if the service returns that instead. */
  readonly publicIp?: PublicIp | undefined;
  /** Its SSH public keys, one line each. */
  readonly sshKeys?: readonly string[] | undefined;
  /** All its labels, including those that no program manages. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Its status, for example `"running"`. */
  readonly status?: InstanceStatus | undefined;
  /** When the service created it (ISO 8601, UTC). */
  readonly createdAt?: string | undefined;
  /** Its revision. */
  readonly revision?: string | undefined;
  /** Its address at the service. */
  readonly url?: string | undefined;
  /** Its public IP address, if it has one. */
  readonly ipAddress?: string | undefined;
}

/** What {@link getInstances} returns. */
export type GetInstancesResult = GetInstancesInstance[];

/** A project as the service returns it. Fields that the service doesn't return are left out. */
export interface GetProjectsProject {
  /** Its id, as `Project.get` and the `import` option take it. */
  readonly id: string;
  /** Its name. */
  readonly name?: string | undefined;
  /** Its region, as normalized by the service. */
  readonly region?: string | undefined;
  /** Its description. */
  readonly description?: string | undefined;
  /** When the service created it (ISO 8601, UTC). */
  readonly createdAt?: string | undefined;
}

/** What {@link getProjects} returns. */
export type GetProjectsResult = GetProjectsProject[];

/** Options of the functions. */
export interface FunctionOptions {
  /** The explicit provider whose settings apply. @default that of `parent`, or else the stack's configuration */
  provider?: Provider | undefined;
  /** A resource, such as a component, that has the provider. @default none */
  parent?: pulumi.Resource | undefined;
}

/** Options of the `…Output` forms of the functions. */
export interface FunctionOutputOptions extends FunctionOptions {
  /**
   * Resources that must exist before the request is sent. A component stands for all its children. In a preview that creates one of them,
   * the result is unknown.
   * @default none
   */
  dependsOn?: DependsOn | undefined;
}

/**
 * Lists every instance that matches, from all pages. The request is sent at once, in previews too, so the endpoint and
 * the token must be set.
 *
 * @param args the filters, which are combined @default every instance that the token may see
 * @param options whose settings apply @default the stack's configuration
 * @throws CloudInfraError that says what failed and what to do. Its code is `input_invalid` if an argument is wrong, for example a label
 * whose value is undefined, and `config_missing` if a preview doesn't know the provider's settings yet
 *
 * @example
 * ```ts
 * const running = await getInstances({ status: "running", labels: { role: "web" } });
 * ```
 */
export function getInstances(
  args: GetInstancesArgs = {},
  options: FunctionOptions = {},
): Promise<GetInstancesResult> {
  return found(async () => instances(args, await knownSettings("getInstances", options)));
}

/** @param secrets names of the arguments that must not be shown */
async function instances(
  args: GetInstancesArgs,
  { setting, ownerOf }: SettingsOf,
  secrets?: readonly string[],
): Promise<GetInstancesResult> {
  const { findInstances, instanceFilter, sessionsOf } = await import("../provider/functions.js");
  const { found: given } = currentRun();
  if (given !== undefined) return [...given.instances(instanceFilter(args, secrets))];
  return findInstances(setting, args, sessionsOf(ownerOf()), secrets);
}

/**
 * {@link getInstances} with outputs as arguments. The request is sent once they are known. Until then, the result is unknown in previews.
 * An error of {@link getInstances} ends the program.
 *
 * @param args the filters, which are combined @default every instance that the token may see
 * @param options whose settings apply, and what must exist before the request is sent
 */
export function getInstancesOutput(
  args: GetInstancesOutputArgs = {},
  options: FunctionOutputOptions = {},
): pulumi.Output<GetInstancesResult> {
  const given = pulumi.all([pulumi.output({ ...args }), settingsOf(options), whenCreated(options.dependsOn)]);
  return awaited(
    given.apply(([filters, settings]) =>
      found(async () => instances(filters, settings, await namesOfSecrets({ ...args }))),
    ),
  );
}

/**
 * Lists every project that the token may see, from all pages. The request is sent at once, in previews too, so the endpoint
 * and the token must be set.
 *
 * @param options whose settings apply @default the stack's configuration
 * @throws CloudInfraError that says what failed and what to do, also if a preview doesn't know the provider's settings yet
 */
export function getProjects(options: FunctionOptions = {}): Promise<GetProjectsResult> {
  return found(async () => projects(await knownSettings("getProjects", options)));
}

async function projects({ setting, ownerOf }: SettingsOf): Promise<GetProjectsResult> {
  const { found: given } = currentRun();
  if (given !== undefined) return [...given.projects];
  const { findProjects, sessionsOf } = await import("../provider/functions.js");
  return findProjects(setting, sessionsOf(ownerOf()));
}

/**
 * {@link getProjects} as an output. The request is sent once the resources of `dependsOn` exist. An error of {@link getProjects} ends the
 * program.
 *
 * @param options whose settings apply, and what must exist before the request is sent
 */
export function getProjectsOutput(options: FunctionOutputOptions = {}): pulumi.Output<GetProjectsResult> {
  const given = pulumi.all([settingsOf(options), whenCreated(options.dependsOn)]);
  return awaited(given.apply(([settings]) => found(() => projects(settings))));
}

/** Settings, and the run or provider that they belong to, whose functions share one client. An output would copy the run itself. */
interface SettingsOf {
  readonly setting: (key: string) => string | undefined;
  readonly ownerOf: () => object;
}

/** These have no effect here, but Pulumi's functions take them. */
const FURTHER_OPTIONS = ["version", "pluginDownloadURL", "async"];
const OPTIONS = ["provider", "parent", "dependsOn"];

/** Returns the settings of the explicit provider, or else of the stack. Unknown as long as the provider's arguments are. */
function settingsOf({ provider, parent, ...others }: FunctionOptions): pulumi.Output<SettingsOf> {
  // A filter among the options would widen the result.
  const unknown = Object.keys(others).find((name) => ![...OPTIONS, ...FURTHER_OPTIONS].includes(name));
  if (unknown !== undefined)
    throw new pulumi.RunError(
      `cloudinfra: unknown option "${unknown}": the options are ${OPTIONS.join(", ")}`,
    );
  const explicit = provider ?? parent?.getProvider("pulumi-nodejs:index:Provider");
  const inputs = inputsOf(explicit);
  if (explicit === undefined || inputs === undefined)
    return pulumi.output({ setting: stackSetting, ownerOf: currentRun });
  // What a token finds isn't secret because the token is.
  const texts: pulumi.Output<Readonly<Record<string, string | undefined>>> = pulumi.unsecret(
    pulumi.output(inputs),
  );
  return texts.apply((known) => ({ setting: (key: string) => known[key], ownerOf: () => explicit }));
}

async function knownSettings(name: string, options: FunctionOptions): Promise<SettingsOf> {
  const settings = await resolved(settingsOf(options));
  if (settings !== undefined) return settings;
  throw new CloudInfraError(
    "config_missing",
    `cloudinfra: ${name}: this preview doesn't know the provider's settings yet. Use ${name}Output, whose result is then unknown`,
  );
}

const stackSetting = (key: string): string | undefined => {
  const [namespace = "", name = ""] = key.split(":");
  return new pulumi.Config(namespace).get(name);
};

/** Runs a search. Pulumi prints its failure without a stack trace, as that of a `RunError`. */
async function found<T>(search: () => Promise<T[]>): Promise<T[]> {
  const end = keepProgramRunning();
  try {
    return await search();
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    throw Object.defineProperty(error, "__pulumiRunError", { value: true });
  } finally {
    end();
  }
}

function awaited<T>(output: pulumi.Output<T>): pulumi.Output<T> {
  const end = keepProgramRunning();
  resolved(output).then(end, end); // a failure stays the failure of the output
  return output;
}

/**
 * Keeps an inline program of the Automation API from ending. Otherwise, it ends when all registrations have ended, and the engine deletes
 * what it would declare later.
 *
 * @returns a function that ends this, after whoever waits for the result has gone on
 */
function keepProgramRunning(): () => void {
  const done = pulumi.runtime.rpcKeepAlive();
  return () => void setImmediate(done);
}
