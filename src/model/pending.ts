import * as v from "valibot";
import type { Operation } from "../polling/operation";
import type { Arguments, Field, RemoteValues, WireFields } from "./fields";

/** Parses the body of a request. Returns `undefined` if it is damaged: a state or a file may have been edited. */
export function parseSentBody(body: string): WireFields | undefined {
  try {
    const fields: unknown = JSON.parse(body);
    return typeof fields === "object" && fields !== null && !Array.isArray(fields)
      ? { ...fields }
      : undefined;
  } catch {
    return undefined;
  }
}

const record = v.object({
  key: v.fallback(v.optional(v.string()), undefined),
  body: v.fallback(v.optional(v.string()), undefined),
  at: v.fallback(v.optional(v.number()), undefined),
  operation: v.fallback(v.optional(v.object({ id: v.string(), url: v.string() })), undefined),
  failed: v.fallback(v.optional(v.boolean()), undefined),
  /** For updates: the requested values. Null removes the property. */
  asked: v.fallback(
    v.optional(
      v.pipe(
        v.record(v.string(), v.unknown()),
        v.transform((values): RemoteValues => values),
      ),
    ),
    undefined,
  ),
  /** Name of the explicit provider through which a creation began. */
  provider: v.fallback(v.optional(v.string()), undefined),
  /** Names of the arguments that were secret when it began. */
  secrets: v.fallback(v.optional(v.pipe(v.array(v.string()), v.readonly())), undefined),
  /** Whether the name that a creation asked for was made up, and not given by the program. */
  isAutonamed: v.fallback(v.optional(v.boolean()), undefined),
  /** Ids of objects that resources have imported since: a creation may have made one of them. */
  imported: v.fallback(v.optional(v.pipe(v.array(v.string()), v.readonly())), undefined),
  /** Whether nobody knows if the service has accepted that update. */
  isUnsure: v.fallback(v.optional(v.boolean()), undefined),
  /** The revision that the reply to that update showed: as long as the object has it, all that is shown is the update's work. */
  revision: v.fallback(v.optional(v.string()), undefined),
  /** The id that the service has given the object with that update. */
  otherId: v.fallback(v.optional(v.string()), undefined),
});

/**
 * What the state records about a creation or an update whose outcome isn't known yet. The state keeps it as a secret, because the body may
 * contain secret inputs. The body is the exact string that was sent, because a retry must repeat it.
 */
export type Pending = v.InferOutput<typeof record>;

/** Parses a `pending` property. A value of any other form counts as absent. */
export const pendingSchema = v.fallback(v.optional(record), undefined);

/** What a creation has asked for. The program may name another project by now. */
export interface Sent {
  readonly name: string | undefined;
  readonly project: string | undefined;
}

export function sentFields({ body = "{}" }: Pending): Sent {
  const { name, project } = parseSentBody(body) ?? {};
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  return { name: text(name), project: text(project) };
}

/** The arguments of a creation request; undefined if the request is not known. */
export function argumentsSent(fields: readonly Field[], { body = "" }: Pending): Arguments | undefined {
  const sent = parseSentBody(body);
  return sent && Object.fromEntries(fields.map(({ name, wire }) => [name, sent[wire]]));
}

const PREFIX = "operation/";

/** The id of a resource whose object's id is not known yet. */
export function placeholderId({ operation, key }: Pick<Pending, "operation" | "key">): string {
  // A damaged record may have neither.
  return `${PREFIX}${operation?.id ?? (key === undefined ? "unknown" : `key-${key}`)}`;
}

export function isPlaceholder(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** An operation of an earlier process, to be polled. */
export function toOperation({ id, url }: { id: string; url: string }): Operation {
  return { id, url, status: "pending" };
}

const KEY_KEPT_MS = 23 * 3_600_000;

/**
 * Whether the service still answers this key with its first reply: 24 hours (§4.7), less one for clocks that differ. A time
 * that is yet to come is no time at all.
 */
export function isKeyKept({ at }: Pending, now = Date.now()): boolean {
  return at !== undefined && Math.abs(now - at) < KEY_KEPT_MS;
}
