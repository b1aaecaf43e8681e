import { isDeepStrictEqual } from "node:util";
import type { Emulator, StoredInstance, StoredProject } from "../../src/emulator";
import type { Deployment, StateResource } from "../harness/engine";
import { ownStates } from "../harness/state";
import { type DeclaredResource, NETWORK, type Program } from "./programs";

/** A violation of a promise. */
export interface Finding {
  /**
   * `orphan`: an object that the state doesn't record. `duplicate`: a second object of a resource. `leak`: a secret in
   * the wrong place. `mismatch`: anything else.
   */
  readonly kind: "orphan" | "duplicate" | "leak" | "mismatch";
  readonly words: string;
}

interface Wanted {
  readonly resource: string;
  /**
   * The given name at the service, or the possible prefixes of a generated one: the current and former names of the
   * resource.
   */
  readonly names: readonly string[];
  readonly isNameGiven: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Arguments that `ignoreChanges` lists. The object has their values from the state. */
  readonly ignored: readonly string[];
}

/** Objects of somebody else in the same account. */
export interface Others {
  /** The objects, by {@link keyOf}. */
  readonly keys: ReadonlySet<string>;
  readonly asTheyWere: string;
}

type Kind = "project" | "instance";

/** Returns a key for an object. The ids of a project and an instance may be the same. */
export function keyOf(kind: Kind, id: string): string {
  return `${kind}s/${id}`;
}

/** Returns the keys of the objects that the state records. */
export function keysIn(states: readonly StateResource[]): string[] {
  return states.flatMap(({ type, id }) =>
    id === undefined ? [] : keyOf(type.endsWith(":Project") ? "project" : "instance", id),
  );
}

/** Returns all objects of the service, by key. */
export function objectsIn({ projects, instances }: Emulator): Map<string, StoredProject | StoredInstance> {
  return new Map([
    ...[...projects].map(([id, one]) => [keyOf("project", id), one] as const),
    ...[...instances].map(([id, one]) => [keyOf("instance", id), one] as const),
  ]);
}

/**
 * Adds objects of somebody else. In an account without any other objects, the provider can't tell a deleted project
 * from a wrong account. After a killed `destroy` that had deleted everything, it would ask for a manual check.
 */
export function addOthers(emulator: Emulator): Others {
  const project = emulator.addProject({ name: "somebody-else" });
  const instance = emulator.addInstance({ project: project.id, name: "web0" });
  return othersOf(emulator, [keyOf("project", project.id), keyOf("instance", instance.id)]);
}

/** Records the current values of these objects as those of somebody else. */
export function othersOf(emulator: Emulator, all: Iterable<string>): Others {
  const keys = new Set(all);
  return { keys, asTheyWere: describe(emulator, keys) };
}

function describe(emulator: Emulator, keys: ReadonlySet<string>): string {
  return JSON.stringify([...objectsIn(emulator)].filter(([key]) => keys.has(key)));
}

/** Compares the service and the state with each other, and both with the program. Without a program, nothing may remain. */
export function compare(
  emulator: Emulator,
  others: Others,
  deployment: Deployment,
  program: Program | undefined,
): Finding[] {
  const states = ownStates(deployment);
  const own = <T extends { readonly id: string }>(kind: Kind, objects: ReadonlyMap<string, T>): T[] =>
    [...objects.values()].filter(({ id }) => !others.keys.has(keyOf(kind, id)));
  const projects = own("project", emulator.projects);
  const instances = own("instance", emulator.instances);
  const wanted = program && wantedOf(program, states);
  const unsettled = instances.filter(({ status }) => status !== "running");
  return [
    ...compareKind("Project", projects, states, wanted?.projects ?? []),
    ...compareKind("Instance", instances, states, wanted?.instances ?? []),
    ...unsettled.map(({ id, status }) => mismatch(`instance ${id} is ${status}`)),
    ...(describe(emulator, others.keys) === others.asTheyWere
      ? []
      : [mismatch("objects of somebody else were changed")]),
  ];
}

