import * as v from "valibot";
import type { ApiObject } from "../api/client";
import { isAddress, isPrivate, publicAddressIn } from "../model/addresses";
import { hasFingerprint } from "../model/changes";
import { generateKey } from "../model/idempotency-key";
import { initialOutputs } from "../model/outputs";
import { remoteTextOf } from "../model/remote-values";
import { type Field, isMap, type Kind, projectKind, type WireFields } from "../model/resource-fields";
import { type Properties, toBag } from "../model/state";
import { providerText, typeTokens } from "../package";
import type { Context } from "../provider/context";
import type { StackProvider } from "./stack-export";

export interface Declaration {
  readonly kind: Kind;
  /** The resource name, unique among resources of the same type. */
  readonly name: string;
  readonly id: string;
  readonly args: Properties;
  /** The values that a program can't contain, each with its path and the reason, such as `labels["a b"]: …`. */
  readonly inexpressible: readonly string[];
  /** The inputs and outputs that the state contains after the import. */
  readonly inputs: Properties;
  readonly outputs: Properties;
}

export interface Omission {
  readonly kind: Kind["name"];
  readonly id: string;
  readonly reason: string;
}

export function describeOmission({ kind, id, reason }: Omission): string {
  return `${kind} ${id} is omitted: ${reason}`;
}

export interface Declarations {
  readonly declared: readonly Declaration[];
  readonly omitted: readonly Omission[];
}

/** Converts objects to declarations. Objects that lack a required argument are omitted. `given` overrides fields of the objects. */
export function declare(
  context: Context,
  objects: readonly ApiObject[],
  { taken = [], given = {} }: { taken?: readonly string[]; given?: WireFields } = {},
): Declarations {
  const names = new Set(taken);
  const declared: Declaration[] = [];
  const omitted: Omission[] = [];
  for (const object of objects) {
    const { args, inexpressible, missing } = toArguments(context.kind, { ...object.fields, ...given });
    if (missing.length === 0) {
      const name = uniqueName(object, args, names);
      declared.push({ ...stateOf(context, object, args), args, inexpressible, name });
      continue;
    }
    const reasons = missing.map(
      (name) =>
        inexpressible.find((fault) => fault.startsWith(`${name}:`)) ?? `the service returned no ${name}`,
    );
    omitted.push({ kind: context.kind.name, id: object.id, reason: reasons.join("; ") });
  }
  return { declared, omitted };
}

