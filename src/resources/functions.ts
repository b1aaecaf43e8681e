import * as pulumi from "@pulumi/pulumi";
import { type DependsOn, known } from "./depends-on";
import { namesOfSecrets } from "./hidden-inputs";
import { currentRun } from "./run";
import { resolved } from "./sdk";

/** Which settings a function uses. */
export interface ProfileArgs {
  /** Profile of settings (`cloudinfra:profiles`). @default the settings without a profile */
  profile?: string | undefined;
}

/** The filters of {@link getInstances}. An instance must match all of them. */
export interface GetInstancesArgs extends ProfileArgs {
  /** Id of the project. @default every project that the token may see */
  project?: string | undefined;
  /** Status, for example `"running"`. @default any */
  status?: string | undefined;
  /** Labels that an instance must have, with these values. @default any */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** {@link GetInstancesArgs} that may be outputs. */
export interface GetInstancesOutputArgs extends ProfileArgs {
  /** Id of the project: `project.id`. @default every project that the token may see */
  project?: pulumi.Input<string | undefined>;
  /** Status, for example `"running"`. @default any */
  status?: pulumi.Input<string | undefined>;
  /** Labels that an instance must have, with these values. @default any */
  labels?: pulumi.Input<Record<string, pulumi.Input<string>> | undefined>;
}

/** An instance as the service returns it. Fields that the service doesn't return are left out. */
export interface FoundInstance {
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
  readonly publicIp?: string | undefined;
  /** Its SSH public keys, one line each. */
  readonly sshKeys?: readonly string[] | undefined;
  /** All its labels, including those that no program manages. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Its status, for example `"running"`. */
  readonly status?: string | undefined;
  /** When the service created it (ISO 8601, UTC). */
  readonly createdAt?: string | undefined;
  /** Its revision. */
  readonly revision?: string | undefined;
  /** Its address at the service. */
  readonly url?: string | undefined;
  /** Its public IP address, if it has one. */
  readonly ipAddress?: string | undefined;
}

/** A project as the service returns it. Fields that the service doesn't return are left out. */
export interface FoundProject {
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

/** Options of the `…Output` forms of the functions. */
export interface LookupOptions {
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
 * @throws Error with the code `input_invalid` in its message if an argument is wrong, for example a label whose value is undefined; and
 * other errors that say what failed and what to do
 */
export function getInstances(args: GetInstancesArgs = {}): Promise<FoundInstance[]> {
  return instances(args);
}

/** @param secrets names of the arguments that must not be shown */
function instances(args: GetInstancesArgs, secrets?: readonly string[]): Promise<FoundInstance[]> {
  return found(async () => {
    const { findInstances, sessionsOf } = await import("../provider/looks/lookups.js");
    return findInstances(stackSetting, args, sessionsOf(currentRun()), secrets);
  });
}

/**
 * {@link getInstances} with outputs as arguments. The request is sent once they are known. Until then, the result is unknown in previews.
 * An error of {@link getInstances} ends the program.
 *
 * @param args the filters, which are combined @default every instance that the token may see
 * @param options what must exist before the request is sent
 */
export function getInstancesOutput(
  args: GetInstancesOutputArgs = {},
  options: LookupOptions = {},
): pulumi.Output<FoundInstance[]> {
  const given = pulumi.all([pulumi.output({ ...args }), known(options.dependsOn)]);
  return awaited(given.apply(async ([filters]) => instances(filters, await namesOfSecrets({ ...args }))));
}

/**
 * Lists every project that the token may see, from all pages. The request is sent at once, in previews too, so the endpoint
 * and the token must be set.
 *
 * @param args which settings to use @default the settings without a profile
 * @throws Error that says what failed and what to do
 */
export function getProjects(args: ProfileArgs = {}): Promise<FoundProject[]> {
  return found(async () => {
    const { findProjects, sessionsOf } = await import("../provider/looks/lookups.js");
    return findProjects(stackSetting, args, sessionsOf(currentRun()));
  });
}

/**
 * {@link getProjects} as an output. The request is sent once the resources of `dependsOn` exist. An error of {@link getProjects} ends the
 * program.
 *
 * @param options which settings to use, and what must exist before the request is sent
 */
export function getProjectsOutput(options: LookupOptions & ProfileArgs = {}): pulumi.Output<FoundProject[]> {
  const { dependsOn, ...args } = options;
  return awaited(known(dependsOn).apply(() => getProjects(args)));
}

const stackSetting = (key: string): string | undefined => {
  const [namespace = "", name = ""] = key.split(":");
  return new pulumi.Config(namespace).get(name);
};

/** Runs a search. Pulumi prints its failure without a stack trace. */
async function found<T>(search: () => Promise<T[]>): Promise<T[]> {
  const end = keepProgramRunning();
  try {
    return await search();
  } catch (error) {
    throw new pulumi.RunError(error instanceof Error ? error.message : String(error));
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
