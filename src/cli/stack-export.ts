import { readFile } from "node:fs/promises";
import path from "node:path";
import { text as readAll } from "node:stream/consumers";
import * as v from "valibot";
import { PROVIDER_NAME } from "../config/settings";
import { CloudInfraError } from "../diagnostics/error";
import { optional } from "../diagnostics/problem";
import { type Kind, kindsByType } from "../model/resource-fields";
import {
  type Declared,
  type Properties,
  parseDeclared,
  parseDesired,
  parseRecorded,
  SECRET,
  SIGNATURE,
} from "../model/state";
import { pulumiOutput, type Target } from "./pulumi";

/** The parts of a stack export that the commands use, with secrets in plaintext. */
export type Deployment = Readonly<ReturnType<typeof parseExport>>;

/** A resource in the state or in a pending operation. */
export type Resource = Readonly<ReturnType<typeof typed>>;

export interface PendingCreation extends Resource {
  readonly kind: Kind;
  /** The arguments and hidden inputs of the creation. The arguments in `given` are not validated. */
  readonly inputs: Declared;
}

export type StackProvider = Readonly<ReturnType<typeof providerOf>>;

const text = optional(v.string());
const flag = optional(v.boolean());
const properties = v.nullish(v.record(v.string(), v.unknown()), {});

const resource = v.object({
  urn: v.string(),
  type: v.string(),
  id: text,
  inputs: properties,
  outputs: properties,
  /** The reference to the resource's provider: `<urn>::<id>`. */
  provider: text,
  /** Whether the resource only reads an object, as with `get`. */
  external: flag,
  /** The creation time. For a pending replacement, this is usually the creation time of the replaced resource. */
  created: text,
  /** Whether the object has been deleted and its replacement doesn't exist yet. */
  pendingReplacement: flag,
  /** The former URNs of a renamed or moved resource. */
  aliases: v.fallback(v.optional(v.array(v.string()), []), []),
});

type ExportedResource = v.InferOutput<typeof resource>;

/** The supported versions of the export format. Pulumi writes version 4 if the stack uses newer features, such as taint. */
const VERSIONS = [3, 4];

const exported = v.object({
  version: v.picklist(VERSIONS),
  deployment: v.object({
    resources: v.nullish(v.array(resource), []),
    pending_operations: v.nullish(v.array(v.object({ type: v.string(), resource })), []),
  }),
});

const HINT = "Use the complete output of `pulumi stack export --show-secrets`.";

/** @throws CloudInfraError `input_invalid`, without any part of the export, which contains secrets */
export function parseExport(text: string) {
  const parsed = v.safeParse(exported, parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const where = v.getDotPath(issue);
    if (where === "version" && typeof issue.input === "number") {
      const message = `the export has version ${issue.input}, but this package reads versions ${VERSIONS.join(" and ")}`;
      const hint = "Update pulumi-cloudinfra, or export the stack with a different version of Pulumi.";
      throw new CloudInfraError("input_invalid", message, { hint });
    }
    const reason = where === null ? "" : `: invalid value at ${where}`;
    throw new CloudInfraError("input_invalid", `the input is not a stack export${reason}`, { hint: HINT });
  }
  const { resources, pending_operations: pending } = parsed.output.deployment;
  const providers = resources.filter(({ type }) => type === "pulumi:providers:pulumi-nodejs").map(providerOf);
  return {
    resources: resources.map(typed),
    /** The interrupted creations of projects and instances, the latest first. */
    pendingCreations: pending.flatMap(({ type, resource }): PendingCreation[] => {
      const kind = type === "creating" ? kindsByType.get(resource.type) : undefined;
      if (kind === undefined) return [];
      return [{ ...typed(resource), kind, inputs: parseDeclared(plaintextOf(resource.inputs)) }];
    }),
    /** The default and explicit providers of this package. */
    providers,
    defaultProvider: providers.find(({ isDefault }) => isDefault),
    /** The URNs of all resources and pending operations. */
    urns: [...resources, ...pending.map(({ resource }) => resource)].map(({ urn }) => urn),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, "")); // PowerShell writes a byte order mark
  } catch {
    // The error of `JSON.parse` is not set as the cause, because its message contains a part of the input.
    throw new CloudInfraError("input_invalid", "the export is not valid JSON", { hint: HINT });
  }
}

