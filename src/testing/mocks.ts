import { hash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { v5 as uuidV5 } from "uuid";
import { isUnknown } from "../model/fields";
import { instanceKind, type Kind, projectKind } from "../model/kinds";
import { parseDeclared, toBag } from "../model/state";
import { check } from "../provider/check";
import { matchesFilter } from "../provider/functions";
import type { GetInstancesInstance, GetProjectsProject } from "../resources/functions";
import { Instance } from "../resources/instance";
import { Project } from "../resources/project";
import { currentRun } from "../resources/run";
import { resolved } from "../resources/sdk";

/** A resource that a program has declared. */
export interface MockedResource {
  /** Its type, such as {@link Instance.__pulumiType}. */
  readonly type: string;
  /** Its name in the program. */
  readonly name: string;
  /** Its id: its name and `-id`, or the id that `get` was called with. */
  readonly id: string;
  /** Its arguments, with a generated `name`. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** What {@link mocks} runs a program with. */
export interface MocksOptions {
  /** The stack's configuration. A key without a namespace is the project's. @default empty */
  readonly config?: Readonly<Record<string, string>>;
  /** Name of the Pulumi project. @default "project" */
  readonly project?: string;
  /** Name of the stack. @default "stack" */
  readonly stack?: string;
  /** Whether to run the program as in a preview, where ids and generated names are unknown. @default false */
  readonly preview?: boolean;
  /** The instances that the service has: what `getInstances` filters, and `Instance.get` reads. @default none */
  readonly instances?: readonly GetInstancesInstance[];
  /** The projects that the service has: what `getProjects` returns, and `Project.get` reads. @default none */
  readonly projects?: readonly GetProjectsProject[];
  /** Returns outputs of a resource that differ from the usual ones, also for resources of other packages. @default none */
  readonly outputs?: (resource: MockedResource) => Readonly<Record<string, unknown>>;
  /** Answers function calls of other packages. @default with the arguments */
  readonly call?: pulumi.runtime.Mocks["call"];
}

/** A program that {@link mocks} has run. */
export interface MockedProgram<Exports> {
  /** What the program exports, without outputs around the values. */
  readonly exports: pulumi.Unwrap<Exports>;
  /** All resources that it has declared, by name. */
  readonly resources: readonly MockedResource[];
  /** Returns the resource with a name. @throws Error if there is none, or more than one */
  resource(name: string): MockedResource;
}

/**
 * Runs a program in this process without Pulumi's engine, a service or an account, for unit tests. Arguments are checked as in a preview, and
 * names and outputs such as `ipAddress` have values as the provider would return them.
 *
 * @param program imports or runs the program. A module runs only once in a process
 * @throws Error that names each wrong argument; and whatever the program throws
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
  const resources: MockedResource[] = [];
  const wrong: string[] = [];
  const settings = Object.entries(config).map(([key, value]) => [
    key.includes(":") ? key : `${project}:${key}`,
    value,
  ]);
  pulumi.runtime.setAllConfig(Object.fromEntries(settings));
  const newResource: pulumi.runtime.Mocks["newResource"] = ({ type, name, inputs, id }) => {
    const kind = KINDS.get(type);
    const existing = [...instances, ...projects].find((one) => one.id === id);
    const isOurs = kind !== undefined && !id;
    const { inputs: args, failures } = isOurs
      ? checked(kind, name, inputs, preview)
      : { inputs, failures: [] };
    wrong.push(...failures.map((reason) => `${kind?.name} "${name}": ${reason}`));
    const mocked = { type, name, id: id || `${name}-id`, args: withoutHidden(args) };
    if (kind !== undefined || type !== STACK) resources.push(mocked);
    const usual = kind === undefined ? {} : (existing ?? outputsOf(kind, mocked));
    return { id: mocked.id, state: { ...mocked.args, ...usual, ...outputs(mocked) } };
  };
  await pulumi.runtime.setMocks({ newResource, call }, project, stack, preview);
  currentRun().found = {
    instances: (filter) => instances.filter((one) => matchesFilter(one, filter)),
    projects,
  };
  const exported = await program();
  await pulumi.runtime.disconnect(); // waits until everything is declared
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  const exports = await resolved(pulumi.output({ ...exported }));
  resources.sort((one, other) => one.name.localeCompare(other.name));
  return {
    exports: exports as pulumi.Unwrap<Exports>,
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
const KINDS: ReadonlyMap<string, Kind> = new Map([
  [Instance.__pulumiType, instanceKind],
  [Project.__pulumiType, projectKind],
]);

/** Any UUID: it makes the generated names of all runs the same. */
const NAMESPACE = "b2c1e9a4-3f0e-4d55-9a39-2f3a5a0c7c11";

type Properties = Readonly<Record<string, unknown>>;

/** Returns the inputs as the provider checks and completes them. */
function checked(kind: Kind, name: string, inputs: Properties, preview: boolean) {
  const key = preview ? inputs.__key : uuidV5(`${kind.name} ${name}`, NAMESPACE);
  const news = parseDeclared({ ...inputs, __key: key });
  const { inputs: checkedInputs, failures } = check(kind, { olds: undefined, news });
  return { inputs: toBag(checkedInputs), failures };
}

function withoutHidden(properties: Properties): Properties {
  const shown = Object.entries(properties).filter(
    ([name, value]) => !name.startsWith("__") && value !== undefined && !isUnknown(value),
  );
  return Object.fromEntries(shown);
}

/** Outputs as a service that has created the object would return them. Addresses are from a network that is reserved for documentation. */
function outputsOf(kind: Kind, { id, args }: MockedResource): Properties {
  const createdAt = "2026-01-01T00:00:00Z";
  if (kind === projectKind) return { createdAt };
  const { publicIp } = args;
  const isAddress = typeof publicIp === "string" && /[.:]/.test(publicIp);
  const ipAddress = isAddress
    ? publicIp
    : publicIp === "auto"
      ? `192.0.2.${1 + (hash("sha256", id, "buffer").readUInt32BE() % 254)}`
      : undefined;
  const revision = hash("sha256", id).slice(0, 8);
  const url = `https://api.example.com/v1/instances/${id}`;
  return { status: "running", createdAt, revision, url, ipAddress, additionalProperties: {} };
}
