import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, realpathSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { typeTokens } from "../package";
import { within } from "../polling/clock";
import type { FoundInstance, FoundProject, InstanceFilter } from "../provider/functions";

// This file contains all uses of SDK members that are missing from the SDK's types. All supported SDK versions have the same members.

/** The `dependsOn` option of a function, which accepts the same values as the `dependsOn` option of a resource. */
export type DependsOn =
  | pulumi.Input<pulumi.Resource>
  | pulumi.Input<readonly pulumi.Input<pulumi.Resource>[]>;

/**
 * Returns an output that resolves after the engine has created or updated the resources, including all children of components. In a preview
 * that creates or updates one of the resources, the output is unknown.
 */
export function whenCreated(dependsOn: DependsOn | undefined): pulumi.Output<unknown> {
  const given: pulumi.Output<unknown> = pulumi.output(dependsOn);
  return given.apply((value) => created(resourcesIn(value)));
}

function created(resources: readonly pulumi.Resource[], before = 0): pulumi.Output<unknown> {
  return pulumi.output(withChildren(resources)).apply((all) => {
    const ends = pulumi.all(all.map(endOf));
    // A component may declare a child only after the id of another child has resolved.
    return all.length === before ? ends : ends.apply(() => created(resources, all.length));
  });
}

/** Returns an output that is unknown in any preview that creates, replaces or updates the resource. */
function endOf(resource: pulumi.Resource): pulumi.Output<unknown> {
  if (!pulumi.CustomResource.isInstance(resource)) return resource.urn;
  if (pulumi.resourceType(resource) !== typeTokens.instance) return resource.id;
  // In a preview that updates an instance, the id is known, but the URL is unknown. The URL is secret if the name is secret.
  return pulumi.unsecret(pulumi.output<unknown>(Reflect.get(resource, "url")));
}

function resourcesIn(value: unknown): pulumi.Resource[] {
  const values: unknown[] = [value].flat().filter((one) => one !== undefined);
  if (values.every((one) => pulumi.Resource.isInstance(one))) return values;
  throw new pulumi.RunError("cloudinfra: dependsOn: must be a resource or a list of resources");
}

/** Returns the given resources and all descendants of local components. The children of remote components are not included. */
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

/** Returns the parent of a resource, or `undefined` for the stack. */
export function parentOf(resource: pulumi.Resource): pulumi.Resource | undefined {
  const parent: unknown = Reflect.get(resource, "__parentResource");
  return pulumi.Resource.isInstance(parent) ? parent : undefined;
}

/** Returns the explicit providers of a resource. A component's map of providers may contain any names. */
export function providersOf(resource: pulumi.Resource): pulumi.Resource[] {
  const own = resource.getProvider("pulumi-nodejs:index:Provider");
  const all: unknown[] = [own, ...Object.values(Object(Reflect.get(resource, "__providers")))];
  return all.filter((one) => pulumi.Resource.isInstance(one));
}

/** Returns the URNs of a resource's own aliases. */
export function aliasesOf(resource: pulumi.Resource): pulumi.Input<pulumi.URN>[] {
  const aliases: unknown = Reflect.get(resource, "__aliases");
  return Array.isArray(aliases) ? aliases : [];
}

/** Resolves to the value of an input without its dependencies, or to `undefined` if the value is unknown. */
export async function resolved<T>(input: pulumi.Input<T>): Promise<pulumi.Unwrap<T> | undefined> {
  const output: object = pulumi.Output.isInstance(input) ? input : pulumi.output(input);
  return Reflect.apply(Reflect.get(output, "promise"), output, []);
}

/** The organization name that Pulumi uses in backends without organizations, such as a folder. */
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

/** Returns the relative path of the project file's folder, if the program's folder is outside of that folder (`main: ../…`). */
export function projectFolder(): string | undefined {
  const root = pulumi.getRootDirectory();
  if (!path.isAbsolute(root) || !isOutside(root) || !existsSync(root)) return undefined; // an inline program has none
  const real = realpathSync(root);
  return isOutside(real) ? path.relative(process.cwd(), real) : undefined;
}

function isOutside(folder: string): boolean {
  return path.relative(folder, process.cwd()).split(path.sep)[0] === "..";
}

export interface Given {
  readonly props: pulumi.Inputs;
  readonly opts: pulumi.CustomResourceOptions;
}

