import * as v from "valibot";
import { isAddress, isPrivate, publicAddressIn } from "../../model/addresses";
import { hasFingerprint, referencedValue } from "../../model/equality";
import type { Field, WireFields } from "../../model/fields";
import type { Kind } from "../../model/kinds";
import type { Properties } from "../../model/state";

/** An object as arguments. */
export interface ExpressedArguments {
  readonly args: Properties;
  /** The values that a program can't express, each with the reason: `labels["a b"]: …`. */
  readonly left: readonly string[];
  /** The required arguments that are not among `args`. */
  readonly lacking: readonly string[];
}

/**
 * Converts an object's fields to arguments that pass the provider's check. A value that doesn't pass is left out: a label alone, else
 * the whole argument. The program then doesn't manage it, so the object keeps it.
 */
export function expressArguments(kind: Kind, object: WireFields): ExpressedArguments {
  const args: Properties = {};
  const left: string[] = [];
  const isKept = (fault: string | undefined): boolean => {
    if (fault !== undefined) left.push(fault);
    return fault === undefined;
  };
  for (const field of kind.fields) {
    const { name, wire, type, addressFields } = field;
    // If the service shows no mode, an update without the public address would remove it. Another mode might replace it.
    const address = publicAddressIn(field, object);
    const value = convert(type, referencedValue(field, object[wire])) ?? address;
    if (isMap(value) && type === "labels") {
      const labels = Object.entries(value).filter(([key, label]) =>
        isKept(labelFault(kind, name, key, label)),
      );
      if (labels.length > 0) args[name] = Object.fromEntries(labels);
    } else if (value !== undefined && isKept(faultOf(kind, name, value))) args[name] = value;
    const elsewhere = value === undefined && addressFields !== undefined ? addressWithin(object) : undefined;
    if (elsewhere !== undefined)
      left.push(
        `${name}: the service shows no mode, but ${elsewhere}. Without ${name}, an update may remove the address`,
      );
  }
  const { issues = [] } = v.safeParse(kind.arguments, args);
  const missing = issues.map(({ path = [] }) => String(path[0]?.key));
  // Without a name, the provider would generate another one.
  return { args, left, lacking: args.name === undefined ? ["name", ...missing] : missing };
}

/** Why a program can't give a value, with the path; undefined if it can. */
function faultOf(kind: Kind, name: string, value: unknown): string | undefined {
  if (hasFingerprint(value)) return `${name}: the service shows fingerprints in place of the keys`;
  const { issues = [] } = v.safeParse(kind.arguments, { [name]: value }, { abortPipeEarly: true });
  const issue = issues.find(({ path }) => path?.[0]?.key === name);
  if (issue === undefined) return undefined;
  const steps = (issue.path ?? []).slice(1).map(({ key }) => `[${JSON.stringify(key)}]`);
  return `${name}${steps.join("")}: ${issue.message}`;
}

function labelFault(kind: Kind, name: string, key: string, label: unknown): string | undefined {
  const path = `${name}[${JSON.stringify(key)}]`;
  if (key === "__proto__") return `${path}: Pulumi's SDK drops a label with this key`;
  // The schema skips the keys "constructor" and "prototype".
  const fault = typeof label === "string" ? undefined : `${path}: must be a string`;
  return faultOf(kind, name, { [key]: label }) ?? fault;
}

/** A value in the type of its field if it can be converted, else as it is; undefined if it is empty. */
function convert(type: Field["type"], value: unknown): unknown {
  if (value === null || (Array.isArray(value) && value.length === 0)) return undefined;
  if (type === "text") return isBlank(value) ? undefined : asString(value);
  if (Array.isArray(value)) return value.map((key: unknown) => (typeof key === "string" ? key.trim() : key));
  if (type === "keys" || !isMap(value)) return value;
  const labels = Object.entries(value).filter(([, label]) => label !== null);
  return Object.fromEntries(labels.map(([key, label]) => [key, asString(label)]));
}

/** Says which public address an object shows, and where. */
function addressWithin(value: unknown, path: readonly string[] = []): string | undefined {
  if (isAddress(value)) return isPrivate(value) ? undefined : `${value} in ${path.join(".")}`;
  if (!isMap(value)) return undefined;
  const found = Object.entries(value).map(([key, inner]) => addressWithin(inner, [...path, key]));
  return found.find((address) => address !== undefined);
}

const isMap = (value: unknown): value is Properties =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isBlank = (value: unknown): boolean => typeof value === "string" && value.trim() === "";

const asString = (value: unknown): unknown =>
  typeof value === "number" || typeof value === "boolean" ? String(value) : value;
