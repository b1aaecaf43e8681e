import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import type { ApiReply } from "./request";
import { objectSchema } from "./schema";

/** A project or an instance as the service shows it. */
export interface ApiObject {
  readonly id: string;
  /** Every field as received, in the service's spelling. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Opaque revision tag, without quotes and `W/`; undefined where the reply carries none. */
  readonly revision?: string | undefined;
  /** Whether the ETag header alone has the revision, although a field has a name that is usual for one. */
  readonly isInHeaderOnly?: boolean | undefined;
  /** Whether it was read at its own address: other replies, such as a list, may show fewer fields or more. */
  readonly isFromOwnUrl?: boolean | undefined;
}

/**
 * Reads the reply to a request for one object.
 *
 * @throws CloudInfraError `bad_reply` where it is none
 */
export function parseObject(reply: ApiReply, revisionField: string | undefined): ApiObject {
  const parsed = v.safeParse(objectSchema, reply.json);
  if (!parsed.success) throw badReply(reply, "the reply is no object with an id");
  return toObject(parsed.output, reply.etag, revisionField);
}

/**
 * Reads the reply to a request for the object of this id.
 *
 * @param id undefined where only its address is known
 * @throws CloudInfraError `bad_reply` also where it is another object: nothing that is true of that one may be told of this
 */
export function parseObjectWithId(
  id: string | undefined,
  reply: ApiReply,
  revisionField: string | undefined,
): ApiObject {
  const object = parseObject(reply, revisionField);
  if (id === undefined || object.id === id) return object;
  throw badReply(reply, `the address of ${id} answers with ${object.id}`);
}

/** An object out of its fields. An item of a list has no ETag of its own. */
export function toObject(
  fields: Readonly<Record<string, unknown>> & { readonly id: string },
  etag: string | undefined,
  revisionField: string | undefined,
): ApiObject {
  return {
    id: fields.id,
    fields,
    revision: revisionOf(fields, etag, revisionField),
    ...(hasRevisionOnlyInHeader(fields, etag, revisionField) && { isInHeaderOnly: true }),
  };
}

/** A success whose content breaks the rules of the API: what was asked for may well have been done. */
export function badReply({ request, status }: ApiReply, message: string): CloudInfraError {
  return new CloudInfraError("bad_reply", message, { ...request, status, sent: true });
}

const USUAL_FIELDS = ["revision", "etag", "version", "resource_version", "revision_tag"];

/**
 * Finds an object's revision tag (§2.2, §4.5: where it is read is not shown). The ETag header comes before the body, unless the
 * user named the field.
 *
 * @param field the setting `revisionField`
 * @returns the opaque tag without quotes and `W/`
 */
export function revisionOf(
  fields: Readonly<Record<string, unknown>>,
  etag: string | undefined,
  field: string | undefined,
): string | undefined {
  const header = etag === undefined ? undefined : opaqueTag(etag);
  if (field !== undefined) return revisionInFields(fields, [field]) ?? header;
  return header ?? revisionInFields(fields, USUAL_FIELDS);
}

/**
 * Whether only the ETag header has the revision: it has another tag than a field with a usual name, such as `version`, which must then hold
 * something else.
 *
 * @param field the setting `revisionField`
 */
export function hasRevisionOnlyInHeader(
  fields: Readonly<Record<string, unknown>>,
  etag: string | undefined,
  field: string | undefined,
): boolean {
  const header = revisionOf({}, etag, undefined);
  const inFields = revisionInFields(fields, USUAL_FIELDS);
  return field === undefined && header !== undefined && inFields !== undefined && header !== inFields;
}

function revisionInFields(
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
): string | undefined {
  for (const name of names) {
    const value = fields[name];
    const tag =
      typeof value === "number" ? String(value) : typeof value === "string" ? opaqueTag(value) : undefined;
    if (tag !== undefined) return tag;
  }
  return undefined;
}

function opaqueTag(text: string): string | undefined {
  const tag = text
    .trim()
    .replace(/^W\//i, "")
    .replace(/^"(.*)"$/, "$1");
  return tag === "" ? undefined : tag;
}
