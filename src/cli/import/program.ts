import { v4 as uuidV4 } from "uuid";
import type { ApiObject } from "../../api/client";
import type { WireFields } from "../../model/fields";
import { initialOutputs } from "../../model/outputs";
import { type Properties, toBag } from "../../model/state";
import type { Context } from "../../provider/context";
import { expressArguments } from "./arguments";
import type { StackProvider } from "./stack-resources";

/** A resource that declares an object as it is. */
export interface Declaration {
  readonly type: "Project" | "Instance";
  /** The resource's name in the program, unique among those of its type. */
  readonly name: string;
  readonly id: string;
  /** The arguments in the program. */
  readonly args: Properties;
  /** The values that the program can't express, each with the reason. */
  readonly left: readonly string[];
  /** What the state will hold. */
  readonly inputs: Properties;
  readonly outputs: Properties;
}

/**
 * Declares objects as resources. `untold` says why an object can't be declared: a required argument is missing.
 *
 * @param more `taken`: names of existing resources of this type; `given`: fields that are declared in place of what the service shows
 */
export function declarations(
  context: Context,
  objects: readonly ApiObject[],
  { taken = [], given = {} }: { taken?: readonly string[]; given?: WireFields } = {},
): { declared: Declaration[]; untold: string[] } {
  const names = new Set(taken);
  const declared: Declaration[] = [];
  const untold: string[] = [];
  for (const object of objects) {
    const { args, left, lacking } = expressArguments(context.kind, { ...object.fields, ...given });
    if (lacking.length === 0) {
      declared.push({ ...declaration(context, object, args), left, name: nameFor(object, args, names) });
      continue;
    }
    const reasons = lacking.map(
      (name) => left.find((fault) => fault.startsWith(`${name}:`)) ?? `the service returned no ${name}`,
    );
    untold.push(omittedInstance(context, object, reasons.join("; ")));
  }
  return { declared, untold };
}

/** Says why an object isn't imported. */
export function omittedInstance({ kind }: Context, { id }: ApiObject, reason: string): string {
  return `${kind.name} ${id} is left out: ${reason}`;
}

/** The object's name, or its id if another resource has that name. */
function nameFor({ id }: ApiObject, { name }: Properties, taken: Set<string>): string {
  const wanted = String(name)
    .toWellFormed()
    .replaceAll(/::|[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/gu, "-");
  let unique = wanted;
  while (taken.has(unique)) unique += `-${id}`;
  taken.add(unique);
  return unique;
}

function declaration(
  context: Context,
  object: ApiObject,
  args: Properties,
): Omit<Declaration, "left" | "name"> {
  const hidden = { key: uuidV4() };
  const state = initialOutputs(context, object, hidden, args);
  const outputs = toBag({ ...state, additionalProperties: undefined });
  const __provider = `exports.handler=()=>require("pulumi-cloudinfra/provider").${context.kind.name}`;
  return {
    type: context.kind.name === "project" ? "Project" : "Instance",
    id: object.id,
    args,
    inputs: { ...args, __key: hidden.key, __provider },
    outputs: { ...outputs, __provider },
  };
}

/**
 * Writes a program that declares these resources as they are. They are protected, as `pulumi import` leaves them. Comments name what
 * the program doesn't declare.
 *
 * @param untold the objects that are left out, each with the reason
 * @param provider the explicit provider of the resources
 */
export function programText(
  declared: readonly Declaration[],
  untold: readonly string[],
  provider?: Pick<StackProvider, "name">,
): string {
  const types = [...new Set(declared.map(({ type }) => type))].sort();
  const project = declared.find(({ type }) => type === "Project");
  const variable = provider && variableFor(provider.name);
  const options = variable === undefined ? "{ protect: true }" : `{ protect: true, provider: ${variable} }`;
  const statements = declared.map((one) => statement(one, project, options));
  const hints = provider
    ? [comment(`${variable} is your program's provider ${literal(provider.name)}.`)]
    : [];
  const comments = untold.length === 0 ? [] : [untold.map(comment).join("\n")];
  return [`import { ${types.join(", ")} } from "pulumi-cloudinfra";`, ...hints, ...statements, ...comments]
    .join("\n\n")
    .concat("\n");
}

/** A variable that the program may use for its provider. */
function variableFor(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && !["project", "Project", "Instance"].includes(name)
    ? name
    : "provider";
}

function statement(
  { type, name, id, args, left }: Declaration,
  project: Declaration | undefined,
  options: string,
): string {
  const lines = Object.entries(args).map(([key, value]) => {
    const isOwn = key === "project" && value === project?.id;
    return `  ${key}: ${isOwn ? "project.id" : literal(value)},`;
  });
  const resource = `new ${type}(${literal(name)}, {\n${lines.join("\n")}\n}, ${options});`;
  const comments =
    left.length === 0 ? [] : [comment(`Left out of ${id}:`), ...left.map((one) => comment(`  ${one}`))];
  return [...comments, type === "Project" ? `const project = ${resource}` : resource].join("\n");
}

/** A value as a program writes it: JSON, but names without quotes where possible. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return visible(JSON.stringify(value));
  const entries: [string, unknown][] = Object.entries(value);
  return `{ ${entries.map(([key, one]) => `${bare(key)}: ${literal(one)}`).join(", ")} }`;
}

function bare(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : literal(key);
}

function comment(text: string): string {
  return visible(`// ${text}`);
}

/** Escapes the characters that end a line or change how the text is displayed. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${code}`;
  });
}

/** The document that `pulumi import --file` takes. With inputs and outputs in it, Pulumi asks no provider. */
export function importDocument(declared: readonly Declaration[], provider?: StackProvider): string {
  const resources = declared.map(({ type, name, id, inputs, outputs }) => ({
    type: `pulumi-nodejs:dynamic/cloudinfra:${type}`,
    name,
    id,
    inputs,
    outputs,
    ...(provider && { provider: provider.name }),
  }));
  const nameTable = provider && { [provider.name]: provider.urn };
  return `${JSON.stringify({ nameTable, resources }, undefined, 2)}\n`;
}