function wantedOf({ project, instances }: Program, states: readonly StateResource[]) {
  const { id } = states.find(({ urn }) => urn.endsWith(`::${project.resource}`)) ?? {};
  return {
    projects: [named(project, { region: project.region })],
    instances: instances.map((instance) => {
      const {
        image,
        flavor,
        publicIp: public_ip,
        labels = {},
        sshKeys: ssh_keys = [],
        ignores = [],
      } = instance;
      const fields = { project: id, image, flavor, network: NETWORK, public_ip, labels, ssh_keys };
      return named(instance, fields, ignores);
    }),
  };
}

function named(
  { resource, name, formerly = [] }: DeclaredResource,
  fields: Readonly<Record<string, unknown>>,
  ignored: readonly string[] = [],
): Wanted {
  const generated = [resource, ...formerly].map((one) => `${one}-`);
  return {
    resource,
    names: name === undefined ? generated : [name],
    isNameGiven: name !== undefined,
    fields,
    ignored,
  };
}

type Objects = readonly { readonly id: string; readonly fields: Readonly<Record<string, unknown>> }[];

function compareKind(
  type: "Project" | "Instance",
  objects: Objects,
  states: readonly StateResource[],
  wanted: readonly Wanted[],
): Finding[] {
  const own = states.filter(({ urn }) => urn.includes(`cloudinfra:${type}::`));
  const known = new Set(own.map(({ id }) => id));
  const declared = new Set(wanted.map(({ resource }) => resource));
  const findings = own
    .filter(({ urn }) => !declared.has(urn.slice(urn.lastIndexOf("::") + 2)))
    .map(({ urn, id }) => mismatch(`the state has ${urn} (${id}), which the program doesn't declare`));
  for (const one of wanted) findings.push(...compareOne(type, one, objects, own));
  for (const { id, fields } of objects) {
    if (known.has(id)) continue;
    const twin = wanted.find((one) => isName(one, fields.name));
    findings.push({
      kind: twin ? "duplicate" : "orphan",
      words: `${type} ${id} (${JSON.stringify(fields)}) is missing from the state${twin ? `, which records another ${twin.resource}` : ""}`,
    });
  }
  return findings;
}

function compareOne(type: string, one: Wanted, objects: Objects, own: readonly StateResource[]): Finding[] {
  const entries = own.filter(({ urn }) => urn.endsWith(`::${one.resource}`));
  const [entry] = entries;
  if (
    entry === undefined ||
    entries.length > 1 ||
    entry.delete ||
    entry.pendingReplacement ||
    entry.initErrors?.length
  )
    return [
      mismatch(
        `the state has ${entries.length} entries for ${type} ${one.resource}: ${JSON.stringify(entries)}`,
      ),
    ];
  const object = objects.find(({ id }) => id === entry.id);
  if (object === undefined)
    return [
      mismatch(`${type} ${one.resource} is ${entry.id} in the state, but doesn't exist at the service`),
    ];
  const { outputs = {} } = entry;
  const wanted = { ...one.fields, ...Object.fromEntries(one.ignored.map((name) => [name, outputs[name]])) };
  const differing = Object.entries(wanted)
    .filter(([field, value]) => !isDeepStrictEqual(object.fields[field] ?? undefined, value))
    .map(
      ([field, value]) => `${field} is ${JSON.stringify(object.fields[field])}, not ${JSON.stringify(value)}`,
    );
  if (!isName(one, object.fields.name))
    differing.push(`name is ${String(object.fields.name)}, not ${one.names.join(" or ")}`);
  return differing.length === 0
    ? []
    : [mismatch(`${type} ${one.resource} (${entry.id}): ${differing.join("; ")}`)];
}

function isName({ names, isNameGiven }: Wanted, actual: unknown): boolean {
  return (
    typeof actual === "string" &&
    names.some((name) => (isNameGiven ? actual === name : actual.startsWith(name)))
  );
}

export function mismatch(words: string): Finding {
  return { kind: "mismatch", words };
}
