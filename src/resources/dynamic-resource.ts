import * as pulumi from "@pulumi/pulumi";
import { v4 as uuidV4 } from "uuid";
import { warnOfTokenInClear } from "./clear-token";
import { requireProviderFromProgram } from "./resolvable";

/** What the engine stores of the provider: the same text for ever, so that old states meet new code. */
const providerText = (name: "project" | "instance"): string =>
  `exports.handler=()=>require("pulumi-cloudinfra/provider").${name}`;

/** Which export of `pulumi-cloudinfra/provider` serves a resource, and what the resource declares. */
export interface DynamicResource {
  readonly provider: "project" | "instance";
  readonly type: string;
  /** Names of the outputs that are not inputs; the SDK resolves only what it was told of. */
  readonly outputs: readonly string[];
}

/** Options of `Instance.get` and `Project.get`, which look at an object that the program does not manage. */
export interface GetOptions extends pulumi.CustomResourceOptions {
  /** Profile of settings (`cloudinfra:profiles`) that leads to the object. @default the settings without a profile */
  readonly profile?: string;
}

/** Arguments and options of a resource that is only looked up: of its arguments it has none but the profile. */
export function lookedUp<Args>(
  id: pulumi.Input<pulumi.ID>,
  { profile, ...options }: GetOptions,
): [Args, pulumi.CustomResourceOptions] {
  return [{ ...(profile !== undefined && { profile }) } as Args, { ...options, id }];
}

/**
 * The properties with which a resource is registered: its arguments, its outputs, and the hidden inputs that the
 * provider needs and the host does not give it.
 *
 * @throws Error in words, where the program's folder cannot resolve this package or where `import` is no id.
 */
export function resourceInputs(
  resource: DynamicResource,
  name: string,
  args: pulumi.Inputs,
  options: pulumi.CustomResourceOptions,
): pulumi.Inputs {
  requireProviderFromProgram(name);
  warnOfTokenInClear();
  const outputs = Object.fromEntries(resource.outputs.map((output) => [output, undefined]));
  return {
    ...outputs,
    ...args,
    __provider: providerText(resource.provider),
    __urn: withoutDependencies(pulumi.createUrn(name, resource.type, options.parent)),
    ...(options.id === undefined ? managedInputs(name, args, options) : {}),
  };
}

/**
 * The value alone. As an output, the URN would make a resource wait for its parent component, and so for all that is inside it:
 * siblings that wait for this very resource, too.
 */
function withoutDependencies(output: pulumi.Output<string>): Promise<string> {
  return new Promise((resolve) => {
    output.apply(resolve);
  });
}

/** What only a resource that is created and updated needs, not one that is looked up with `get`. */
function managedInputs(
  name: string,
  args: pulumi.Inputs,
  options: pulumi.CustomResourceOptions,
): pulumi.Inputs {
  const { create, update, delete: remove } = options.customTimeouts ?? {};
  const timeouts = {
    ...(create && { create }),
    ...(update && { update }),
    ...(remove && { delete: remove }),
  };
  const imported = idToImport(name, options.import);
  // For each property, also one without a value, the SDK takes four stack traces: most of what a program takes.
  return {
    // Unknown in previews, so that neither a preview nor a saved plan shows a name or key that `up` will not use.
    __key: pulumi.runtime.isDryRun() ? pulumi.output(pulumi.unknown) : uuidV4(),
    __keyAt: pulumi.runtime.isDryRun() ? pulumi.output(pulumi.unknown) : Date.now(),
    ...(imported !== undefined && { __import: imported }),
    ...(Object.keys(timeouts).length > 0 && { __timeouts: timeouts }),
    ...(mayHoldSecret(args) && { __secrets: namesOfSecrets(args) }),
  };
}

/** Whether anything in a value is not known yet; what is there in clear can't be marked as a secret. */
function mayHoldSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return (
    pulumi.Output.isInstance(value) || value instanceof Promise || Object.values(value).some(mayHoldSecret)
  );
}

/** @throws Error in words where it is no id: it would be taken for none, and an object would be made. */
function idToImport(name: string, id: unknown): string | undefined {
  if (id === undefined || (typeof id === "string" && id !== "")) return id;
  throw new Error(
    `cloudinfra: the \`import\` option of "${name}" must be the id of an object, as a text that is known at once.`,
  );
}

/**
 * The options without `import`, which the host can't serve: it is an input instead, and the provider takes the object over.
 */
export function hostOptions(options: pulumi.CustomResourceOptions): pulumi.CustomResourceOptions {
  const { import: _, ...rest } = options;
  return rest;
}

async function namesOfSecrets(args: pulumi.Inputs): Promise<string[] | undefined> {
  const secret = await Promise.all(
    Object.entries(args).map(async ([key, value]) =>
      (await pulumi.isSecret(pulumi.output(value))) ? key : undefined,
    ),
  );
  const names = secret.filter((key) => key !== undefined);
  return names.length > 0 ? names : undefined;
}
