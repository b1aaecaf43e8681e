import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { type Problem, percentDecoded, textSchema } from "../diagnostics/problem";
import { SSH_KEY } from "../diagnostics/redact";
import type { JsonObject } from "./body";
import type { ApiReply } from "./request";

/** A project or an instance as the service returned it. */
export interface ApiObject {
  readonly id: string;
  /** All fields of the reply, by their wire names. */
  readonly fields: JsonObject;
  /** The opaque revision tag without quotes and `W/`, or `undefined` if the reply contains no revision. */
  readonly revision?: string | undefined;
  /** Whether only the ETag header contains the revision, while a field with a common name, such as `version`, has a different meaning. */
  readonly isInHeaderOnly?: boolean | undefined;
  /** Whether the object comes from its own URL. Other replies, such as lists, may contain fewer or more fields. */
  readonly isFromOwnUrl?: boolean | undefined;
}

/**
 * Returns an id in a form in which ids from different replies can be compared. The id in a reply may differ from the id in its link in case,
 * be percent-encoded, or be a path or a URL. Lookups of objects compare ids exactly, because two forms would give an object two identities.
 */
export function comparableId(id: string): string {
  const decoded = percentDecoded(id.trim());
  const path = /(?:^|\/)(?:projects|instances|operations)\/([^/]+)\/?$/.exec(decoded);
  return (path?.[1] ?? decoded).toLowerCase();
}

export const idSchema = v.pipe(textSchema, v.nonEmpty());

/** The values that a service may return for an object without labels. */
const NO_LABELS = /^(?:|0|false|no|none|null|nil|n\/a|-)$/i;

/** Returns labels (§2.2) as a map. Some services return labels as a list of pairs or as strings. Any other form is returned unchanged. */
function toLabels(shown: unknown): unknown {
  if (shown === null || shown === undefined) return shown;
  if (typeof shown !== "object" && NO_LABELS.test(String(shown).trim())) return {};
  const parts: unknown = typeof shown === "string" ? shown.split(",") : shown;
  if (!Array.isArray(parts)) return shown;
  const items = parts.map(membersOf);
  const isKeyed = items.some((item) => keyIn(item) !== undefined && item.has("value"));
  const isMaps = items.some((item) => item.size === 1 && keyIn(item) === undefined);
  const texts = parts.filter((part) => typeof part === "string");
  const separator = separatorOf(texts, { isSplit: typeof shown === "string" && parts.length > 1 });
  const pairs = parts.flatMap((part: unknown) => toPair(part, { isKeyed, isMaps, separator }) ?? []);
  const labels = Object.fromEntries(pairs);
  return Object.keys(labels).length === parts.length ? labels : shown;
}

/**
 * Returns the only separator that splits all strings into a key and a value. Returns `undefined` if both separators do, as in
 * `cost:team=a7`.
 *
 * @param options.isSplit whether the strings were parts of one string. A value with a second separator may then contain a comma
 */
function separatorOf(texts: readonly string[], { isSplit }: { isSplit: boolean }): string | undefined {
  const [separator, ...others] = ["=", ":"].filter((one) =>
    texts.every((text) => pairIn(text, one) !== undefined),
  );
  if (separator === undefined || others.length > 0) return undefined;
  return isSplit && texts.some((text) => text.split(separator).length > 2) ? undefined : separator;
}

/** Splits a string at the first separator. Keys don't contain `=`. */
function pairIn(text: string, separator: string): readonly [string, string] | undefined {
  const [key = "", ...rest] = text.trimStart().split(separator);
  if (key === "" || key.includes("=") || rest.length === 0) return undefined;
  const value = rest.join(separator);
  return [key, separator === ":" ? value.trimStart() : value];
}

