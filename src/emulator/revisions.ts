import type { Behaviour } from "./behaviour";
import type { Refusal } from "./problems";
import type { EmulatorRequest } from "./request";
import type { StoredInstance } from "./state";

const tag = '(W/)?"([^"]*)"';
const tagList = new RegExp(`^\\s*${tag}(\\s*,\\s*${tag})*\\s*$`);

/** Returns the `ETag` header of an instance, unless the revision is only in a field (§4.5). */
export function revisionHeaders({ revision }: Behaviour, instance: StoredInstance): Record<string, string> {
  if (revision === "weak") return { etag: `W/"${instance.revision}"` };
  return revision === "header" || revision === "both" ? { etag: `"${instance.revision}"` } : {};
}

/** Returns the field that contains the revision of an instance, unless the revision is only in the `ETag` header. */
export function revisionFields(behaviour: Behaviour, instance: StoredInstance): Record<string, string> {
  const { revision, revisionField, getObject } = behaviour;
  const headerOnly = revision === "header" || revision === "weak";
  if (revision === "none" || (headerOnly && getObject === 200)) return {};
  return { [revisionField]: instance.revision };
}

/**
 * Compares the If-Match header with the current revision (§4.5). A different revision is rejected with 412. A header other than a list of
 * quoted tags is rejected with 400, even `*`, which would overwrite any revision.
 */
export function checkIfMatch(
  request: EmulatorRequest,
  instance: StoredInstance,
  behaviour: Behaviour,
): Refusal | undefined {
  const header = request.headers["if-match"];
  if (header === undefined) return undefined;
  if (!tagList.test(header)) {
    return { status: 400, code: "invalid_if_match", detail: "If-Match must be a quoted revision tag" };
  }
  const matches = [...header.matchAll(new RegExp(tag, "g"))].some(
    ([, weak, value]) => value === instance.revision && (weak === undefined || behaviour.revision === "weak"),
  );
  if (matches) return undefined;
  return { status: 412, code: "revision_mismatch", detail: "the instance was changed in the meantime" };
}
