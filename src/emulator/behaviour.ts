import type { Normalization } from "./normalization";

/** What an operation does: `create` and `delete` an instance or a project, or `update` an instance. */
export type OperationKind = "create" | "update" | "delete";

/** Which replies a switch applies to: lists, single objects, or both. */
export type Replies = "lists" | "reads" | "both";

/**
 * How the emulated service decides what the specification leaves open. You can change every switch while the service runs.
 * A change applies from the next request on, except that a running operation keeps its duration.
 */
export interface Behaviour {
  // Operations (§2.3, §3, §4.6)

  /** Duration of an operation in milliseconds. With 0, it is done at the first poll. @default 300 */
  operationMs: number | ((kind: OperationKind) => number);
  /** How `progress` grows: evenly, in quarters, staying at 0.4 until the end, or not reported. @default "linear" */
  progress: "linear" | "bursts" | "stuck" | "absent";
  /** Seconds in the `Retry-After` header of a poll of an unfinished operation. @default none */
  retryAfter?: number | undefined;
  /** Form of that header: seconds, an HTTP date, or a date as written by C's `asctime`. @default "seconds" */
  retryAfterForm: "seconds" | "http-date" | "asctime";
  /** Whether a finished operation reports `finished_at`. @default true */
  finishedAt: boolean;
  /** Milliseconds for which a finished operation can be polled, after which it is purged. 0: never. @default for ever */
  operationKeptMs?: number | undefined;
  /** How many polls report that an operation finished before it is purged. 0: none. @default all */
  operationKeptPolls?: number | undefined;
  /** Status of a poll of a purged operation. @default 404 */
  purgedStatus: 404 | 410;
  /** Status of a failed operation. @default "failed" */
  failedStatus: string;
  /** Whether a failed operation carries its problem document. @default true */
  failedHasError: boolean;
  /** Every so manieth operation fails. @default none fails */
  failEvery?: number | undefined;
  /** What a failed creation leaves behind: nothing, or the object with the status "error". @default "nothing" */
  failedCreation: "nothing" | "object";

  // Links (§2.3, §4.1)

  /** `result_url`: a URL, a path, a URL even while the operation runs, or missing. @default "absolute" */
  resultLink: "absolute" | "relative" | "early" | "missing";
  /** `Location` of a 202: a URL, a path, or missing. @default "absolute" */
  location: "absolute" | "relative" | "missing";
  /** Origin of the URLs in `Location`, `result_url` and `url`, for example an internal host. @default the service's own */
  linkOrigin?: string | undefined;
  /** Origin of a URL in `Location` only. @default `linkOrigin` */
  locationOrigin?: string | undefined;
  /** Origin of a URL in `result_url` only. @default `linkOrigin` */
  resultOrigin?: string | undefined;

  // Replies to changes (§4.1, §4.2, §4.5, §4.8)

  /** Reply to the creation of a project: 202 starts an operation. @default 201 */
  projectPost: 200 | 201 | 202;
  /** Fields of the request that the creation of an instance ignores, such as `labels`. @default none */
  postIgnores: readonly string[];
  /** Reply to an update: the instance, nothing, or an operation that makes the change when it ends. @default 200 */
  putReply: 200 | 204 | 202;
  /** Reply to a deletion: nothing, an operation, the deleted object, or "method not allowed". @default 204 */
  deleteObject: 204 | 202 | 200 | 405;
  /** Object in the reply to a change: all fields, or `id`, `status` and the revision only. @default "full" */
  writeReply: "full" | "slim";
  /**
   * What a 202 contains: the operation and `Location`; `Location` without a body; or, for PUT and DELETE, neither (a POST
   * then has `Location` only). @default "operation"
   */
  acceptedReply: "operation" | "location" | "bare";
  /** PUT or DELETE of an instance that is being updated: accepted, or rejected with 409. @default "accepted" */
  busyInstance: "accepted" | "refused";
  /** Whether a second object of the same name (for instances, in the same project) is rejected with 409. @default false */
  uniqueNames: boolean;
  /** Text of every rejection with 409. @default the reason */
  conflictDetail?: string | undefined;

  // Objects (§2.1, §2.2, §4.8)

  /**
   * Ids: `prj-…`, `ins-…` and `op-…`; a counter per kind, as strings or as JSON numbers, so that a project and an instance
   * may have the same id; a slug of the name (operations keep `op-…`); or UUIDs. @default "prefixed"
   */
  ids: "prefixed" | "counter" | "number" | "slug" | "uuid";
  /** Whether a counter or slug of a deleted object is assigned again. @default false */
  idReuse: boolean;
  /** Whether an instance gets another id with another name, if ids are slugs. @default false */
  idsFollowNames: boolean;
  /** GET of one project or instance: offered, unknown path, or "method not allowed". @default 200 */
  getObject: 200 | 404 | 405;
  /**
   * Where an instance carries its revision tag (§4.5): the ETag header, a field, both, a weak ETag, or nowhere. If only a
   * header has it and `getObject` isn't 200, the field is present too, because nobody could read the tag otherwise.
   * @default "both"
   */
  revision: "header" | "body" | "both" | "weak" | "none";
  /**
   * When an instance gets another revision tag: with every change, or only if what replies show has changed, as if the tag were a hash of
   * it. @default "changes"
   */
  revisionOf: "changes" | "shown";
  /** Name of the field with the revision tag. @default "revision" */
  revisionField: string;
  /** Field with the address that "auto" became. `public_ip`: the address replaces "auto". @default "ip_address" */
  ipField: "ip_address" | "public_address" | "public_ip";
  /** What `public_ip` shows: what was asked for, or always null, because only the address is shown. @default "mode" */
  publicIpShows: "mode" | "null";
  /** Status of an instance once its creation is done. @default "running" */
  statusAfterCreate: string;
  /** When an instance that is being created becomes visible: with the 202, or when it is done. @default "at-once" */
  instanceVisible: "at-once" | "when-done";
  /** Status with which a deleted instance remains visible, for example "deleted". @default it disappears */
  softDelete?: string | undefined;
  /** Milliseconds for which a deleted instance remains visible. @default for ever */
  softDeleteMs?: number | undefined;
  /** Where a deleted instance remains visible. @default "both" */
  softDeleteIn: Replies;
  /** Fields of instances that no reply shows, although requests set them. @default none */
  unshown: readonly string[];
  /** Further fields of every instance. @default none */
  extraFields: Readonly<Record<string, unknown>>;
  /** How values are normalized in replies. A request may use either form. @default as they were sent */
  normalize: readonly Normalization[];
  /** Rewrites an instance in replies. Lists and single objects may differ. @default as it is */
  spelling?: ((instance: Readonly<Record<string, unknown>>, place: "item" | "object") => object) | undefined;

