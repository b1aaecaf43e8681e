import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, realpathSync } from "node:fs";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";

// How to get at what the SDK knows. This is the only file that uses parts of the SDK that its types leave out. They are the same in all
// versions that this package supports.

/** Waits until a component's constructor, and its `initialize` method, have ended. */
export async function constructed(component: pulumi.ComponentResource): Promise<void> {
  await Reflect.get(component, "__data");
}

/** Returns the children that a component has declared so far. */
export function childrenOf(component: pulumi.Resource): Iterable<pulumi.Resource> {
  const children: unknown = Reflect.get(component, "__childResources");
  return children instanceof Set ? children : [];
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

/** The name that backends without organizations, such as those in files, use for all stacks. */
export const NO_ORGANIZATION = "organization";

/** Returns the organization of the stack, or `undefined` if it has none. */
export function organizationOfStack(): string | undefined {
  try {
    const name = pulumi.getOrganization();
    return name === NO_ORGANIZATION ? undefined : name;
  } catch {
    return undefined; // the SDK throws if it doesn't know the organization, for example in unit tests
  }
}

/** Returns the folder of Pulumi's project file, from the program's folder, if that isn't in it: `main` may lead out of it. */
export function projectFolder(): string | undefined {
  const root = pulumi.getRootDirectory();
  if (!path.isAbsolute(root) || !isOutside(root) || !existsSync(root)) return undefined; // an inline program doesn't know it
  const real = realpathSync(root);
  return isOutside(real) ? path.relative(process.cwd(), real) : undefined;
}

/** Whether the program's folder is neither a folder nor below it. */
function isOutside(folder: string): boolean {
  return path.relative(folder, process.cwd()).split(path.sep)[0] === "..";
}

/** A resource's arguments and options. */
export interface Given {
  readonly props: pulumi.Inputs;
  readonly opts: pulumi.CustomResourceOptions;
}

/**
 * Returns a transformation that calls `finish` after all other transformations have run: those of the resource, of its parents and of the
 * stack. Put it first in the option `transformations`.
 *
 * The SDK loops over a list that it has stored in the resource, so a transformation can append another one while the loop runs.
 */
export function lastTransformation(finish: (given: Given) => Given): pulumi.ResourceTransformation {
  let owner: pulumi.Resource | undefined;
  return function first({ resource, props, opts }) {
    owner ??= resource;
    if (resource !== owner) return undefined; // another transformation passed these options on to a resource of its own
    const all: unknown = Reflect.get(resource, "__transformations");
    if (!Array.isArray(all)) return finish({ props, opts });
    all.push((final: Given) => {
      all.pop();
      all.splice(all.indexOf(first), 1); // the resource's children inherit what stays
      return finish(final);
    });
    return undefined;
  };
}

const AFTER_RUN = Symbol.for("pulumi-cloudinfra.afterRun");
const MAX_WORK_MS = 10_000;

/**
 * Does some work after the engine has done everything that the program asked for, deletions included, and before the program ends. The
 * work is left out if the program or the engine fails. Only the first call for a run counts, even if there are several copies of this package.
 *
 * At that point, programs of the CLI and inline programs send the same last request, so it is sent from here.
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
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, late]);
  } catch (error) {
    void pulumi.log.debug(`cloudinfra: ${error instanceof Error ? error.message : error}`); // the program has succeeded
  } finally {
    clearTimeout(timer);
  }
}
