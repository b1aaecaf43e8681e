import * as pulumi from "@pulumi/pulumi";

/** Whom a function asks. */
export interface ProfileArgs {
  /** Profile of settings (`cloudinfra:profiles`). @default the settings without a profile */
  profile?: string | undefined;
}

/** Which instances {@link getInstances} looks for; all that are given must hold (§4.4). */
export interface GetInstancesArgs extends ProfileArgs {
  /** Id of the project. @default every project that the token may see */
  project?: string | undefined;
  /** Status, for instance `"running"`. */
  status?: string | undefined;
  /** Labels that an instance must have, with these values. */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** {@link GetInstancesArgs} that may be outputs. */
export interface GetInstancesOutputArgs extends ProfileArgs {
  project?: pulumi.Input<string | undefined>;
  status?: pulumi.Input<string | undefined>;
  labels?: pulumi.Input<Record<string, pulumi.Input<string>> | undefined>;
}

/** An instance in the service's own words (§2.2); what the service does not tell is left out. */
export interface FoundInstance {
  readonly id: string;
  readonly project?: string | undefined;
  readonly name?: string | undefined;
  readonly image?: string | undefined;
  readonly flavor?: string | undefined;
  readonly network?: string | undefined;
  readonly publicIp?: string | undefined;
  readonly sshKeys?: readonly string[] | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly status?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly revision?: string | undefined;
  readonly url?: string | undefined;
  readonly ipAddress?: string | undefined;
}

/** A project in the service's own words (§2.1). */
export interface FoundProject {
  readonly id: string;
  readonly name?: string | undefined;
  readonly region?: string | undefined;
  readonly description?: string | undefined;
  readonly createdAt?: string | undefined;
}

/** Options of the functions' `…Output` forms. */
export interface LookupOptions {
  /** Resources that must be there before the service is asked; in a preview that makes one of them, the result is unknown. */
  dependsOn?: pulumi.Resource | readonly pulumi.Resource[];
}

/**
 * Every instance that matches, from all pages (§4.3, §4.4). The service is asked at once, in previews too, so endpoint and
 * token must be set.
 *
 * @throws Error that says what was wrong, and what to do
 */
export async function getInstances(args: GetInstancesArgs = {}): Promise<FoundInstance[]> {
  const { findInstances } = await import("../provider/lookups.js");
  return found(findInstances(stackSetting, args));
}

/** {@link getInstances} with outputs as arguments: asks once they are known, and is unknown in previews until then. */
export function getInstancesOutput(
  args: GetInstancesOutputArgs = {},
  options: LookupOptions = {},
): pulumi.Output<FoundInstance[]> {
  const { profile, project, status, labels } = args;
  return pulumi
    .all([pulumi.output({ project, status, labels }), ready(options)])
    .apply(([known]) => getInstances({ profile, ...known }));
}

/**
 * Every project that the token may see, from all pages (§4.3). The service is asked at once, in previews too, so endpoint and
 * token must be set.
 *
 * @throws Error that says what was wrong, and what to do
 */
export async function getProjects({ profile }: ProfileArgs = {}): Promise<FoundProject[]> {
  const { findProjects } = await import("../provider/lookups.js");
  return found(findProjects(stackSetting, undefined, profile));
}

/** {@link getProjects} as an output: asks once the resources of `dependsOn` are there. */
export function getProjectsOutput(options: LookupOptions & ProfileArgs = {}): pulumi.Output<FoundProject[]> {
  return ready(options).apply(() => getProjects(options));
}

const stackSetting = (key: string): string | undefined => {
  const [namespace = "", name = ""] = key.split(":");
  return new pulumi.Config(namespace).get(name);
};

/** A failure as the program's runner shows it: the words, without a stack of ours. */
async function found<T>(looking: Promise<T[]>): Promise<T[]> {
  try {
    return await looking;
  } catch (error) {
    throw new pulumi.RunError(error instanceof Error ? error.message : String(error));
  }
}

/** Known once these resources are. */
function ready({ dependsOn = [] }: LookupOptions): pulumi.Output<unknown> {
  const resources = pulumi.Resource.isInstance(dependsOn) ? [dependsOn] : [...dependsOn];
  return pulumi.all(
    resources.map((resource) => (pulumi.CustomResource.isInstance(resource) ? resource.id : resource.urn)),
  );
}
