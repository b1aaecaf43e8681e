import { isDeepStrictEqual } from "node:util";
import type { Properties } from "../../../src/model/state";

/**
 * A property that somebody may change, by its name in errors: the program's name, or `labels.<key>` for a label.
 * Unmanaged properties have their name at the service.
 */
export type Target = string;

export type Fields = Readonly<Record<string, unknown>>;

const WIRE: Readonly<Record<string, string>> = { publicIp: "public_ip", sshKeys: "ssh_keys" };

/** Returns a target's value in a program or a state. */
export function inProperties(target: Target, properties: Fields): unknown {
  const key = labelKey(target);
  return key === undefined ? properties[target] : labelsOf(properties)[key];
}

/** Returns a target's value in an object at the service. */
export function atService(target: Target, fields: Fields): unknown {
  const key = labelKey(target);
  return key === undefined ? fields[WIRE[target] ?? target] : labelsOf(fields)[key];
}

/** Returns the fields that set the target to a value. `undefined` removes it. */
export function written(target: Target, value: unknown, fields: Fields): Fields {
  const key = labelKey(target);
  if (key === undefined) return { [WIRE[target] ?? target]: value ?? null };
  const { [key]: _old, ...others } = labelsOf(fields);
  return { labels: value === undefined ? others : { ...others, [key]: value } };
}

/** Returns whether two values are equal. Undefined, null and empty values are equal. */
export function same(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(bare(one), bare(other));
}

/** Returns every target with a value in a state or a program. */
export function targetsOf(...all: readonly Properties[]): Target[] {
  const names = ["name", "region", "image", "flavor", "network", "publicIp", "sshKeys"];
  const keys = all.flatMap((properties) => Object.keys(labelsOf(properties)));
  return [...names, ...[...new Set(keys)].map((key) => `labels.${key}`)].filter((target) =>
    all.some((properties) => inProperties(target, properties) !== undefined),
  );
}

export const isLabel = (target: Target): boolean => labelKey(target) !== undefined;

function labelKey(target: Target): string | undefined {
  return target.startsWith("labels.") ? target.slice("labels.".length) : undefined;
}

function labelsOf({ labels }: Fields): Properties {
  return { ...Object(labels) };
}

function bare(value: unknown): unknown {
  return value === null || (Array.isArray(value) && value.length === 0) ? undefined : value;
}
