import { isDeepStrictEqual } from "node:util";
import type { Properties } from "../../../src/model/state";

/**
 * What somebody may change, as errors name it: a property of programs, `labels.<key>` for a single label. What no program
 * declares has its name at the service.
 */
export type Target = string;

export type Fields = Readonly<Record<string, unknown>>;

const WIRE: Readonly<Record<string, string>> = { publicIp: "public_ip", sshKeys: "ssh_keys" };

/** A target's value in a program or a state. */
export function inProperties(target: Target, properties: Fields): unknown {
  const key = labelKey(target);
  return key === undefined ? properties[target] : labelsOf(properties)[key];
}

/** A target's value in an object as the service holds it. */
export function atService(target: Target, fields: Fields): unknown {
  const key = labelKey(target);
  return key === undefined ? fields[WIRE[target] ?? target] : labelsOf(fields)[key];
}

/** What has to be written for the target to have that value; `undefined` is none. */
export function written(target: Target, value: unknown, fields: Fields): Fields {
  const key = labelKey(target);
  if (key === undefined) return { [WIRE[target] ?? target]: value ?? null };
  const { [key]: _old, ...others } = labelsOf(fields);
  return { labels: value === undefined ? others : { ...others, [key]: value } };
}

/** Whether two values mean the same: nothing, an empty one and one that is not there do. */
export function same(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(bare(one), bare(other));
}

/** Every target of which a state or a program has a value. */
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
