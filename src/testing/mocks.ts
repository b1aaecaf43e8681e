import { hash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { v5 as uuidV5 } from "uuid";
import { isMap, isUnknown, type Kind, kindsByType, projectKind, UNKNOWN } from "../model/resource-fields";
import { secretOutputs } from "../model/secrets";
import { markSecret, parseDeclared, parseDesired, parseRecorded, toBag } from "../model/state";
import { check } from "../provider/check";
import { matchesFilter } from "../provider/functions";
import type { GetInstancesInstance, GetProjectsProject } from "../resources/functions";
import { namesOfSecrets } from "../resources/hidden-inputs";
import type { Instance } from "../resources/instance";
import type { Project } from "../resources/project";
import { currentRun, resolved } from "../resources/sdk";

/** A resource that a program has declared. */
export interface MockedResource {
  /** The type of the resource, such as {@link Instance.__pulumiType}. */
  readonly type: string;
  /** The name of the resource in the program. */
  readonly name: string;
  /** The resource's name and `-id`, or the id that was passed to `get`, or `undefined` if a preview would create the resource. */
  readonly id: string | undefined;
  /** The arguments with a generated `name` and without secret marks. Values that are unknown in a preview are omitted. */
  readonly args: { readonly [name: string]: unknown };
  /** The names of the arguments that are secret, in alphabetical order. */
  readonly secretArgs: readonly string[];
}

/** The options of {@link mocks}. */
export interface MocksOptions {
  /** The stack's configuration. A key without a namespace belongs to the program's project. @default empty */
  readonly config?: Readonly<Record<string, string>>;
  /** The name of the Pulumi project. @default "project" */
  readonly project?: string;
  /** The name of the stack. @default "stack" */
  readonly stack?: string;
  /** Whether to run the program as a preview of a new stack. Ids, generated names and other outputs are then unknown. @default false */
  readonly preview?: boolean;
  /** The existing instances, which `getInstances` and {@link Instance.get} return. @default none */
  readonly instances?: readonly GetInstancesInstance[];
  /** The existing projects, which `getProjects` and {@link Project.get} return. @default none */
  readonly projects?: readonly GetProjectsProject[];
  /**
   * Returns additional outputs for a resource, which take precedence over existing outputs. Resources of other packages have only their
   * arguments as outputs. In a preview, the additional outputs apply only to resources that are read, for example with `get`.
   * @default nothing to add
   */
  readonly outputs?: (resource: MockedResource) => MockedResource["args"];
  /** Returns the results of functions in other packages. @default their arguments */
  readonly call?: pulumi.runtime.Mocks["call"];
}

/** The result of a program that {@link mocks} has run. */
export interface MockedProgram<Exports> {
  /** The program's exports as plain values. Values that are unknown in a preview are `undefined`. */
  readonly exports: pulumi.Unwrap<Exports>;
  /** The names of the exports that are secret, in alphabetical order. */
  readonly secretExports: readonly string[];
  /** All declared resources, sorted by name. */
  readonly resources: readonly MockedResource[];
  /**
   * Returns the resource with a name.
   *
   * @throws Error if no resource, or more than one, has that name
   */
  resource(name: string): MockedResource;
}

/**
 * Runs a program in this process for a unit test, without the Pulumi CLI, a service or an account. Arguments are checked as in a preview.
 * Generated names and outputs such as `ipAddress` have realistic values that are the same in each run.
 *
 * @param program a function that runs the program, for example with an import. Node.js runs a module only once in each process
 * @param options the configuration and the existing objects
 * @returns the declared resources and the exports
 * @throws Error that lists each invalid argument, and each id that `get` doesn't find. Errors of the program are also thrown
 *
 * @example
 * ```ts
 * const shop = await mocks(() => import("./index.ts"), { config: { workers: "2" } });
 * assert.equal(shop.resource("web").args.flavor, "small");
 * assert.equal(shop.exports.address, "192.0.2.1");
 * ```
 */
export async function mocks<Exports extends object>(
  program: () => Exports | Promise<Exports>,
  options: MocksOptions = {},
): Promise<MockedProgram<Exports>> {
  const { config = {}, project = "project", stack = "stack", preview = false } = options;
  const { instances = [], projects = [], outputs = () => ({}), call = ({ inputs }) => inputs } = options;
  /** The objects that `get` finds: objects in the options, and objects that the program declares. */
  const objects = new Map<string, Properties>();
  for (const one of instances) objects.set(`instance ${one.id}`, { ...one });
  for (const one of projects) objects.set(`project ${one.id}`, { ...one });
  const resources: MockedResource[] = [];
  const failures: string[] = [];

  const newResource: pulumi.runtime.Mocks["newResource"] = ({ type, name, inputs, id: requested = "" }) => {
    const kind = kindsByType.get(type);
    // Pulumi's host passes arguments to the provider in this form. If any part of an argument is secret, the SDK marks the whole argument.
    const given = mapped(inputs, (value) => withPlaceholders(pulumi.runtime.unwrapRpcSecret(value)));
    const secretArgs = Object.keys(inputs).filter(
      (arg) => pulumi.runtime.isRpcSecret(inputs[arg]) && isShown(arg),
    );
    const isRead = requested !== "";
    const checked = kind === undefined || isRead ? undefined : checkedInputs(kind, name, given, preview);
    const { inputs: args, failures: wrong } = checked ?? { inputs: given, failures: [] };
    failures.push(...wrong.map((reason) => `${kind?.name} "${name}": ${reason}`));
    const isKnown = isRead ? !isUnknown(requested) : !preview;
    const id = isKnown ? requested || `${name}-id` : undefined;
    const mocked = { type, name, id, args: knownPart(withoutHidden(args)), secretArgs: secretArgs.sort() };
    if (type !== STACK) resources.push(mocked);
    let state: Properties = withoutHidden(args);
    if (id !== undefined) {
      const found = isRead && kind !== undefined ? objects.get(`${kind.name} ${id}`) : {};
      if (found === undefined && kind !== undefined)
        failures.push(
          `${kind.name} "${name}": no ${kind.name} has the id "${id}". Add it to the option \`${kind.name}s\` of \`mocks\``,
        );
      const usual = isRead || kind === undefined ? found : generatedOutputs(kind, id, state);
      state = { ...state, ...usual, ...outputs(mocked) };
      if (kind !== undefined && !isRead) objects.set(`${kind.name} ${id}`, state);
    }
    return { id, state: withMarks(kind, state, secretArgs, args) };
  };

  pulumi.runtime.setAllConfig({});
  for (const [key, value] of Object.entries(config))
    pulumi.runtime.setConfig(key.includes(":") ? key : `${project}:${key}`, value);
  await pulumi.runtime.setMocks({ newResource, call }, project, stack, preview);
  currentRun().found = {
    instances: (filter) => instances.filter((one) => matchesFilter(one, filter)),
    projects,
  };
  const exported = Object.entries(await program());
  await pulumi.runtime.disconnect(); // waits until everything is declared
  if (failures.length > 0) throw new Error(failures.join("\n"));
  resources.sort((one, other) => one.name.localeCompare(other.name));
  const values = exported.map(async ([name, value]) => [name, await resolved(value)]);
  return {
    exports: Object.fromEntries(await Promise.all(values)) as pulumi.Unwrap<Exports>,
    secretExports: ((await namesOfSecrets(Object.fromEntries(exported))) ?? []).sort(),
    resources,
    resource(name) {
      const [found, ...others] = resources.filter((one) => one.name === name);
      if (found !== undefined && others.length === 0) return found;
      const names = resources.map((one) => one.name).join(", ");
      throw new Error(`${found ? "more than one resource" : "no resource"} has the name "${name}": ${names}`);
    },
  };
}

const STACK = "pulumi:pulumi:Stack";

/** An arbitrary UUID that makes generated names the same in all runs. */
const NAMESPACE = "b2c1e9a4-3f0e-4d55-9a39-2f3a5a0c7c11";

type Properties = MockedResource["args"];

function checkedInputs(kind: Kind, name: string, inputs: Properties, preview: boolean) {
  const key = preview ? inputs.__key : uuidV5(`${kind.name} ${name}`, NAMESPACE);
  const news = parseDeclared({ ...inputs, __key: key });
  const { inputs: checkedInputs, failures } = check(kind, { olds: undefined, news });
  return { inputs: toBag(checkedInputs), failures };
}

/** Replaces unknown values with the placeholder of the engine. */
function withPlaceholders(value: unknown): unknown {
  if (pulumi.isUnknown(value)) return UNKNOWN;
  if (Array.isArray(value)) return value.map(withPlaceholders);
  return isMap(value) ? mapped(value, withPlaceholders) : value;
}

/** Marks the same outputs as secret as the provider does. For other packages, an output is secret if the argument of that name is secret. */
function withMarks(
  kind: Kind | undefined,
  state: Properties,
  secretArgs: readonly string[],
  args: Properties,
): Properties {
  if (kind === undefined) return markSecret(state, secretArgs);
  const given = parseDesired({ ...args, __secrets: [...secretArgs] });
  const { names } = secretOutputs(kind.fields, parseRecorded(state), { given, before: {}, known: [given] });
  return markSecret(state, names);
}

const isShown = (name: string): boolean => !name.startsWith("__");

function withoutHidden(properties: Properties): Properties {
  const shown = Object.entries(properties).filter(([name, value]) => isShown(name) && value !== undefined);
  return Object.fromEntries(shown);
}

function knownPart(properties: Properties): Properties {
  const known = Object.entries(properties).filter(([, value]) => !isUnknown(value));
  return mapped(Object.fromEntries(known), (value) => (isMap(value) ? knownPart(value) : value));
}

function mapped(properties: Properties, change: (value: unknown) => unknown): Properties {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, change(value)]));
}

/** Returns realistic outputs of a created object. The address is in a range that is reserved for documentation (RFC 5737). */
function generatedOutputs(kind: Kind, id: string, { publicIp }: Properties): Properties {
  const createdAt = "2026-01-01T00:00:00Z";
  if (kind === projectKind) return { createdAt };
  const isAddress = typeof publicIp === "string" && /[.:]/.test(publicIp);
  const number = 1 + (hash("sha256", id, "buffer").readUInt32BE() % 254);
  return {
    ...{ status: "running", createdAt, additionalProperties: {} },
    revision: hash("sha256", id).slice(0, 8),
    url: `https://api.example.com/v1/instances/${id}`,
    ipAddress: isAddress ? publicIp : publicIp === "auto" ? `192.0.2.${number}` : undefined,
  };
}
