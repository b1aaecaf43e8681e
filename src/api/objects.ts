import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { optional, type Problem, percentDecoded, textSchema } from "../diagnostics/problem";
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

/** The forms of a label in a string: `role=web` or `role:web`. Keys don't contain `=`. */
const PAIRS = [/^\s*([^\s=][^=]*)=(.*)$/s, /^\s*([^\s=:][^=:]*):\s*(.*)$/s];

/**
 * Returns labels (§2.2) as a map. Some services return labels as a list of strings or of keys and values. Any other form is returned
 * unchanged, and so are strings such as `cost:team=a7` if they don't reveal the separator.
 */
function toLabels(shown: unknown): unknown {
  if (shown === null || shown === undefined) return shown;
  if (typeof shown !== "object" && NO_LABELS.test(String(shown).trim())) return {};
  if (!Array.isArray(shown)) return shown;
  const texts = shown.filter((item) => typeof item === "string");
  const forms = PAIRS.filter((form) => texts.every((text) => form.test(text)));
  const [form] = forms.length === 1 ? forms : [];
  const inTexts = texts.map((text) => form?.exec(text)?.slice(1) ?? []);
  const maps = shown.filter((item) => typeof item !== "string").map(membersOf);
  // Without any value, `{ key: "role" }` may also be a label named "key".
  const areKeyed = maps.some((members) => members.has("value"));
  const inMaps = maps.map((members) => [
    members.get("key") ?? members.get("name"),
    members.get("value") ?? "",
  ]);
  const pairs = [...inTexts, ...(areKeyed ? inMaps : [])].filter(([key]) => typeof key === "string");
  const labels = Object.fromEntries(pairs);
  return Object.keys(labels).length === shown.length ? labels : shown;
}

/** Returns the members of an object by their lowercase names. */
function membersOf(item: unknown): ReadonlyMap<string, unknown> {
  const entries = typeof item === "object" && item !== null ? Object.entries(item) : [];
  return new Map(entries.map(([name, value]) => [name.toLowerCase(), value]));
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
  const texts = names.flatMap((name) => v.parse(optional(textSchema), fields[name]) ?? []);
  return texts.map(opaqueTag).find((tag) => tag !== undefined);
}

function opaqueTag(text: string): string | undefined {
  const tag = text.trim().replace(/^W\//i, "");
  return tag.replace(/^"(.*)"$/, "$1") || undefined;
}
