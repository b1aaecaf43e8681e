import * as v from "valibot";
import type { Operation } from "../polling/wait";
import { type Arguments, type Field, isMap, type RemoteValues, type WireFields } from "./kinds";

/** Parses a request body. Returns `undefined` if it is damaged, for example because somebody edited the state. */
export function parseSentBody(body: string): WireFields | undefined {
  try {
    const fields: unknown = JSON.parse(body);
    return isMap(fields) ? fields : undefined;
  } catch {
    return undefined;
  }
}

// States of all released versions must parse, so a malformed member counts as missing.
export const string = v.fallback(v.optional(v.string()), undefined);
export const number = v.fallback(v.optional(v.number()), undefined);
export const flag = v.fallback(v.optional(v.boolean()), undefined);
export const strings = v.fallback(v.optional(v.pipe(v.array(v.string()), v.readonly())), undefined);
export const values = v.fallback(
  v.optional(
    v.pipe(
      v.record(v.string(), v.unknown()),
      v.transform((record): RemoteValues => record),
    ),
  ),
  undefined,
);

const record = v.object({
  key: string,
  body: string,
  at: number,
  operation: v.fallback(v.optional(v.object({ id: v.string(), url: v.string() })), undefined),
  failed: flag,
  /** For updates: the requested values. Null removes the property. */
  asked: values,
  /** Name of the explicit provider that started the creation. */
  provider: string,
  /** Names of the arguments that were secret when it was started. */
  secrets: strings,
  /** For creations: whether the name was generated. */
  isAutonamed: flag,
  /** Ids of objects that resources have imported since. The creation may have created one of them. */
  imported: strings,
  /** For updates: whether the request may not have reached the service. */
  isUnsure: flag,
  /** For updates: the revision in the reply. While the object still has this revision, all values that it shows are those of the update. */
  revision: string,
  /** For updates: the new id that the service has given the object. */
  otherId: string,
});

/**
 * The record of a creation or an update whose outcome isn't known yet. It is a secret in the state, because the body may contain secret
 * inputs. The body is the exact string that was sent, because a retry must repeat it.
 */
export type Pending = v.InferOutput<typeof record>;

/** Parses the record. A malformed value counts as missing. */
export const pendingSchema = v.fallback(v.optional(record), undefined);

/** The name and the project in a creation request. The program may use another project by now. */
export interface Sent {
  readonly name: string | undefined;
  readonly project: string | undefined;
}

export function sentFields({ body = "{}" }: Pending): Sent {
  const { name, project } = parseSentBody(body) ?? {};
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  return { name: text(name), project: text(project) };
}

/** Returns the arguments in a creation request, or `undefined` if the request is unknown. */
export function argumentsSent(fields: readonly Field[], { body = "" }: Pending): Arguments | undefined {
  const sent = parseSentBody(body);
  return sent && Object.fromEntries(fields.map(({ name, wire }) => [name, sent[wire]]));
}

const PREFIX = "operation/";

/** Returns the placeholder id of a resource whose object has no known id yet. */
export function placeholderId({ operation, key }: Pick<Pending, "operation" | "key">): string {
  // A damaged record may have neither an operation nor a key.
  return `${PREFIX}${operation?.id ?? (key === undefined ? "unknown" : `key-${key}`)}`;
}

export function isPlaceholder(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** Returns an operation of an earlier process in a form that can be polled. */
export function toOperation({ id, url }: { id: string; url: string }): Operation {
  return { id, url, status: "pending" };
}

const KEY_KEPT_MS = 23 * 3_600_000;

/**
 * Whether the service still repeats its first reply for this key. It keeps keys for 24 hours (§4.7), minus one hour here for clock
 * differences. A time in the future is invalid.
 */
export function isKeyKept({ at }: Pending, now = Date.now()): boolean {
  return at !== undefined && Math.abs(now - at) < KEY_KEPT_MS;
}
