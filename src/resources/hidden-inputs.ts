// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expressions of Pulumi's patterns

import * as pulumi from "@pulumi/pulumi";
import { generateKey } from "../model/idempotency-key";
import { providerText } from "../package";
import {
  aliasesOf,
  type Given,
  NO_ORGANIZATION,
  organizationOfStack,
  parentOf,
  projectFolder,
  resolved,
} from "./sdk";

export interface DeclaredResource extends Given {
  readonly provider: "project" | "instance";
  readonly type: string;
  readonly name: string;
}

/** Returns the inputs that the provider requires but Pulumi's host doesn't pass, such as the URN and the timeouts. */
export function hiddenInputs(declared: DeclaredResource): pulumi.Inputs {
  const { provider, type, name, opts } = declared;
  return {
    __provider: providerText(provider),
    // The URN is passed as a promise, because an output would make the resource wait for its parent and its siblings.
    __urn: resolved(pulumi.createUrn(name, type, opts.parent)),
    ...(isManaged(opts) ? managedInputs(declared) : {}),
  };
}

/** Reports whether the program manages the object instead of only reading it. */
export function isManaged({ id, urn }: pulumi.CustomResourceOptions): boolean {
  return id === undefined && urn === undefined;
}

function managedInputs({ type, name, props, opts }: DeclaredResource): pulumi.Inputs {
  const timeouts = Object.entries(opts.customTimeouts ?? {}).filter(([, limit]) => limit);
  const identity: Identity = { type, name, parent: opts.parent, aliases: opts.aliases };
  const { ignoreChanges, replaceOnChanges, retainOnDelete } = opts;
  // The key is unknown in a preview. Otherwise, a preview or a saved plan could contain a name or key that `up` doesn't use.
  const isPreview = pulumi.runtime.isDryRun();
  const inputs = {
    __key: isPreview ? pulumi.output(pulumi.unknown) : generateKey(),
    __keyAt: isPreview ? pulumi.output(pulumi.unknown) : Date.now(),
    __import: idToImport(name, opts.import),
    __timeouts: timeouts.length > 0 ? Object.fromEntries(timeouts) : undefined,
    __secrets: mayHoldSecret(props) ? namesOfSecrets(props) : undefined,
    __ignoreChanges: ignoreChanges?.length ? ignoreChanges : undefined,
    __retainOnDelete: retainOnDelete ? true : undefined,
    __replaceOnChanges: replaceOnChanges?.length ? replaceOnChanges : undefined,
    __aliasUrns: hasFormerUrns(identity) ? otherUrns(identity) : undefined, // the SDK has a field `__aliases` of its own
    __organization: organizationOfStack(),
    __projectFolder: projectFolder(),
    __autonaming: autonaming(type),
  };
  // Properties without a value are omitted, because the SDK captures four stack traces for each property.
  return Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined));
}

/** @throws Error if the option is not an id, because the provider would then create an object instead of adopting one */
function idToImport(name: string, id: unknown): string | undefined {
  if (id === undefined || (typeof id === "string" && id !== "")) return id;
  throw new Error(
    `cloudinfra: "${name}" can't be imported: the \`import\` option must be the id of the object, as a string. ` +
      "Pass the id itself instead of an output",
  );
}

/** Reports whether a value contains an output or a promise. A plain value can't be marked as a secret. */
function mayHoldSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return (
    pulumi.Output.isInstance(value) || value instanceof Promise || Object.values(value).some(mayHoldSecret)
  );
}

/** Resolves to the names of the secret arguments, or to `undefined` if no argument is secret. */
export async function namesOfSecrets(props: pulumi.Inputs): Promise<string[] | undefined> {
  const secret = await Promise.all(
    Object.entries(props).map(async ([key, value]) =>
      (await pulumi.isSecret(pulumi.output(value))) ? key : undefined,
    ),
  );
  const names = secret.filter((key) => key !== undefined);
  return names.length > 0 ? names : undefined;
}

interface Identity {
  readonly name: string;
  readonly type: string;
  readonly parent?: pulumi.Resource | undefined;
  readonly aliases?: readonly pulumi.Input<pulumi.URN | pulumi.Alias>[] | undefined;
}

async function otherUrns(identity: Identity): Promise<string[] | undefined> {
  const now = await resolved(pulumi.createUrn(identity.name, identity.type, identity.parent));
  const others = (await formerUrns(identity)).filter((urn) => urn !== now);
  return others.length > 0 ? others : undefined;
}

/** Reports whether a resource may have had a different URN. */
function hasFormerUrns({ aliases = [], parent }: Pick<Identity, "aliases" | "parent">): boolean {
  if (aliases.length > 0) return true;
  return parent !== undefined && hasFormerUrns({ aliases: aliasesOf(parent), parent: parentOf(parent) });
}