  // JSON

  /** Whether fields without a value are omitted, or null; null also replaces empty lists and maps. @default "omitted" */
  absentValues: "omitted" | "null";
  /** Whether `progress` and the `status` of a problem are strings. @default false */
  numbersAsText: boolean;
  /** Whether dates in lists have fractional seconds. @default false */
  fractionalDates: boolean;

  // Lists (§2.5, §4.3, §4.4)

  /** Whether GET /v1/instances accepts a `limit` over 100, or rejects it with 422. @default "accepted" */
  instanceLimit: "accepted" | "refused";
  /** Maximum number of items in a page, whatever `limit` is. @default none */
  pageSize?: number | undefined;
  /** Fields that list items don't have. @default none */
  itemsWithout: readonly string[];
  /** `items` of a page without items. @default "list" */
  emptyItems: "list" | "null" | "absent";
  /** `next_cursor` of the last page: null, absent, or an empty string. @default "null" */
  lastCursor: "null" | "absent" | "empty";

  // Lag

  /** By how many milliseconds reads lag behind changes. @default 0 */
  lagMs: number;
  /** How many further requests it takes until reads show a change. @default 0 */
  lagRequests: number;
  /** Which reads lag. @default "lists" */
  lagIn: Replies;
  /** What lags: everything, only the fields of objects, or only which objects exist. @default "all" */
  lagPart: "all" | "fields" | "objects";

  // Idempotency keys (§4.7)

  /** Which first replies a repeated key returns. @default "all" */
  cachedReplies: "all" | "successes";
  /** Milliseconds for which a first reply is kept. @default 24 hours */
  keyRetentionMs: number;
  /** Status if a key is reused with another request. @default 422 */
  keyReuseStatus: 422 | 409 | 400;
  /** Problem code if a key is reused with another request. @default "idempotency_key_reused" */
  keyReuseCode: string;

  // Problem documents (§2.4)

  /** `trace_id`: a new one each time, always the same, all zeros, empty, or missing. @default "fresh" */
  traceIds: "fresh" | "constant" | "zeros" | "empty" | "missing";
  /** `detail`: a string, a list of strings, missing, or a string with 80,000 spaces. @default "text" */
  problemDetail: "text" | "list" | "missing" | "long";

  // Permissions of the token (§5)

  /** Names or ids of projects that the token can't access, with all that is in them; "*": all. @default none */
  hiddenProjects: readonly string[];
  /** Whether the token can only read. @default false */
  readOnlyToken: boolean;
  /** Status if a permission is missing. Lists omit hidden objects. @default 403 */
  forbiddenStatus: 403 | 404 | 401;
}

/** The switches that {@link Behaviour} has unless you change them. */
export const defaultBehaviour: Readonly<Behaviour> = {
  operationMs: 300,
  progress: "linear",
  retryAfterForm: "seconds",
  finishedAt: true,
  purgedStatus: 404,
  failedStatus: "failed",
  failedHasError: true,
  failedCreation: "nothing",
  resultLink: "absolute",
  location: "absolute",
  projectPost: 201,
  postIgnores: [],
  putReply: 200,
  deleteObject: 204,
  writeReply: "full",
  acceptedReply: "operation",
  busyInstance: "accepted",
  uniqueNames: false,
  ids: "prefixed",
  idReuse: false,
  idsFollowNames: false,
  getObject: 200,
  revision: "both",
  revisionOf: "changes",
  revisionField: "revision",
  ipField: "ip_address",
  publicIpShows: "mode",
  statusAfterCreate: "running",
  instanceVisible: "at-once",
  softDeleteIn: "both",
  unshown: [],
  extraFields: {},
  normalize: [],
  absentValues: "omitted",
  numbersAsText: false,
  fractionalDates: false,
  instanceLimit: "accepted",
  itemsWithout: [],
  emptyItems: "list",
  lastCursor: "null",
  lagMs: 0,
  lagRequests: 0,
  lagIn: "lists",
  lagPart: "all",
  cachedReplies: "all",
  keyRetentionMs: 24 * 60 * 60 * 1000,
  keyReuseStatus: 422,
  keyReuseCode: "idempotency_key_reused",
  traceIds: "fresh",
  problemDetail: "text",
  hiddenProjects: [],
  readOnlyToken: false,
  forbiddenStatus: 403,
};