function typed({ inputs, outputs, ...resource }: ExportedResource) {
  const kind = kindsByType.get(resource.type);
  // Existing resources may have encrypted inputs. An export without `--show-secrets` is therefore sufficient if no creation has secrets.
  const hiddenInputs = Object.entries(kind ? inputs : {}).filter(([name]) => name.startsWith("__"));
  const hidden = parseDesired(plaintextOf(Object.fromEntries(hiddenInputs)));
  const { __key, __endpoint, __pending }: Properties = kind ? outputs : {};
  const { key, endpoint, pending: unfinished } = parseRecorded(plaintextOf({ __key, __endpoint, __pending }));
  return {
    ...resource,
    /** The kind of the resource, or `undefined` for a resource of another package. */
    kind,
    inputs: hidden,
    unfinished,
    /** The keys of all creations that the state records for the resource. The first key identifies the resource. */
    keys: [hidden.key, key, unfinished?.key].filter((one) => one !== undefined),
    endpoint,
  };
}

function providerOf({ urn, id, inputs }: ExportedResource) {
  const setting = (key: string): string | undefined => {
    const value = plaintext(inputs[key]);
    return typeof value === "string" ? value.trim() : undefined;
  };
  const name = setting(PROVIDER_NAME);
  return {
    urn,
    /** The URN and id of the provider, in the form that resources use to refer to it. */
    reference: `${urn}::${id}`,
    /** The name of an explicit provider, or `undefined` for a default provider. */
    name,
    /** Whether the engine created the provider by default. The engine may append the package version to the name `default`. */
    isDefault: name === undefined && /::default(_[\w.-]*)?$/.test(urn),
    /** Returns a setting by its full name, such as `cloudinfra:endpoint`. */
    setting,
  };
}

/** Finds an explicit provider of the stack by its name, or by its URN if several providers have the same name. */
export function explicitProvider({ providers }: Deployment, name: string): StackProvider {
  const [found, ...others] = providers.filter((one) => one.name === name || one.urn === name);
  const other = others.find(({ urn }) => urn !== found?.urn);
  if (found !== undefined && other !== undefined) {
    const message = `the stack has several providers "${name}", such as ${found.urn} and ${other.urn}`;
    const hint = "Specify the URN of a provider with --provider.";
    throw new CloudInfraError("config_invalid", message, { hint });
  }
  if (found !== undefined) return found;
  const names = providers.flatMap((one) => (one.name === undefined ? [] : `"${one.name}"`));
  const message = `the stack has no provider "${name}". It has: ${names.join(", ") || "none"}`;
  throw new CloudInfraError("config_missing", message, {
    hint: "Correct the name given with --provider. If the program declares the provider, run `pulumi up` first.",
  });
}

const secret = v.object({ [SIGNATURE]: v.literal(SECRET) });

/** @throws CloudInfraError `input_invalid` if a secret is encrypted */
function plaintext(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plaintext);
  if (typeof value !== "object" || value === null) return value;
  if (!v.is(secret, value)) return plaintextOf(value);
  if ("plaintext" in value && typeof value.plaintext === "string")
    return plaintext(parseJson(value.plaintext));
  throw new CloudInfraError("input_invalid", "the secrets in the export are encrypted", {
    hint: "Export the stack with `pulumi stack export --show-secrets`. A creation can be resumed only with the same values.",
  });
}

function plaintextOf(values: object): Properties {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plaintext(value)]));
}

/** Reads an export with decrypted secrets from a file, from standard input (`-`), or by default from Pulumi's CLI. */
export async function readExport(options: Target & { readonly file?: string }): Promise<Deployment> {
  const { cwd, file } = options;
  if (file === "-") return parseExport(await readAll(process.stdin));
  if (file === undefined) return parseExport(await pulumiOutput(options, ["stack", "export"]));
  const absolute = path.resolve(cwd, file);
  const text = await readFile(absolute, "utf8").catch((cause: unknown) => {
    throw new CloudInfraError("input_invalid", `can't read the export ${absolute}`, {
      hint: "Check the path given with --file. Relative paths are resolved from the folder given with --cwd.",
      cause,
    });
  });
  return parseExport(text);
}