/**
 * Returns a transformation that calls `finish` after all other transformations of the resource, its parents and the stack. This
 * transformation must be the first in the option `transformations`.
 *
 * The SDK runs the transformations in a list of the resource, so a transformation can append another transformation.
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

/** The state of all copies of this package in one run of a program. With the Automation API, a process may run several programs at once. */
export interface Run {
  hasWarnedOfToken: boolean;
  /** The URNs and objects of the resources that the engine has registered. */
  readonly registered: Set<string>;
  /** Is aborted when the engine has finished all its work successfully. Missing in the run of an earlier version of this package. */
  success?: AbortController;
  /** The removals of journal entries that the program hasn't finished yet. */
  removals?: Set<Promise<void>>;
  /** In unit tests, the objects that functions return instead of sending requests. */
  found?: {
    readonly instances: (filter: InstanceFilter) => readonly FoundInstance[];
    readonly projects: readonly FoundProject[];
  };
  /** The environment from which settings are read. The testing kit sets this property for inline programs. @default process.env */
  environment?: NodeJS.ProcessEnv;
}

const RUN = Symbol.for("pulumi-cloudinfra.run");

/** Holds the state of programs that run without an engine. */
const NO_ENGINE = {};

export function currentRun(): Run {
  const owner: object = pulumi.runtime.getStackResource() ?? pulumi.runtime.getMonitor() ?? NO_ENGINE;
  const known: Run | undefined = Reflect.get(owner, RUN);
  if (known !== undefined) return known;
  const run: Run = { hasWarnedOfToken: false, registered: new Set() };
  Reflect.set(owner, RUN, run);
  return run;
}

export function environmentOfRun(): NodeJS.ProcessEnv {
  return currentRun().environment ?? process.env;
}

/** The time within which the engine ends after a second Ctrl-C, in milliseconds. */
const TERMINATION_MS = 5_000;

/**
 * Runs a function when the engine has certainly saved a resource whose `id` has resolved: at the end of a successful run, or after a few
 * seconds if the engine still runs. After a second Ctrl-C, the engine returns the ids of resources that it doesn't save, and ends.
 */
export async function whenSaved(work: () => Promise<void>): Promise<void> {
  const run = currentRun();
  if (!(await isSaved(run, Object(pulumi.runtime.getMonitor())))) return;
  const removal = work();
  run.removals ??= new Set();
  run.removals.add(removal);
  await removal.finally(() => run.removals?.delete(removal));
}

async function isSaved(run: Run, monitor: object): Promise<boolean> {
  const wait: unknown = Reflect.get(monitor, "waitForReady");
  if (typeof wait !== "function") return true; // there is no engine
  run.success ??= new AbortController();
  const { signal } = run.success;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, TERMINATION_MS).unref();
  signal.addEventListener("abort", () => resolve());
  if (!signal.aborted) await promise;
  clearTimeout(timer);
  if (signal.aborted) return true;
  return new Promise((answer) => {
    Reflect.apply(wait, monitor, [Date.now() + 1_000, (error: unknown) => answer(!error)]);
  });
}

const AFTER_RUN = Symbol.for("pulumi-cloudinfra.afterRun");
const MAX_WORK_MS = 10_000;

/**
 * Runs a function after the engine has finished all its work, including deletions, and before the program ends. If the program or the
 * engine fails, the function is skipped. Only the first call in a run has an effect.
 *
 * This wraps the SDK's last request, which both CLI programs and inline programs send.
 */
export function afterRun(work: () => Promise<void>): void {
  const monitor: object | undefined = pulumi.runtime.getMonitor();
  if (monitor === undefined || AFTER_RUN in monitor) return;
  const signal: unknown = Reflect.get(monitor, "signalAndWaitForShutdown");
  if (typeof signal !== "function") return;
  const signalAndWaitForShutdown = (request: unknown, callback: (error: unknown, reply: unknown) => void) => {
    const answered = async (error: unknown, reply: unknown): Promise<void> => {
      if (!error) {
        const run = currentRun();
        run.success?.abort();
        await setImmediate(); // all removals begin
        const all = Promise.all([work(), ...(run.removals ?? [])]);
        const done = within(AbortSignal.timeout(MAX_WORK_MS), all);
        await done.catch((failure) => void pulumi.log.debug(`cloudinfra: ${failure}`)); // the program has succeeded
      }
      callback(error, reply);
    };
    Reflect.apply(signal, monitor, [request, AsyncLocalStorage.bind(answered)]);
  };
  Object.assign(monitor, { [AFTER_RUN]: true, signalAndWaitForShutdown });
}
