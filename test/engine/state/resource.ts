import type { StateResource } from "../../harness/engine";
import { decodeMap, encodeMap, forState, type Values } from "../values/values";

export interface Timeouts {
  create?: number;
  update?: number;
  delete?: number;
}

/** A resource while a command runs. Steps change it in place, because entries are identified by object identity. */
export interface Resource {
  urn: string;
  type: string;
  custom: boolean;
  id: string;
  inputs: Values;
  outputs: Values;
  parent: string;
  provider: string;
  dependencies: string[];
  propertyDependencies: Record<string, string[]>;
  delete: boolean;
  pendingReplacement: boolean;
  external: boolean;
  protect: boolean;
  retainOnDelete: boolean;
  taint: boolean;
  initErrors: string[];
  additionalSecretOutputs: string[];
  ignoreChanges: string[];
  replaceOnChanges: string[];
  customTimeouts: Timeouts;
  /** The former URN, while a command renames the resource. It is never written. */
  formerUrn: string;
  deletedWith: string;
  replaceWith: string[];
  created: string;
  modified: string;
  sourcePosition: string;
}

export function newResource(fields: Pick<Resource, "urn" | "type" | "custom"> & Partial<Resource>): Resource {
  return {
    id: "",
    inputs: {},
    outputs: {},
    parent: "",
    provider: "",
    dependencies: [],
    propertyDependencies: {},
    delete: false,
    pendingReplacement: false,
    external: false,
    protect: false,
    retainOnDelete: false,
    taint: false,
    initErrors: [],
    additionalSecretOutputs: [],
    ignoreChanges: [],
    replaceOnChanges: [],
    customTimeouts: {},
    formerUrn: "",
    deletedWith: "",
    replaceWith: [],
    created: "",
    modified: "",
    sourcePosition: "",
    ...fields,
  };
}

/** Returns the URNs that the resource depends on, except for its provider. */
export function dependenciesOf(resource: Resource): string[] {
  return [
    ...(resource.parent === "" ? [] : [resource.parent]),
    ...resource.dependencies,
    ...Object.values(resource.propertyDependencies).flat(),
    ...(resource.deletedWith === "" ? [] : [resource.deletedWith]),
    ...resource.replaceWith,
  ];
}

function filled<T>(list: readonly T[]): T[] | undefined {
  return list.length > 0 ? [...list] : undefined;
}

function filledMap<T extends object>(map: T): T | undefined {
  return Object.keys(map).length > 0 ? map : undefined;
}

/** Converts a resource to an entry of the state file. Empty and false fields are omitted, as the engine does. */
export function toState(resource: Resource): StateResource {
  const optional = {
    delete: resource.delete || undefined,
    id: resource.id || undefined,
    inputs: filledMap(encodeMap(resource.inputs, forState)),
    outputs: filledMap(encodeMap(resource.outputs, forState)),
    parent: resource.parent || undefined,
    protect: resource.protect || undefined,
    taint: resource.taint || undefined,
    external: resource.external || undefined,
    dependencies: filled(resource.dependencies),
    initErrors: filled(resource.initErrors),
    provider: resource.provider || undefined,
    propertyDependencies: filledMap(resource.propertyDependencies),
    pendingReplacement: resource.pendingReplacement || undefined,
    additionalSecretOutputs: filled(resource.additionalSecretOutputs),
    customTimeouts: filledMap(resource.customTimeouts),
    retainOnDelete: resource.retainOnDelete || undefined,
    deletedWith: resource.deletedWith || undefined,
    replaceWith: filled(resource.replaceWith),
    created: resource.created || undefined,
    modified: resource.modified || undefined,
    sourcePosition: resource.sourcePosition || undefined,
    ignoreChanges: filled(resource.ignoreChanges),
    replaceOnChanges: filled(resource.replaceOnChanges),
  };
  const present = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return { urn: resource.urn, custom: resource.custom, type: resource.type, ...present };
}

export function fromState(state: StateResource): Resource {
  return newResource({
    urn: state.urn,
    type: state.type,
    custom: state.custom,
    id: state.id ?? "",
    inputs: decodeMap(state.inputs),
    outputs: decodeMap(state.outputs),
    parent: state.parent ?? "",
    provider: state.provider ?? "",
    dependencies: [...(state.dependencies ?? [])],
    propertyDependencies: Object.fromEntries(
      Object.entries(state.propertyDependencies ?? {}).map(([key, urns]) => [key, [...(urns ?? [])]]),
    ),
    delete: state.delete ?? false,
    pendingReplacement: state.pendingReplacement ?? false,
    external: state.external ?? false,
    protect: state.protect ?? false,
    retainOnDelete: state.retainOnDelete ?? false,
    taint: state.taint ?? false,
    initErrors: [...(state.initErrors ?? [])],
    additionalSecretOutputs: [...(state.additionalSecretOutputs ?? [])],
    ignoreChanges: [...(state.ignoreChanges ?? [])],
    replaceOnChanges: [...(state.replaceOnChanges ?? [])],
    customTimeouts: { ...state.customTimeouts },
    deletedWith: state.deletedWith ?? "",
    replaceWith: [...(state.replaceWith ?? [])],
    created: state.created ?? "",
    modified: state.modified ?? "",
    sourcePosition: state.sourcePosition ?? "",
  });
}
