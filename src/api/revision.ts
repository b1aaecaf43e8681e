import { CloudInfraError } from "../diagnostics/error";

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

/** The tag as If-Match carries it: strong and quoted (§4.5). */
export function ifMatchOf(revision: string): string {
  if (!/^[\x21\x23-\x7e\u0080-\u00ff]+$/.test(revision)) {
    throw new CloudInfraError("bad_reply", "the revision has characters that can't stand in If-Match", {
      hint: "name the field that holds the revision with the setting `cloudinfra:revisionField`",
    });
  }
  return `"${revision}"`;
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
