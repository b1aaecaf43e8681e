import * as v from "valibot";
import type { Field } from "./fields";
import { isUnknown } from "./unknown";

/** Lets through what only `up` will know. */
const orUnknown = <T extends v.GenericSchema>(schema: T) =>
  v.lazy((input): v.GenericSchema => (isUnknown(input) ? v.any() : schema));

const typeName = (input: unknown): string =>
  input === null
    ? "null"
    : Array.isArray(input)
      ? "a list"
      : `a ${typeof input === "object" ? "map" : typeof input}`;

const string = v.pipe(
  v.string((issue) => `must be a text, but is ${typeName(issue.input)}`),
  v.check((value) => value.trim() !== "", "must not be empty"),
);

const sshKey = v.pipe(
  v.string((issue) => `must be a text, but is ${typeName(issue.input)}`),
  v.check((key) => key.trim() !== "", "must not be empty"),
  v.check(
    (key) => !key.includes("PRIVATE KEY"),
    "is a private key: give the public one, from the file that ends in .pub, and take the private one out of the program",
  ),
  v.check(
    (key) => !/[\r\n]/.test(key),
    "must be one line: take off the line break, for instance with .trim() where the key is read from a file",
  ),
);

const labelKey = v.pipe(
  v.string(),
  v.check((key) => /^\S+$/.test(key), "a label's key must not be empty or hold white space"),
);

const isMap = (input: unknown): boolean =>
  typeof input === "object" && input !== null && !Array.isArray(input);

const labelMap = v.record(
  labelKey,
  orUnknown(v.string((issue) => `must be a text, but is ${typeName(issue.input)}`)),
);

const labels = v.pipe(
  v.custom<Record<string, unknown>>(
    isMap,
    (issue) => `must be a map of texts, but is ${typeName(issue.input)}`,
  ),
  labelMap,
);

const list = <T extends v.GenericSchema>(item: T) =>
  v.array(item, (issue) => `must be a list, but is ${typeName(issue.input)}`);

const schemas: Readonly<Record<Field["type"], v.GenericSchema>> = {
  text: orUnknown(string),
  keys: orUnknown(list(orUnknown(sshKey))),
  labels: orUnknown(labels),
};

/** Returns the schema of a resource's arguments: required properties, types, SSH keys and label keys. Unknown values pass. */
export function argumentsSchema(fields: readonly Field[]): v.GenericSchema {
  const entries = fields.map(({ name, type, argument }) => [
    name,
    argument === "required" ? schemas[type] : v.optional(schemas[type]),
  ]);
  return v.object(Object.fromEntries(entries));
}
