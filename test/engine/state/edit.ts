import { isList, isMap, mapValues, Reference, type Value } from "../values/values";
import type { StateFile } from "./file";
import { dependents } from "./graph";
import { renamed } from "./renamed";
import { fromState, type Resource, toState } from "./resource";
import type { Operation } from "./snapshot";
import { parseUrn, stackType } from "./urn";

/** The state between commands. */
export interface Editable {
  resources: Resource[];
  operations: Operation[];
}

/** Reads the states from the files, changes them, and writes them, unless the change fails. */
export function edit(files: readonly StateFile[], change: (...states: Editable[]) => void): void {
  const before = files.map((file) => file.read());
  const states = before.map(({ resources = [], pending_operations: operations = [] }) => ({
    resources: resources.map(fromState),
    operations: operations.map(({ type, resource }) => ({ type, resource: fromState(resource) })),
  }));
  change(...states);
  for (const [index, { resources, operations }] of states.entries()) {
    const { pending_operations: _operations, ...rest } = before[index] ?? {};
    const pending = operations.map(({ type, resource }) => ({ type, resource: toState(resource) }));
    files[index]?.write({
      ...rest,
      resources: resources.map(toState),
      ...(pending.length > 0 ? { pending_operations: pending } : {}),
    });
  }
}

/** Marks resources, as `pulumi state taint`, `untaint`, `protect` and `unprotect` do. */
export function mark(
  state: Editable,
  urns: readonly string[],
  change: Partial<Pick<Resource, "taint" | "protect">>,
): void {
  const marked = urns.map((urn) => {
    const found = state.resources.find((resource) => resource.urn === urn && !resource.delete);
    if (!found) throw notFound(urn);
    return found;
  });
  for (const resource of marked) Object.assign(resource, change);
}

/** Removes a resource from the state, as `pulumi state delete` does. */
export function forget(
  state: Editable,
  urn: string,
  { force = false, targetDependents = false }: { force?: boolean; targetDependents?: boolean },
): void {
  const [resource, ...others] = state.resources.filter((candidate) => candidate.urn === urn);
  if (!resource) throw notFound(urn);
  if (others.length > 0) throw new Error("Resource URN ambiguously referred to multiple resources");
  const needing = dependents(state.resources, resource, { children: true });
  const condemned = [resource, ...needing];
  if (!force && resource.protect) throw isProtected(resource);
  if (needing.length > 0 && !targetDependents) {
    const list = needing.map((dependent) => ` * "${parseUrn(dependent.urn).name}" (${dependent.urn})`);
    throw new Error(
      `${urn} can't be safely deleted because the following resources depend on it:\n${list.join("\n")}`,
    );
  }
  for (const dependent of force ? [] : needing) if (dependent.protect) throw isProtected(dependent);
  state.resources = state.resources.filter((candidate) => !condemned.includes(candidate));
}

/** Renames a resource, as `pulumi state rename` does. Its inputs and outputs don't change. */
export function rename(state: Editable, urn: string, name: string): void {
  const [resource, ...others] = state.resources.filter((candidate) => candidate.urn === urn);
  if (!resource) throw notFound(urn);
  if (others.length > 0) throw new Error("The input URN ambiguously refers to multiple resources");
  const urnNow = [...urn.split("::").slice(0, 3), name].join("::");
  if (urnNow !== urn && state.resources.some((candidate) => candidate.urn === urnNow))
    throw new Error("The chosen new urn for the state corresponds to an already existing resource");
  const now = (known: string) => (known === urn ? urnNow : known);
  state.resources = state.resources.map((candidate) => renamed(candidate, now));
}

/** Renames the stack in all URNs, as `pulumi stack rename` does. Strings that happen to be URNs don't change. */
export function renameStack(state: Editable, from: string, to: string): void {
  const now = (urn: string) => inStack(urn, from, to);
  const change = (resource: Resource): Resource => ({
    ...renamed(resource, now),
    inputs: mapValues(resource.inputs, (value) => withReferenceUrns(value, now)),
    outputs: mapValues(resource.outputs, (value) => withReferenceUrns(value, now)),
  });
  state.resources = state.resources.map(change);
  state.operations = state.operations.map(({ type, resource }) => ({ type, resource: change(resource) }));
}

function inStack(urn: string, from: string, to: string): string {
  const { stack, project, qualifiedType, name } = parseUrn(urn);
  if (stack !== from) return urn;
  const named = qualifiedType === stackType ? `${project}-${to}` : name;
  return `urn:pulumi:${to}::${project}::${qualifiedType}::${named}`;
}

/** Secrets are encrypted in a real state file, so the CLI doesn't rename URNs in them. */
function withReferenceUrns(value: Value, now: (urn: string) => string): Value {
  if (value instanceof Reference) return new Reference(now(value.urn), value.id);
  if (isList(value)) return value.map((item) => withReferenceUrns(item, now));
  return isMap(value) ? mapValues(value, (item) => withReferenceUrns(item, now)) : value;
}

function notFound(urn: string): Error {
  return new Error(`No such resource "${urn}" exists in the current state`);
}

function isProtected({ urn }: Resource): Error {
  return new Error(`${urn} can't be safely deleted because it is protected`);
}
