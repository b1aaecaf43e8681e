import { Alias } from "@pulumi/pulumi/proto/alias_pb";
import type * as resource from "@pulumi/pulumi/proto/resource_pb";
import { fromStruct } from "../provider";
import type { Timeouts } from "../state/resource";
import type { Values } from "../values/values";

/** The registration of a resource by a program. */
export interface Goal {
  readonly type: string;
  readonly name: string;
  readonly custom: boolean;
  readonly parent: string;
  readonly inputs: Values;
  readonly provider: string;
  /** The provider's version, which selects the default provider. */
  readonly version: string;
  readonly dependencies: readonly string[];
  readonly propertyDependencies: Readonly<Record<string, string[]>>;
  readonly protect: boolean | undefined;
  readonly retainOnDelete: boolean | undefined;
  readonly deleteBeforeReplace: boolean | undefined;
  readonly ignoreChanges: readonly string[];
  readonly replaceOnChanges: readonly string[];
  readonly additionalSecretOutputs: readonly string[];
  readonly aliases: readonly AliasGoal[];
  /** The id of an object to import, if the program gives one. */
  readonly importId: string;
  readonly customTimeouts: Timeouts;
  readonly deletedWith: string;
  readonly replaceWith: readonly string[];
  readonly sourcePosition: string;
}

/** A former identity. Empty parts are the same as those of the resource itself. */
export interface AliasGoal {
  readonly urn?: string;
  readonly name?: string;
  readonly type?: string;
  readonly stack?: string;
  readonly project?: string;
  readonly parent?: string;
  readonly noParent?: boolean;
}

/** The request of a program to read a resource. */
export interface ReadGoal {
  readonly type: string;
  readonly name: string;
  readonly id: string;
  readonly parent: string;
  readonly provider: string;
  readonly version: string;
  readonly inputs: Values;
  readonly dependencies: readonly string[];
  readonly additionalSecretOutputs: readonly string[];
}

export function readGoal(request: resource.ReadResourceRequest): ReadGoal {
  return {
    type: request.getType(),
    name: request.getName(),
    id: request.getId(),
    parent: request.getParent(),
    provider: request.getProvider(),
    version: request.getVersion(),
    inputs: fromStruct(request.getProperties()),
    dependencies: request.getDependenciesList(),
    additionalSecretOutputs: request.getAdditionalsecretoutputsList(),
  };
}

export function goal(request: resource.RegisterResourceRequest): Goal {
  const inputs = fromStruct(request.getObject());
  const dependencies = request.getDependenciesList();
  const byProperty: Record<string, string[]> = {};
  request.getPropertydependenciesMap().forEach((value, key) => {
    byProperty[key] = value.getUrnsList();
  });
  // If the program doesn't list properties, the dependencies apply to all of them.
  const fallback = Object.keys(byProperty).length === 0 ? dependencies : [];
  return {
    type: request.getType(),
    name: request.getName(),
    custom: request.getCustom(),
    parent: request.getParent(),
    inputs,
    provider: request.getProvider(),
    version: request.getVersion(),
    dependencies,
    propertyDependencies: {
      ...Object.fromEntries(Object.keys(inputs).map((key) => [key, [...fallback]])),
      ...byProperty,
    },
    protect: request.hasProtect() ? request.getProtect() : undefined,
    retainOnDelete: request.hasRetainondelete() ? request.getRetainondelete() : undefined,
    deleteBeforeReplace:
      request.getDeletebeforereplacedefined() || request.getDeletebeforereplace()
        ? request.getDeletebeforereplace()
        : undefined,
    ignoreChanges: request.getIgnorechangesList(),
    replaceOnChanges: request.getReplaceonchangesList(),
    additionalSecretOutputs: request.getAdditionalsecretoutputsList(),
    aliases: [
      ...request.getAliasurnsList().map((urn) => ({ urn })),
      ...request.getAliasesList().map((alias) => aliasGoal(alias, request.getAliasspecs())),
    ],
    importId: request.getImportid(),
    customTimeouts: timeouts(request.getCustomtimeouts()),
    deletedWith: request.getDeletedwith(),
    replaceWith: request.getReplaceWithList(),
    sourcePosition: sourcePosition(request),
  };
}

/** `wellFormed` is false for the Node SDK's form, in which an empty parent URN means that there is no parent. */
function aliasGoal(alias: Alias, wellFormed: boolean): AliasGoal {
  const spec = alias.getSpec();
  if (!spec) return { urn: alias.getUrn() };
  const parts = {
    name: spec.getName(),
    type: spec.getType(),
    stack: spec.getStack(),
    project: spec.getProject(),
  };
  const parent = spec.getParenturn();
  if (wellFormed) return { ...parts, parent, noParent: spec.getNoparent() };
  if (spec.getParentCase() === Alias.Spec.ParentCase.NOPARENT)
    return { ...parts, noParent: !spec.getNoparent() };
  return parent === "" ? { ...parts, noParent: true } : { ...parts, parent };
}

function timeouts(request: resource.RegisterResourceRequest.CustomTimeouts | undefined): Timeouts {
  const given = { create: request?.getCreate(), update: request?.getUpdate(), delete: request?.getDelete() };
  const set = Object.entries(given).flatMap(([key, text]) => (text ? [[key, seconds(text)]] : []));
  return Object.fromEntries(set);
}

/** Parses durations of options: `90s`, `5m`, `1h30m`, `1.5h`. */
function seconds(text: string): number {
  const unit: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) {
    throw new Error(`unable to parse customTimeout value ${text}`);
  }
  return parts.reduce((sum, [, amount, name]) => sum + Number(amount) * (unit[name ?? ""] ?? 0), 0);
}

function sourcePosition(request: resource.RegisterResourceRequest): string {
  const position = request.getSourceposition();
  return position ? `${position.getUri()}#${position.getLine()},${position.getColumn()}` : "";
}
