import { createRequire } from "node:module";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { applicableSettings, secretSettings } from "../config/settings";
import type { UnfinishedEntry } from "../journal/entry";
import { hiddenInputs, isManaged } from "./hidden-inputs";
import {
  afterRun,
  currentRun,
  environmentOfRun,
  type Given,
  lastTransformation,
  organizationOfStack,
  projectFolder,
  resolved,
  whenSaved,
} from "./sdk";

export interface DynamicResource {
  /** The name of the export of `pulumi-cloudinfra/provider` that implements the resource. */
  readonly provider: "project" | "instance";
  readonly type: string;
  /** The names of all outputs. The SDK resolves only the outputs that the constructor passes to the SDK. */
  readonly outputs: readonly string[];
  readonly secretOutputs: readonly string[];
}

/** Reports whether an object is a resource of a type. For policies, Pulumi passes an object that contains only the type. */
export function isOfType(object: unknown, type: string): boolean {
  return (
    typeof object === "object" && object !== null && "__pulumiType" in object && object.__pulumiType === type
  );
}

/** Prepares a resource's construction. Adds outputs and hidden inputs after all transformations, which may change arguments and options. */
export function beginConstruction(
  resource: DynamicResource,
  name: string,
  options: pulumi.CustomResourceOptions,
) {
  requireProviderFromProgram(name);
  warnOfTokenInClear();
  watchForUnfinished();
  let restoreTraces: (() => void) | undefined;
  let isOurs = false;
  const finish = (given: Given): Given => {
    isOurs = isManaged(given.opts);
    restoreTraces = shortenTraces(!isOurs);
    return completed(resource, name, given);
  };
  return {
    /** The options for the SDK's constructor, including a transformation that runs after all other transformations. */
    options: {
      ...options,
      transformations: [lastTransformation(finish), ...(options.transformations ?? [])],
    },
    /** Returns the error of the SDK's constructor with the stack trace of the program's own call. */
    failed(error: unknown, type: new (...args: never[]) => unknown): unknown {
      restoreTraces?.();
      if (restoreTraces && error instanceof Error) Error.captureStackTrace(error, type);
      return error;
    },
    /** Must be called after the SDK's constructor. */
    succeeded(constructed: pulumi.CustomResource): void {
      restoreTraces?.();
      if (isOurs && !pulumi.runtime.isDryRun()) void recordRegistration(constructed);
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
      ...Object.fromEntries([...resource.outputs, ENDPOINT].map((output) => [output, undefined])),
      ...props,
      ...hiddenInputs({ ...resource, name, props, opts }),
    },
    opts: { ...options, additionalSecretOutputs: secrets },
  };
}

/** Checks that the provider process can load this package. Otherwise, that process would fail without a useful hint. */
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
  const isEncrypted: unknown = Reflect.get(pulumi.runtime, "isConfigSecret"); // missing from the SDK's types
  if (run.hasWarnedOfToken || typeof isEncrypted !== "function") return;
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

/**
 * Disables stack traces. The SDK captures four stack traces for each property, to report promises that never resolve. In a large program,
 * these stack traces take most of the time.
 *
 * @param isLookedUp whether the resource is only read. The SDK then creates the error for a missing object in advance, with its stack trace
 * @returns a function that enables stack traces again
 */
export function shortenTraces(isLookedUp: boolean): () => void {
  const before = Error.stackTraceLimit;
  // An assignment would throw an error if the program has frozen the built-in objects.
  if (!isLookedUp) Reflect.set(Error, "stackTraceLimit", 0);
  return () => void Reflect.set(Error, "stackTraceLimit", before);
}

/** At the end of `up`, warns about unfinished creations of resources that the program no longer declares. Nothing resumes them. */
export function watchForUnfinished(): void {
  if (!pulumi.runtime.isDryRun()) afterRun(() => warnOfUnfinished(entriesOfStack));
}

async function entriesOfStack(): Promise<readonly UnfinishedEntry[]> {
  const { openJournal } = await import("../journal/journal.js");
  const journal = openJournal({
    ...{ endpoint: "", dir: journalDir(), organization: organizationOfStack, projectFolder },
    env: environmentOfRun(),
    warn: () => {}, // the provider reports problems with the journal
  });
  const stack = `urn:pulumi:${pulumi.getStack()}::${pulumi.getProject()}::`;
  return (await journal.listEverywhere()).filter(({ urn }) => urn.startsWith(stack));
}

/** Returns the journal folder that the provider uses. The stack's configuration takes precedence over the environment. */
function journalDir(): string | undefined {
  const environment = environmentOfRun();
  const configured = applicableSettings(pulumi.runtime.getConfig, environment);
  return [configured("cloudinfra:journalDir"), environment.CLOUDINFRA_JOURNAL_DIR]
    .map((text) => text?.trim())
    .find(Boolean);
}

/**
 * Records the URN and the object of a resource. Journal entries with the same URN or object then cause no warning. When the engine has saved
 * the resource, the entry of its creation is removed.
 */
export async function recordRegistration(resource: Pick<pulumi.CustomResource, "urn" | "id">): Promise<void> {
  const { registered } = currentRun();
  try {
    const dir = journalDir();
    const known = await resolved(resource.urn);
    if (known === undefined) return;
    registered.add(known);
    const object = await resolved(resource.id);
    const endpoint = await resolved<unknown>(Reflect.get(resource, ENDPOINT));
    if (object !== undefined) registered.add(objectOf({ urn: known, id: object, endpoint }));
    const key = await resolved<unknown>(Reflect.get(resource, "__key"));
    if (object && typeof key === "string")
      await whenSaved(async () => (await import("../journal/entry.js")).confirm(key, object, { dir }));
  } catch {
    // Pulumi reports that the resource could not be registered.
  }
}

export async function warnOfUnfinished(read: () => Promise<readonly UnfinishedEntry[]>): Promise<void> {
  const { registered } = currentRun();
  // States of early versions don't contain the endpoint.
  const isRegistered = ({ urn, id, endpoint }: UnfinishedEntry): boolean =>
    registered.has(urn) ||
    (id !== undefined &&
      [endpoint, undefined].some((one) => registered.has(objectOf({ urn, id, endpoint: one }))));
  const entries = (await read()).filter((entry) => !isRegistered(entry));
  if (entries.length === 0) return;
  const { unfinishedWarning } = await import("../journal/entry.js");
  await pulumi.log.warn(unfinishedWarning(entries, WARNING));
}

const ENDPOINT = "__endpoint";

/** Returns a string that identifies an object: the last type in the URN, the object's id and, if known, its endpoint. */
function objectOf({ urn, id, endpoint }: { urn: string; id: string; endpoint?: unknown }): string {
  return JSON.stringify([urn.split("::")[2]?.split("$").at(-1), id, endpoint]);
}

const WARNING = {
  one: "the program no longer declares its resource",
  several: "the program no longer declares their resources",
  hints: [
    "To let Pulumi manage an object, declare its resource again and run `pulumi up`.",
    "Otherwise, delete the object in the service, unless you removed it from the stack on purpose or `npx pulumi-cloudinfra recover` reports that the stack manages it. Then run `npx pulumi-cloudinfra recover --forget <urn>`.",
  ],
};
