import { createRequire } from "node:module";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { hiddenInputs, isManaged } from "./hidden-inputs";
import { currentRun } from "./run";
import { type Given, lastTransformation } from "./sdk";
import { confirmOnceSaved, recordRegistration, watchForUnsettled } from "./unfinished-creations";

/** What a resource class declares. */
export interface DynamicResource {
  /** The export of `pulumi-cloudinfra/provider` that serves the resource. */
  readonly provider: "project" | "instance";
  readonly type: string;
  /** Names of all outputs. The SDK resolves only those that it gets from the constructor. */
  readonly outputs: readonly string[];
  /** Names of the outputs that are always secret. */
  readonly secretOutputs: readonly string[];
}

/** Whether an object is a resource of a type. Pulumi's policies ask for a type without a resource. */
export function isOfType(object: unknown, type: string): boolean {
  return (
    typeof object === "object" && object !== null && "__pulumiType" in object && object.__pulumiType === type
  );
}

/** A resource while the SDK's constructor runs. */
export interface Construction {
  /** The options to pass to the SDK's constructor. With them, it calls this package after all transformations. */
  readonly options: pulumi.CustomResourceOptions;
  /** Returns the options as the transformations have left them. */
  finalOptions(): pulumi.CustomResourceOptions;
  /** Call it if the constructor fails. Returns the error with the stack trace of the program's own call. */
  failed(error: unknown, resource: new (...args: never[]) => unknown): unknown;
  /** Call it when the constructor has ended, however it has. */
  end(): void;
}

/**
 * Prepares the construction of a resource. Transformations may change arguments and options, so the properties that the engine gets,
 * with the outputs and the hidden inputs, are put together only after them.
 *
 * @throws Error if the program's folder doesn't resolve this package
 */
export function beginConstruction(
  resource: DynamicResource,
  name: string,
  options: pulumi.CustomResourceOptions,
): Construction {
  requireProviderFromProgram(name);
  warnOfTokenInClear();
  watchForUnsettled();
  let traces: ShortTraces | undefined;
  let final: pulumi.CustomResourceOptions | undefined;
  const finish = ({ props, opts }: Given): Given => {
    final = opts;
    traces = shortTraces(!isManaged(opts));
    return completed(resource, name, { props, opts });
  };
  return {
    options: {
      ...options,
      transformations: [lastTransformation(finish), ...(options.transformations ?? [])],
    },
    finalOptions() {
      if (final !== undefined) return final;
      throw new Error(
        "cloudinfra: this version of @pulumi/pulumi is not supported: it has not run transformations",
      );
    },
    failed: (error, type) => traces?.failed(error, type) ?? error,
    end: () => traces?.end(),
  };
}

/** Follows a resource after the SDK's constructor: until the engine has registered it, and then until the engine has saved it. */
export function afterConstruction(resource: pulumi.CustomResource, construction: Construction): void {
  if (pulumi.runtime.isDryRun() || !isManaged(construction.finalOptions())) return;
  void recordRegistration(resource);
  confirmOnceSaved(resource);
}

/** The properties and options with which the SDK registers the resource. */
function completed(resource: DynamicResource, name: string, given: Given): Given {
  const { props } = given;
  const opts = withNamedArguments(resource, given.opts);
  const { import: imported, ...options } = opts; // the host can't import, so the provider gets the id as an input
  if (imported !== undefined && !isManaged(opts)) {
    throw new Error(
      `cloudinfra: "${name}" has the option \`import\` and the option \`id\` or \`urn\`. Use \`import\` to manage the object, ` +
        "or `get` to only read it",
    );
  }
  const secrets = [...(opts.additionalSecretOutputs ?? []), ...resource.secretOutputs];
  return {
    props: {
      ...Object.fromEntries(resource.outputs.map((output) => [output, undefined])),
      ...props,
      ...hiddenInputs({ ...resource, name, props, opts }),
    },
    opts: { ...options, additionalSecretOutputs: secrets },
  };
}

/** In `ignoreChanges`, `*` would also make the engine keep the hidden inputs of an earlier run, such as a former URN. */
function withNamedArguments(
  { outputs }: DynamicResource,
  { ignoreChanges, ...opts }: pulumi.CustomResourceOptions,
): pulumi.CustomResourceOptions {
  const named = ignoreChanges?.flatMap((path) => (path === "*" || path === "[*]" ? outputs : path));
  return named === undefined ? opts : { ...opts, ignoreChanges: named };
}

/**
 * Checks that the provider process can load this package. It resolves the package from the program's folder, from the next `up` to the last
 * `destroy`, and its own error would not say what to do.
 *
 * @throws Error that says what to add, if the program's folder doesn't resolve `pulumi-cloudinfra`
 */
function requireProviderFromProgram(resourceName: string): void {
  try {
    createRequire(path.join(process.cwd(), "index.js")).resolve("pulumi-cloudinfra/provider");
  } catch (cause) {
    throw new Error(
      `cloudinfra: "${resourceName}" can't be managed, because the program's folder (${process.cwd()}) does not resolve ` +
        "the package pulumi-cloudinfra. Add it to the dependencies of the package.json there, also where only a library " +
        "of yours uses it (npm install pulumi-cloudinfra), and keep it until the last resource is deleted.",
      { cause },
    );
  }
}

const SECRETS = ["token", "oidcClientSecret"];

/** Warns once in each run of a program if a token or a client secret is in plaintext in the stack's settings file. */
export function warnOfTokenInClear(): void {
  const run = currentRun();
  if (run.hasWarnedOfToken) return;
  run.hasWarnedOfToken = true;
  const settings = new pulumi.Config("cloudinfra");
  const inClear = (name: string): string | undefined =>
    isSecretSetting(`cloudinfra:${name}`) ? undefined : settings.get(name);
  for (const name of SECRETS) if (inClear(name) !== undefined) warn(`cloudinfra:${name}`);
}

function warn(setting: string): void {
  void pulumi.log.warn(
    `cloudinfra: ${setting} is stored in plaintext in the stack's settings file. ` +
      `Set it as a secret with \`pulumi config set --secret ${setting}\`. If the file was shared, renew the token.`,
  );
}

/** Reports whether a setting is secret. If a version of the SDK doesn't tell, nobody is warned without reason. */
function isSecretSetting(key: string): boolean {
  const isConfigSecret: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof isConfigSecret === "function" ? isConfigSecret(key) === true : true;
}

/**
 * Makes stack traces empty until it is ended. The SDK takes four stack traces for each property of a resource, to report promises that never
 * resolve. In a program with many resources, nothing else takes as long. The SDK determines a resource's position in the program with a
 * limit of its own.
 *
 * @param isLookedUp whether the resource is only read: the SDK then creates the error for a missing object in advance, and it needs its trace
 */
export function shortTraces(isLookedUp: boolean): ShortTraces {
  const before = Error.stackTraceLimit;
  // An assignment would throw if a program has frozen the intrinsics.
  const end = (): void => void Reflect.set(Error, "stackTraceLimit", before);
  if (!isLookedUp) Reflect.set(Error, "stackTraceLimit", 0);
  return {
    end,
    failed: (error, resource) => {
      end();
      if (error instanceof Error) Error.captureStackTrace(error, resource);
      return error;
    },
  };
}

export interface ShortTraces {
  /** Restores the former limit. */
  end(): void;
  /** Restores the former limit, and gives the error the stack trace of the constructor's caller. */
  failed(error: unknown, resource: new (...args: never[]) => unknown): unknown;
}
