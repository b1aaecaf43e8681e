import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, realpathSync } from "node:fs";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { typeTokens } from "../package";
import { limitOf, systemClock, within } from "../polling/clock";
import type { FoundInstance, FoundProject, InstanceFilter } from "../provider/functions";

// Only this file uses parts of the SDK that are missing from its types. They are the same in all supported versions.

/** The `dependsOn` option of a function, which takes the same values as that of a resource. */
export type DependsOn =
  | pulumi.Input<pulumi.Resource>
  | pulumi.Input<readonly pulumi.Input<pulumi.Resource>[]>;

/**
 * Resolves once the engine has created or updated these resources. A component stands for all its children, as in the `dependsOn` option of
 * resources. In a preview that creates or updates one of them, the output is unknown.
 */
export function whenCreated(dependsOn: DependsOn | undefined): pulumi.Output<unknown> {
  const given: pulumi.Output<unknown> = pulumi.output(dependsOn);
  return given.apply((value) => created(resourcesIn(value)));
}

function created(resources: readonly pulumi.Resource[], before = 0): pulumi.Output<unknown> {
  return pulumi.output(withChildren(resources)).apply((all) => {
    const ends = pulumi.all(all.map(endOf));
    // A component may declare a child only after the id of another one has resolved.
    return all.length === before ? ends : ends.apply(() => created(resources, all.length));
  });
}

/** Returns an output that is unknown in any preview that creates, replaces or updates the resource. */
function endOf(resource: pulumi.Resource): pulumi.Output<unknown> {
  if (!pulumi.CustomResource.isInstance(resource)) return resource.urn;
  if (pulumi.resourceType(resource) !== typeTokens.instance) return resource.id;
  // Such a preview knows the id of an updated instance. Every instance has a URL, which is secret if the name is.
  return pulumi.unsecret(pulumi.output<unknown>(Reflect.get(resource, "url")));
}

function resourcesIn(value: unknown): pulumi.Resource[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values
    .filter((one) => one !== undefined)
    .map((one) => {
      if (pulumi.Resource.isInstance(one)) return one;
      throw new pulumi.RunError("cloudinfra: dependsOn: must be a resource or a list of resources");
    });
}

/** Returns the resources and, recursively, the children of components that this program runs. A remote component is one resource. */
async function withChildren(
  resources: Iterable<pulumi.Resource>,
  found = new Set<pulumi.Resource>(),
): Promise<pulumi.Resource[]> {
  for (const resource of resources) {
    if (found.has(resource)) continue;
    found.add(resource);
    if (!pulumi.ComponentResource.isInstance(resource)) continue;
    await Reflect.get(resource, "__data"); // the end of its constructor and of its `initialize` method
    const children: unknown = Reflect.get(resource, "__childResources");
    if (children instanceof Set) await withChildren(children, found);
  }
  return [...found];
}

/** Returns a resource's parent; `undefined` for the stack. */
export function parentOf(resource: pulumi.Resource): pulumi.Resource | undefined {
  const parent: unknown = Reflect.get(resource, "__parentResource");
  return pulumi.Resource.isInstance(parent) ? parent : undefined;
}

/** Returns a resource's own aliases, as URNs. */
export function aliasesOf(resource: pulumi.Resource): pulumi.Input<pulumi.URN>[] {
  const aliases: unknown = Reflect.get(resource, "__aliases");
  return Array.isArray(aliases) ? aliases : [];
}

/**
 * Resolves to an input's value without its dependencies, or to `undefined` while the value is unknown.
 *
 * @throws Error if the input fails
 */
export async function resolved<T>(input: pulumi.Input<T>): Promise<pulumi.Unwrap<T> | undefined> {
  const output: object = pulumi.Output.isInstance(input) ? input : pulumi.output(input);
  return Reflect.apply(Reflect.get(output, "promise"), output, []);
}

/** The organization of all stacks in backends without organizations, such as a folder. */
export const NO_ORGANIZATION = "organization";

/** Returns the organization of the stack, or `undefined` if it has none. */
export function organizationOfStack(): string | undefined {
  try {
    const name = pulumi.getOrganization();
    return name === NO_ORGANIZATION ? undefined : name;
  } catch {
    return undefined; // the SDK throws if it has no organization, for example in unit tests
  }
}

/** Returns the folder of Pulumi's project file, relative to the program's folder, if that is outside of it (`main: ../…`). */
export function projectFolder(): string | undefined {
  const root = pulumi.getRootDirectory();
  if (!path.isAbsolute(root) || !isOutside(root) || !existsSync(root)) return undefined; // an inline program has none
  const real = realpathSync(root);
  return isOutside(real) ? path.relative(process.cwd(), real) : undefined;
}

