import { createRequire } from "node:module";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { secretSettings } from "../config/settings";
import { hiddenInputs, isManaged } from "./hidden-inputs";
import { currentRun, type Given, lastTransformation } from "./sdk";
import { confirmOnceSaved, recordRegistration, watchForUnfinished } from "./unfinished-creations";

export interface DynamicResource {
  /** The name of the export of `pulumi-cloudinfra/provider` that implements the resource. */
  readonly provider: "project" | "instance";
  readonly type: string;
  /** The names of all outputs. The SDK resolves only the outputs that the constructor passes to the SDK. */
  readonly outputs: readonly string[];
  /** The names of the outputs that are always secret. */
  readonly secretOutputs: readonly string[];
}

/** Reports whether an object is a resource of a type. For policies, Pulumi passes an object that contains only the type. */
export function isOfType(object: unknown, type: string): boolean {
  return (
    typeof object === "object" && object !== null && "__pulumiType" in object && object.__pulumiType === type
  );
}

/**
 * Prepares the construction of a resource. Transformations may change arguments and options, so outputs and hidden inputs are added after
 * all transformations.
 *
 * @throws Error if the program's folder doesn't resolve this package
 */
export function beginConstruction(
  resource: DynamicResource,
  name: string,
  options: pulumi.CustomResourceOptions,
) {
  requireProviderFromProgram(name);
  warnOfTokenInClear();
  watchForUnfinished();
  let traces: ReturnType<typeof shortTraces> | undefined;
  let final: pulumi.CustomResourceOptions | undefined;
  const finish = ({ props, opts }: Given): Given => {
    final = opts;
    traces = shortTraces(!isManaged(opts));
    return completed(resource, name, { props, opts });
  };
  return {
    /** The options for the SDK's constructor, including a transformation that runs after all other transformations. */
    options: {
      ...options,
      transformations: [lastTransformation(finish), ...(options.transformations ?? [])],
    },
    /** Returns the error of the SDK's constructor with the stack trace of the program's own call. */
    failed: (error: unknown, type: new (...args: never[]) => unknown): unknown =>
      traces?.failed(error, type) ?? error,
    /**
     * Must be called after the SDK's constructor. Records the resource after its registration, and removes its journal entry after the
     * engine has saved the resource.
     */
    succeeded(constructed: pulumi.CustomResource): void {
      traces?.end();
      if (pulumi.runtime.isDryRun()) return;
      if (final === undefined)
        throw new Error(
          "cloudinfra: this version of @pulumi/pulumi is not supported, because it has not run the transformations",
        );
      if (!isManaged(final)) return;
      void recordRegistration(constructed);
      confirmOnceSaved(constructed);
    },
  };
}

/** Returns the properties and options with which the SDK registers the resource. */
function completed(resource: DynamicResource, name: string, { props, ...given }: Given): Given {
  // With `*`, the engine would also keep outdated hidden inputs, such as a former URN.
  const ignoreChanges = given.opts.ignoreChanges?.flatMap((path) =>
    path === "*" || path === "[*]" ? resource.outputs : path,
  );
  const opts = { ...given.opts, ...(ignoreChanges && { ignoreChanges }) };
  const { import: imported, ...options } = opts; // Pulumi's host doesn't pass the option `import`
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

/**
 * Checks that the provider process can load this package from the program's folder. Otherwise, that process would fail without a useful
 * hint.
 *
 * @throws Error if the program's folder doesn't resolve `pulumi-cloudinfra`
 */
function requireProviderFromProgram(resourceName: string): void {
  try {
    createRequire(path.join(process.cwd(), "index.js")).resolve("pulumi-cloudinfra/provider");
  } catch (cause) {
    throw new Error(
      `cloudinfra: "${resourceName}" can't be managed, because the program's folder (${process.cwd()}) does not resolve ` +
        "the package pulumi-cloudinfra. Run `npm install pulumi-cloudinfra` there, even if only a library of yours uses the package, " +
        "and keep it until the last resource is deleted.",
      { cause },
    );
  }
}

/** Warns once per program run if a token or a client secret is stored in plaintext in the stack's settings file. */
export function warnOfTokenInClear(): void {
  const run = currentRun();
  if (run.hasWarnedOfToken) return;
  run.hasWarnedOfToken = true;
  const config = new pulumi.Config("cloudinfra");
  for (const name of secretSettings) {
    const setting = `cloudinfra:${name}`;
    if (isEncrypted(setting) || config.get(name) === undefined) continue;
    void pulumi.log.warn(
      `cloudinfra: ${setting} is stored in plaintext in the stack's settings file. ` +
        `Set it as a secret with \`pulumi config set --secret ${setting}\`. If the file was shared, renew the token.`,
    );
  }
}

/** Reports whether a setting is encrypted. Returns `true` if the SDK doesn't provide this information. */
function isEncrypted(key: string): boolean {
  const isConfigSecret: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof isConfigSecret === "function" ? isConfigSecret(key) === true : true;
}

/**
 * Disables stack traces until `end` is called. The SDK captures four stack traces for each property, to report promises that never resolve.
 * In a large program, these stack traces take most of the time.
 *
 * @param isLookedUp whether the resource is only read. The SDK then creates the error for a missing object in advance, with its stack trace
 */
export function shortTraces(isLookedUp: boolean) {
  const before = Error.stackTraceLimit;
  // An assignment would throw an error if the program has frozen the built-in objects.
  const end = (): void => void Reflect.set(Error, "stackTraceLimit", before);
  if (!isLookedUp) Reflect.set(Error, "stackTraceLimit", 0);
  return {
    end,
    /** Enables stack traces again, and sets the error's stack trace to that of the constructor's caller. */
    failed: (error: unknown, resource: new (...args: never[]) => unknown): unknown => {
      end();
      if (error instanceof Error) Error.captureStackTrace(error, resource);
      return error;
    },
  };
}