/** Returns the members of an object by their lowercase names. */
function membersOf(part: unknown): ReadonlyMap<string, unknown> {
  const entries = typeof part === "object" && part !== null ? Object.entries(part) : [];
  return new Map(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

function keyIn(members: ReadonlyMap<string, unknown>): string | undefined {
  const key = members.get("key") ?? members.get("name");
  return typeof key === "string" ? key : undefined;
}

/**
 * Parses `role=web`, `role:web`, `{ key: "role", value: "web" }`, or `{ role: "web" }`. The other items determine the form, because `{ key:
 * "role" }` may be a label named "key" or a pair with an empty value.
 */
function toPair(
  part: unknown,
  { isKeyed, isMaps, separator }: { isKeyed: boolean; isMaps: boolean; separator: string | undefined },
): readonly [readonly [string, unknown]] | undefined {
  if (typeof part === "string") {
    const pair = separator === undefined ? undefined : pairIn(part, separator);
    return pair && [pair];
  }
  const members = membersOf(part);
  const key = keyIn(members);
  if (isKeyed) return key === undefined ? undefined : [[key, members.get("value") ?? ""]];
  if (key !== undefined && !isMaps) return undefined;
  const [only, ...others] = Object.entries(Object(part));
  return only === undefined || others.length > 0 ? undefined : [only];
}

/** Returns SSH keys (§2.2) as strings. Some services return objects that contain the key, such as `{ id: "7", public_key: "ssh-…" }`. */
function toKeys(shown: unknown): unknown {
  const isKey = (member: unknown): boolean => typeof member === "string" && SSH_KEY.test(member);
  const toKey = (item: unknown): unknown => [...membersOf(item).values()].find(isKey) ?? item;
  return Array.isArray(shown) ? shown.map(toKey) : shown;
}

/** The schema of a project (§2.1) or an instance (§2.2): any object with an id. */
export const objectSchema = v.looseObject({
  id: idSchema,
  labels: v.optional(v.pipe(v.unknown(), v.transform(toLabels))),
  ssh_keys: v.optional(v.pipe(v.unknown(), v.transform(toKeys))),
});

/** Parses the reply to a request for one object. Throws `bad_reply` if the reply contains no object, or not the one with the given id. */
export function parseObject(reply: ApiReply, revisionField: string | undefined, id?: string): ApiObject {
  const parsed = v.safeParse(objectSchema, reply.json);
  if (!parsed.success) throw badReply(reply, "the reply isn't an object with an id");
  const object = toObject(parsed.output, reply.etag, revisionField);
  if (id === undefined || object.id === id) return object;
  throw badReply(reply, `the service returned ${object.id} instead of ${id}`);
}

/** Creates an object from its fields. Items of a list have no ETag of their own. */
export function toObject(
  fields: JsonObject & { readonly id: string },
  etag: string | undefined,
  revisionField: string | undefined,
): ApiObject {
  return { id: fields.id, fields, ...revisionOf(fields, etag, revisionField) };
}

/** Creates the error for a successful reply with invalid content. The service may have processed the request. */
export function badReply({ request, status }: ApiReply, message: string, problem?: Problem): CloudInfraError {
  return new CloudInfraError("bad_reply", message, { ...request, status, sent: true, problem });
}

/** The common names of fields that contain the revision. */
export const REVISION_FIELDS = ["revision", "etag", "version", "resource_version", "revision_tag"];

/**
 * Finds the revision of an object, whose location the specification doesn't define (§2.2, §4.5). The ETag header takes precedence over
 * fields with a common name.
 *
 * @param field the setting `revisionField`, which takes precedence over the header
 */
export function revisionOf(
  fields: JsonObject,
  etag: string | undefined,
  field: string | undefined,
): Pick<ApiObject, "revision" | "isInHeaderOnly"> {
  const header = etag === undefined ? undefined : opaqueTag(etag);
  if (field !== undefined) return { revision: revisionInFields(fields, [field]) ?? header };
  const inFields = revisionInFields(fields, REVISION_FIELDS);
  // If a field and the header have different values, the field has a different meaning.
  const isInHeaderOnly = header !== undefined && inFields !== undefined && header !== inFields;
  return { revision: header ?? inFields, ...(isInHeaderOnly && { isInHeaderOnly }) };
}

function revisionInFields(fields: JsonObject, names: readonly string[]): string | undefined {
  const tags = names.map((name) => v.safeParse(textSchema, fields[name]));
  return tags
    .map((tag) => (tag.success ? opaqueTag(tag.output) : undefined))
    .find((tag) => tag !== undefined);
}

function opaqueTag(text: string): string | undefined {
  const tag = text.trim().replace(/^W\//i, "");
  return tag.replace(/^"(.*)"$/, "$1") || undefined;
}