/** Reports whether the program's folder is outside of a folder. */
function isOutside(folder: string): boolean {
  return path.relative(folder, process.cwd()).split(path.sep)[0] === "..";
}

/** A resource's arguments and options. */
export interface Given {
  readonly props: pulumi.Inputs;
  readonly opts: pulumi.CustomResourceOptions;
}

/**
 * Returns a transformation that calls `finish` after all other transformations: those of the resource, of its parents and of the stack. Put
 * it first in the option `transformations`.
 *
 * The SDK loops over a list that it has stored in the resource, so a transformation can append another one during the loop.
 */
export function lastTransformation(finish: (given: Given) => Given): pulumi.ResourceTransformation {
  let owner: pulumi.Resource | undefined;
  return function first({ resource, props, opts }) {
    owner ??= resource;
    if (resource !== owner) return undefined; // another transformation has passed these options to another resource
    const all: unknown = Reflect.get(resource, "__transformations");
    if (!Array.isArray(all)) return finish({ props, opts });
    all.push((final: Given) => {
      all.pop();
      all.splice(all.indexOf(first), 1); // the resource's children inherit the list
      return finish(final);
    });
    return undefined;
  };
}

/**
 * The state of this package during one run of one program. With the Automation API, a process may run several programs, even concurrently.
 * If a library contains another copy of this package, both copies share the state.
 */
export interface Run {
  hasWarnedOfToken: boolean;
  /** The URNs of the resources that the engine has registered, and their objects. */
  readonly registered: Set<string>;
  /** In unit tests, the objects that functions find instead of sending requests. */
  found?: {
    readonly instances: (filter: InstanceFilter) => readonly FoundInstance[];
    readonly projects: readonly FoundProject[];
  };
  /** The environment to read settings from. The testing kit sets it for inline programs. @default that of this process */
  environment?: NodeJS.ProcessEnv;
}

const RUN = Symbol.for("pulumi-cloudinfra.run");

const newRun = (): Run => ({ hasWarnedOfToken: false, registered: new Set() });

/** The run of a program without an engine. */
const alone = newRun();

/** Returns the run that the caller belongs to. */
export function currentRun(): Run {
  const owner: object | undefined = pulumi.runtime.getStackResource() ?? pulumi.runtime.getMonitor();
  if (owner === undefined) return alone;
  const known: unknown = Reflect.get(owner, RUN);
  if (isRun(known)) return known;
  const run = newRun();
  Reflect.set(owner, RUN, run);
  return run;
}

function isRun(value: unknown): value is Run {
  return (
    typeof value === "object" && value !== null && "registered" in value && value.registered instanceof Set
  );
}

/** Returns the environment that the settings of the current run come from. */
export function environmentOfRun(): NodeJS.ProcessEnv {
  return currentRun().environment ?? process.env;
}

const AFTER_RUN = Symbol.for("pulumi-cloudinfra.afterRun");
const MAX_WORK_MS = 10_000;

/**
 * Runs a function after the engine has finished all its work, including deletions, and before the program ends. Skips the function if the
 * program or the engine fails. Only the first call in a run counts, even if there are several copies of this package.
 *
 * It wraps the last request of the SDK, which programs of the CLI and inline programs both send at that point.
 */
export function afterRun(work: () => Promise<void>): void {
  const monitor: object | undefined = pulumi.runtime.getMonitor();
  if (monitor === undefined || AFTER_RUN in monitor) return;
  const signal: unknown = Reflect.get(monitor, "signalAndWaitForShutdown");
  if (typeof signal !== "function") return;
  const signalAndWaitForShutdown = (request: unknown, callback: (error: unknown, reply: unknown) => void) => {
    const answered = async (error: unknown, reply: unknown): Promise<void> => {
      if (!error) await atMost(MAX_WORK_MS, work());
      callback(error, reply);
    };
    Reflect.apply(signal, monitor, [request, AsyncLocalStorage.bind(answered)]);
  };
  Object.assign(monitor, { [AFTER_RUN]: true, signalAndWaitForShutdown });
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const limit = limitOf(ms, systemClock);
  try {
    await within(limit.signal, work);
  } catch (error) {
    void pulumi.log.debug(`cloudinfra: ${error instanceof Error ? error.message : error}`); // the program has succeeded
  } finally {
    limit.release();
  }
}