/** Resolves to all URNs that the aliases of a resource and of its parents describe. The result may include the current URN. */
async function formerUrns(identity: Identity): Promise<string[]> {
  const { name, type, parent, aliases = [] } = identity;
  const own = (await Promise.all(aliases.map((alias) => urnsOf(alias, identity)))).flat();
  if (parent === undefined) return [...new Set(own)];
  const children = [{ name, type }, ...own.map(nameAndType)];
  const parentName = pulumi.resourceName(parent);
  const inherited = (await formerUrnsOf(parent)).flatMap((parentUrn) =>
    children.map((child) => inheritedUrn(child, parentName, parentUrn)),
  );
  return [...new Set([...own, ...(await allResolved(inherited))])];
}

async function formerUrnsOf(resource: pulumi.Resource): Promise<string[]> {
  const [name, type] = [pulumi.resourceName(resource), pulumi.resourceType(resource)];
  return formerUrns({ name, type, aliases: aliasesOf(resource), parent: parentOf(resource) });
}

/** Resolves to the URNs of an alias. An alias has several URNs if its parent also has aliases. */
async function urnsOf(given: pulumi.Input<pulumi.URN | pulumi.Alias>, now: Identity): Promise<string[]> {
  const alias = await resolved(given);
  if (alias === undefined || typeof alias === "string") return alias === undefined ? [] : [alias];
  const { name = now.name, type = now.type, project, stack } = alias;
  const parent = Object.hasOwn(alias, "parent") ? alias.parent : now.parent;
  const isInherited = parent === now.parent; // `formerUrns` adds the URNs inherited from the resource's own parent
  const isFormer = pulumi.Resource.isInstance(parent) && !isInherited;
  const parents = [parent, ...(isFormer ? await formerUrnsOf(parent) : [])];
  return allResolved(parents.map((one) => pulumi.createUrn(name, type, one, project, stack)));
}

/** Returns a child's URN under a former URN of its parent. A child's name that begins with the parent's name changes too. */
function inheritedUrn({ name, type }: Identity, parentName: string, parentUrn: string) {
  const formerName = nameAndType(parentUrn).name + name.slice(parentName.length);
  return pulumi.createUrn(name.startsWith(parentName) ? formerName : name, type, parentUrn);
}

async function allResolved(urns: readonly pulumi.Output<string>[]): Promise<string[]> {
  return (await Promise.all(urns.map((urn) => resolved(urn)))).filter((urn) => urn !== undefined);
}

function nameAndType(urn: string): Identity {
  const [, , types = "", ...name] = urn.split("::");
  return { name: name.join("::"), type: types.split("$").at(-1) ?? "" };
}

/**
 * Reads the setting `pulumi:autonaming` for a resource type, because Pulumi's host doesn't pass the setting to providers.
 *
 * @returns a pattern, in which the provider replaces `${name}` and the random parts; `false` if the program must set names; `undefined` if
 * the provider generates names
 */
function autonaming(type: string): string | false | undefined {
  const setting = new pulumi.Config("pulumi").getObject<unknown>("autonaming");
  if (setting === undefined) return undefined;
  const provider = valueAt(setting, ["providers", "pulumi-nodejs"]);
  const { mode, pattern }: { mode?: unknown; pattern?: unknown } = Object(
    valueAt(provider, ["resources", type]) ?? provider ?? setting,
  );
  if (typeof pattern === "string") return withStackValues(pattern);
  return mode === "verbatim" ? "${name}" : mode === "disabled" ? false : undefined;
}

function withStackValues(pattern: string): string {
  return pattern.replace(/\$\{(organization|project|stack|config\.([^}]+))\}/g, (whole, expression, key) => {
    if (expression === "project") return pulumi.getProject();
    if (expression === "stack") return pulumi.getStack();
    if (expression === "organization") return organizationOfStack() ?? NO_ORGANIZATION;
    const value = configValue(key);
    if (value !== undefined) return value;
    throw new pulumi.RunError(
      `cloudinfra: pulumi:autonaming: the pattern contains ${whole}, but the project configuration doesn't set this key. ` +
        `Set it with \`pulumi config set ${key} <value>\``,
    );
  });
}

/** Returns a value of the project's configuration. Dots in the path select nested values. */
function configValue(path: string): string | undefined {
  const config = new pulumi.Config();
  const [key = "", ...rest] = path.split(".");
  const value = rest.length === 0 ? config.get(key) : valueAt(config.getObject<unknown>(key), rest);
  return value === undefined || typeof value === "object" ? undefined : String(value);
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    value,
  );
}