/** Returns the object's name, followed by the object's id if another resource already has that name. */
function uniqueName({ id }: ApiObject, { name }: Properties, taken: Set<string>): string {
  const wanted = String(name)
    .toWellFormed()
    .replaceAll(/::|[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/gu, "-");
  let unique = wanted;
  while (taken.has(unique)) unique += `-${id}`;
  taken.add(unique);
  return unique;
}

function stateOf(context: Context, object: ApiObject, args: Properties) {
  const hidden = { key: generateKey() };
  const outputs = toBag({
    ...initialOutputs(context, object, hidden, args),
    additionalProperties: undefined,
  });
  const __provider = providerText(context.kind.name);
  return {
    kind: context.kind,
    id: object.id,
    inputs: { ...args, __key: hidden.key, __provider },
    outputs: { ...outputs, __provider },
  };
}

/** Converts an object's fields to valid arguments. Invalid labels and values are omitted, so the program doesn't manage them. */
function toArguments(kind: Kind, object: WireFields) {
  const args: Properties = {};
  const inexpressible: string[] = [];
  const isKept = (fault: string | undefined): boolean => {
    if (fault !== undefined) inexpressible.push(fault);
    return fault === undefined;
  };
  for (const field of kind.fields) {
    const { name, wire, type, addressFields } = field;
    // Some services return whether the instance has a public address instead of the mode.
    const isFlag = addressFields !== undefined && typeof object[wire] === "boolean";
    const mode = isFlag ? undefined : convert(type, remoteTextOf(field, object[wire]));
    // Without a mode, the program must declare the public address, because an update would otherwise remove it.
    const value = mode ?? publicAddressIn(field, object);
    if (isMap(value) && type === "labels") {
      const labels = Object.entries(value).filter(([key, label]) =>
        isKept(labelFault(kind, name, key, label)),
      );
      if (labels.length > 0) args[name] = Object.fromEntries(labels);
    } else if (value !== undefined && isKept(faultOf(kind, name, value))) args[name] = value;
    const isUnknown = addressFields !== undefined && value === undefined;
    const elsewhere = isUnknown && (findAddress(object) ?? (object[wire] === true && `true in ${wire}`));
    if (elsewhere)
      inexpressible.push(
        `${name}: the service returned no mode, but ${elsewhere}. Without ${name}, an update may remove the address`,
      );
  }
  const { issues = [] } = v.safeParse(kind.arguments, args);
  const missing = issues.map(({ path = [] }) => String(path[0]?.key));
  // If the program declared no name, the provider would generate a new one.
  return { args, inexpressible, missing: args.name === undefined ? ["name", ...missing] : missing };
}

/** Returns the reason why the provider's check rejects a value, starting with the path of the value. */
function faultOf(kind: Kind, name: string, value: unknown): string | undefined {
  if (hasFingerprint(value)) return `${name}: the service returned fingerprints instead of keys`;
  const { issues = [] } = v.safeParse(kind.arguments, { [name]: value }, { abortPipeEarly: true });
  const issue = issues.find(({ path }) => path?.[0]?.key === name);
  if (issue === undefined) return undefined;
  const steps = (issue.path ?? []).slice(1).map(({ key }) => `[${JSON.stringify(key)}]`);
  return `${name}${steps.join("")}: ${issue.message}`;
}

function labelFault(kind: Kind, name: string, key: string, label: unknown): string | undefined {
  const path = `${name}[${JSON.stringify(key)}]`;
  if (key === "__proto__") return `${path}: Pulumi's SDK drops a label with this key`;
  // Valibot doesn't validate the keys "constructor" and "prototype".
  const fault = typeof label === "string" ? undefined : `${path}: must be a string`;
  return faultOf(kind, name, { [key]: label }) ?? fault;
}

/** Converts a value to the type of its field. Returns `undefined` for an empty value. */
function convert(type: Field["type"], value: unknown): unknown {
  if (value === null || (Array.isArray(value) && value.length === 0)) return undefined;
  if (type === "text") return typeof value === "string" && value.trim() === "" ? undefined : asString(value);
  if (Array.isArray(value)) return value.map((key: unknown) => (typeof key === "string" ? key.trim() : key));
  if (type === "keys" || !isMap(value)) return value;
  const labels = Object.entries(value).filter(([, label]) => label !== null);
  return Object.fromEntries(labels.map(([key, label]) => [key, asString(label)]));
}

/** Finds a public IP address in an object, and returns the address with its path. */
function findAddress(value: unknown, path: readonly string[] = []): string | undefined {
  if (isAddress(value)) return isPrivate(value) ? undefined : `${value} in ${path.join(".")}`;
  if (!isMap(value)) return undefined;
  const found = Object.entries(value).map(([key, inner]) => findAddress(inner, [...path, key]));
  return found.find((address) => address !== undefined);
}

const asString = (value: unknown): unknown =>
  typeof value === "number" || typeof value === "boolean" ? String(value) : value;

/** Returns a program that declares the resources with the `protect` option, which `pulumi import` also sets in the state. */
export function programText(
  { declared, omitted }: Declarations,
  provider?: Pick<StackProvider, "name">,
): string {
  const types = [...new Set(declared.map(({ kind }) => kind.className))].sort();
  const project = declared.find(({ kind }) => kind === projectKind);
  const options = provider?.name === undefined ? "{ protect: true }" : "{ protect: true, provider }";
  const paragraphs = [
    `import { ${types.join(", ")} } from "pulumi-cloudinfra";`,
    // The name of a provider may be a reserved word, so it isn't the name of the variable.
    provider?.name && comment(`\`provider\` is your program's provider ${literal(provider.name)}.`),
    ...declared.map((one) => statement(one, project, options)),
    omitted.map((one) => comment(describeOmission(one))).join("\n"),
  ];
  return `${paragraphs.filter(Boolean).join("\n\n")}\n`;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

function statement(
  { kind, name, id, args, inexpressible }: Declaration,
  project: Declaration | undefined,
  options: string,
): string {
  const lines = Object.entries(args).map(([key, value]) => {
    const isOwn = key === "project" && value === project?.id;
    return `  ${key}: ${isOwn ? "project.id" : literal(value)},`;
  });
  const resource = `new ${kind.className}(${literal(name)}, {\n${lines.join("\n")}\n}, ${options});`;
  const comments =
    inexpressible.length === 0
      ? []
      : [comment(`Not declared for ${id}:`), ...inexpressible.map((one) => comment(`  ${one}`))];
  return [...comments, kind === projectKind ? `const project = ${resource}` : resource].join("\n");
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return visible(JSON.stringify(value));
  const entries: [string, unknown][] = Object.entries(value);
  const members = entries.map(
    ([key, one]) => `${IDENTIFIER.test(key) ? key : literal(key)}: ${literal(one)}`,
  );
  return `{ ${members.join(", ")} }`;
}

function comment(text: string): string {
  return visible(`// ${text}`);
}

/** Escapes characters that end a line or change how text is displayed. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${code}`;
  });
}

/** Returns the input of `pulumi import --file`. The file contains inputs and outputs, so Pulumi doesn't call the provider. */
export function importDocument(
  declared: readonly Declaration[],
  provider?: Pick<StackProvider, "name" | "urn">,
): string {
  const resources = declared.map(({ kind, name, id, inputs, outputs }) => {
    return { type: typeTokens[kind.name], name, id, inputs, outputs, provider: provider?.name };
  });
  const nameTable = provider?.name === undefined ? undefined : { [provider.name]: provider.urn };
  return `${JSON.stringify({ nameTable, resources }, undefined, 2)}\n`;
}
