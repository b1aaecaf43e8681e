import * as pulumi from "@pulumi/pulumi";
import type { Configuration } from "../config/settings";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { namesOfSecrets } from "./hidden-inputs";
import type { InstanceStatus, PublicIp } from "./instance";
import { inputsOf, type Provider, requireKnownNames } from "./provider";
import { currentRun, type DependsOn, environmentOfRun, providersOf, resolved, whenCreated } from "./sdk";

/** Filters of {@link getInstances}. An instance must match all filters. */
export interface GetInstancesArgs {
  /** Id of the project. @default all projects that the token can access */
  project?: string | undefined;
  /** Status, for example `"running"`. @default any */
  status?: InstanceStatus | undefined;
  /** Labels that an instance must have, with their values. @default any */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** Filters of {@link getInstancesOutput}. An instance must match all filters. Each filter can be an output. */
export interface GetInstancesOutputArgs {
  /** Id of the project, such as `project.id`. @default all projects that the token can access */
  project?: pulumi.Input<string | undefined>;
  /** Status, for example `"running"`. @default any */
  status?: pulumi.Input<InstanceStatus | undefined>;
  /** Labels that an instance must have, with their values. @default any */
  labels?: pulumi.Input<Record<string, pulumi.Input<string>> | undefined>;
}

/** An instance in the result of {@link getInstances}. Fields that the service doesn't return are omitted. */
export interface GetInstancesInstance {
  /** Id of the instance. You can pass the id to `Instance.get` or the `import` option. */
  readonly id: string;
  /** Id of the project that contains the instance. */
  readonly project?: string | undefined;
  /** Name. */
  readonly name?: string | undefined;
  /** Image, as normalized by the service. */
  readonly image?: string | undefined;
  /** Flavor (size), as normalized by the service. */
  readonly flavor?: string | undefined;
  /** Network, as normalized by the service. */
  readonly network?: string | undefined;
  /** Mode of the public address, for example `"auto"`. Some services return the address instead. */
  readonly publicIp?: PublicIp | undefined;
  /** SSH public keys, one line each. */
  readonly sshKeys?: readonly string[] | undefined;
  /** All labels, including those that no program manages. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Status, for example `"running"`. */
  readonly status?: InstanceStatus | undefined;
  /** Time of the creation (ISO 8601, UTC). */
  readonly createdAt?: string | undefined;
  /** Revision. */
  readonly revision?: string | undefined;
  /** URL of the instance in the API. */
  readonly url?: string | undefined;
  /** Public IP address, if the instance has one. */
  readonly ipAddress?: string | undefined;
}

/** The instances that match all filters. */
export type GetInstancesResult = GetInstancesInstance[];

/** A project in the result of {@link getProjects}. Fields that the service doesn't return are omitted. */
export interface GetProjectsProject {
  /** Id of the project. You can pass the id to `Project.get` or the `import` option. */
  readonly id: string;
  /** Name. */
  readonly name?: string | undefined;
  /** Region, as normalized by the service. */
  readonly region?: string | undefined;
  /** Description. */
  readonly description?: string | undefined;
  /** Time of the creation (ISO 8601, UTC). */
  readonly createdAt?: string | undefined;
}

/** The projects that the token can access. */
export type GetProjectsResult = GetProjectsProject[];

/** Options of {@link getInstances} and {@link getProjects}. */
export interface FunctionOptions {
  /** Explicit provider to use. @default the provider of `parent`, or the default provider */
  provider?: Provider | undefined;
  /** Resource, such as a component, whose provider the function uses. @default none */
  parent?: pulumi.Resource | undefined;
}

/** Options of {@link getInstancesOutput} and {@link getProjectsOutput}. */
export interface FunctionOutputOptions extends FunctionOptions {
  /**
   * Resources that must be up to date before the request is sent. A component includes all its children. If a preview creates or updates
   * one of these resources, the result is unknown.
   * @default none
   */
  dependsOn?: DependsOn | undefined;
}

/**
 * Lists all instances that match the filters. The request is sent immediately, even in a preview, so the endpoint and a token must be set.
 *
 * @param args filters. @default all instances that the token can access
 * @param options the provider to use
 * @throws CloudInfraError with a `code`. For example, `input_invalid` means that an argument is invalid, and `config_missing` means that a
 * setting is missing or is not known yet in a preview
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

/** @param secrets names of the arguments that messages must not contain */
async function instances(
  args: GetInstancesArgs,
  { setting, ownerOf }: SettingsOf,
  secrets?: readonly string[],
): Promise<GetInstancesResult> {
  const { findInstances, instanceFilter, sessionsOf } = await import("../provider/functions.js");
  const { found: given } = currentRun();
  if (given !== undefined) return [...given.instances(instanceFilter(args, secrets))];
  return findInstances(setting, args, sessionsOf(ownerOf(), environmentOfRun()), secrets);
}

/**
 * Lists all instances that match the filters, like {@link getInstances}. The arguments can be outputs, and the result is an output. The
 * request is sent when all arguments are known. If an argument is unknown in a preview, so is the result. An error ends the program.
 *
 * @param args filters. @default all instances that the token can access
 * @param options the provider to use, and the resources to wait for
 *
 * @example
 * ```ts
 * const addresses = getInstancesOutput({ project: project.id }, { dependsOn: [web] }).apply((all) =>
 *   all.map(({ ipAddress }) => ipAddress),
 * );
 * ```
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
 * Lists all projects that the token can access. Sends the request immediately, even in a preview, so the endpoint and a token must be set.
 *
 * @param options the provider to use
 * @throws CloudInfraError with a `code`. For example, `config_missing` means that a setting is missing or is not known yet in a preview
 *
 * @example
 * ```ts
 * const names = (await getProjects()).map(({ name }) => name);
 * ```
 */
export function getProjects(options: FunctionOptions = {}): Promise<GetProjectsResult> {
  return found(async () => projects(await knownSettings("getProjects", options)));
}

async function projects({ setting, ownerOf }: SettingsOf): Promise<GetProjectsResult> {
  const { found: given } = currentRun();
  if (given !== undefined) return [...given.projects];
  const { findProjects, sessionsOf } = await import("../provider/functions.js");
  return findProjects(setting, sessionsOf(ownerOf(), environmentOfRun()));
}

/**
 * Lists all projects that the token can access, like {@link getProjects}. The result is an output. The request is sent when the resources
 * in `dependsOn` exist. An error ends the program.
 *
 * @param options the provider to use, and the resources to wait for
 *
 * @example
 * ```ts
 * const count = getProjectsOutput({ dependsOn: [project] }).apply((all) => all.length);
 * ```
 */
export function getProjectsOutput(options: FunctionOutputOptions = {}): pulumi.Output<GetProjectsResult> {
  const given = pulumi.all([settingsOf(options), whenCreated(options.dependsOn)]);
  return awaited(given.apply(([settings]) => found(() => projects(settings))));
}

/** The settings for a function, and the owner of its client. `ownerOf` is a function because an output would copy the owner. */
interface SettingsOf {
  readonly setting: Configuration;
  readonly ownerOf: () => object;
}

/** The options of Pulumi's own functions that are accepted but have no effect. */
const FURTHER_OPTIONS = ["version", "pluginDownloadURL", "async"];

/** Returns the settings of the explicit provider or of the stack. The output is unknown while an argument of the provider is unknown. */
function settingsOf(options: FunctionOptions): pulumi.Output<SettingsOf> {
  requireKnownNames(options, ["provider", "parent", "dependsOn"], ["option", ""], FURTHER_OPTIONS);
  const explicit = options.provider ?? (options.parent && providersOf(options.parent).find(inputsOf));
  const inputs = inputsOf(explicit);
  if (explicit === undefined || inputs === undefined)
    return pulumi.output({ setting: (key: string) => pulumi.runtime.getConfig(key), ownerOf: currentRun });
  // The result isn't secret, even if the token is secret.
  const texts = pulumi.unsecret(pulumi.output(inputs));
  return texts.apply((known) => ({ setting: (key: string) => known[key], ownerOf: () => explicit }));
}

async function knownSettings(name: string, options: FunctionOptions): Promise<SettingsOf> {
  const settings = await resolved(settingsOf(options));
  if (settings !== undefined) return settings;
  const message = `cloudinfra: ${name}: this preview doesn't know the provider's settings yet. Use ${name}Output, whose result is then unknown`;
  throw new CloudInfraError("config_missing", message);
}

/** Runs a search. A `CloudInfraError` is marked as a `RunError`, because Pulumi prints such errors without a stack trace. */
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
  resolved(output).then(end, end); // an error stays in the output
  return output;
}

/**
 * Keeps an inline program of the Automation API running. Otherwise, the program might end before the result arrives, and the engine would
 * delete resources that the program declares later.
 *
 * @returns a function to call with the result; the program may end once the code that awaits the result has continued
 */
function keepProgramRunning(): () => void {
  const done = pulumi.runtime.rpcKeepAlive();
  return () => void setImmediate(done);
}
