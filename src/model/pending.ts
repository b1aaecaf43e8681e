import * as v from "valibot";
import { optional } from "../diagnostics/problem";
import type { Operation } from "../polling/wait";
import { type Arguments, type Field, isMap, type RemoteValues, type WireFields } from "./resource-fields";

/** Parses a request body. Returns `undefined` if the body is missing or invalid, for example after a manual change of the state. */
export function parseSentBody(body = ""): WireFields | undefined {
  try {
    const fields: unknown = JSON.parse(body);
    return isMap(fields) ? fields : undefined;
  } catch {
    return undefined;
  }
}

// States of all released versions must be supported, so an invalid member is treated as missing.
export const string = optional(v.string());
export const number = optional(v.number());
export const flag = optional(v.boolean());
export const strings = optional(v.pipe(v.array(v.string()), v.readonly()));
export const values = optional<RemoteValues>(v.record(v.string(), v.unknown()));

const record = v.object({
  key: string,
  body: string,
  at: number,
  operation: optional(v.object({ id: v.string(), url: v.string() })),
  failed: flag,
  /** For updates: the requested values. Null removes the property. */
  asked: values,
  provider: string,
  /** The names of the arguments that were secret when the creation or update was started. */
  secrets: strings,
  isAutonamed: flag,
  /** The ids of objects that resources have imported since the creation. The creation may have created one of these objects. */
  imported: strings,
  /** Whether the object may be in use, because an earlier run may have reported it to the engine. It is then never deleted (I3). */
  isLate: flag,
  /** For updates: whether the service may not have received the request. */
  isUnsure: flag,
  /** For updates: the revision in the reply. If the object still has this revision, all its values come from the update. */
  revision: string,
  /** For updates: the new id that the service has given the object. */
  otherId: string,
});

/** The record of a creation or an update with an unknown outcome. Its body may be secret, and a retry must send exactly the same body. */
export type Pending = v.InferOutput<typeof record>;

export const pendingSchema = optional(record);

/** Returns the name and the project in a creation request. The program may now contain a different project. */
export function sentFields({ body }: Pending) {
  const { name, project } = parseSentBody(body) ?? {};
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  return { name: text(name), project: text(project) };
}

/** Returns the arguments in a creation request, or `undefined` if the request isn't recorded. */
export function argumentsSent(fields: readonly Field[], { body }: Pending): Arguments | undefined {
  const sent = parseSentBody(body);
  return sent && Object.fromEntries(fields.map(({ name, wire }) => [name, sent[wire]]));
}

const PREFIX = "operation/";

/** Returns the placeholder id of a resource while the id of its object is unknown. */
export function placeholderId({ operation, key }: Pick<Pending, "operation" | "key">): string {
  // A damaged record may have neither an operation nor a key.
  return `${PREFIX}${operation?.id ?? (key === undefined ? "unknown" : `key-${key}`)}`;
}

export function isPlaceholder(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** Returns the members of an operation that are recorded, so that a later run can poll it. */
export function operationRecord({ id, url }: Operation): NonNullable<Pending["operation"]> {
  return { id, url };
}

export function toOperation({ id, url }: { id: string; url: string }): Operation {
  return { id, url, status: "pending" };
}
