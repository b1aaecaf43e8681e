import * as v from "valibot";
import { isUnknown } from "./unknowns";

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

/** Arguments of a project (§4.2). */
export const projectArguments = v.object({
  name: v.optional(orUnknown(string)),
  region: orUnknown(string),
});

/** Arguments of an instance (§2.2, §4.4). */
export const instanceArguments = v.object({
  project: orUnknown(string),
  name: v.optional(orUnknown(string)),
  image: orUnknown(string),
  flavor: orUnknown(string),
  network: orUnknown(string),
  publicIp: v.optional(orUnknown(string)),
  sshKeys: v.optional(orUnknown(list(orUnknown(sshKey)))),
  labels: v.optional(orUnknown(labels)),
});
