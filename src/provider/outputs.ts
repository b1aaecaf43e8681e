import { isIP } from "node:net";
import type { ApiObject } from "../api/client";
import type { Call } from "./call";
import { instanceFields, labelsOf } from "./fields";
import type { Properties } from "./host";
import { projectKind } from "./kind";
import { plain } from "./plain";
import { hiddenInputs, hiddenOf } from "./state";

/** What a resource's outputs are made of. */
export interface Known {
  /** The checked inputs, or the state's properties: the hidden ones are kept. */
  readonly hidden: Properties;
  /** The values of the fields that the program manages. */
  readonly values: Properties;
  /** The service's own spelling of them, where it differs. */
  readonly words: Properties;
  /** The outputs before; what this reply does not carry is not known to have changed. */
  readonly before: Properties;
}

/** A resource's outputs. One that is also an input keeps the input's value, for previews echo inputs. */
export function outputsOf(call: Call, object: ApiObject, known: Known): Properties {
  const own =
    call.kind === projectKind ? projectOutputs(object, known) : instanceOutputs(call, object, known);
  return plain({
    ...own,
    ...known.values,
    ...hiddenInputs(hiddenOf(known.hidden)),
    __endpoint: call.session.client.endpoint,
    __words: Object.keys(known.words).length > 0 ? known.words : undefined,
  });
}

function projectOutputs({ fields }: ApiObject, { before }: Known): Properties {
  return {
    description: carried(fields, "description", before.description),
    createdAt: createdAt(fields, before),
  };
}

const REVISION_FIELDS = ["revision", "etag", "version", "resource_version", "revision_tag"];
const ADDRESS_FIELDS = ["ip_address", "public_address"];

function instanceOutputs({ session }: Call, { id, fields, revision }: ApiObject, known: Known): Properties {
  const { ipAddressField, revisionField } = session.settings;
  const { before } = known;
  const shown = new Set([
    ...["id", "status", "created_at", "url", ...ADDRESS_FIELDS, ...REVISION_FIELDS],
    ...instanceFields.map((field) => field.wire),
    ...[ipAddressField, revisionField].filter((name) => name !== undefined),
  ]);
  const others = Object.entries(fields).filter(([name]) => !shown.has(name));
  return {
    status: carried(fields, "status", before.status),
    createdAt: createdAt(fields, before),
    revision,
    url:
      carried(fields, "url", before.url) ?? `${session.client.endpoint}/instances/${encodeURIComponent(id)}`,
    ipAddress: ipAddress(fields, ipAddressField, known),
    additionalProperties: { ...labelsOf(before.additionalProperties), ...Object.fromEntries(others) },
  };
}

/** A text of the reply; what it does not carry is as before, and what it carries empty is none. */
function carried(fields: ApiObject["fields"], name: string, before: unknown): unknown {
  const value = fields[name];
  if (value === undefined) return before;
  return value === null ? undefined : String(value);
}

/** List items may carry fractions of a second that the creation's reply did not (§2.1): no change of the same moment. */
function createdAt(fields: ApiObject["fields"], before: Properties): unknown {
  const now = carried(fields, "created_at", before.createdAt);
  return sameSecond(now, before.createdAt) ? before.createdAt : now;
}

function sameSecond(one: unknown, other: unknown): boolean {
  const [a, b] = [one, other].map((text) => Math.floor(Date.parse(String(text)) / 1000));
  return a === b;
}

function ipAddress(
  fields: ApiObject["fields"],
  ownField: string | undefined,
  { values, before }: Known,
): unknown {
  const names = ownField === undefined ? [...ADDRESS_FIELDS, "public_ip"] : [ownField];
  const carriedNames = names.filter((name) => name in fields);
  const address = carriedNames
    .map((name) => fields[name])
    .find((value) => typeof value === "string" && isIP(value));
  if (address !== undefined || carriedNames.some((name) => name !== "public_ip")) return address;
  // The address went with the mode that asked for it.
  return before.publicIp === values.publicIp ? before.ipAddress : undefined;
}
