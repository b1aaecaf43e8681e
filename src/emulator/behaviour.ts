import type { Normalization } from "./normalization";

/** The kind of an operation: the creation, the update or the deletion of an object. */
export type OperationKind = "create" | "update" | "delete";

/** The replies that a switch applies to: lists, reads of single objects, or both. */
export type Replies = "lists" | "reads" | "both";

/**
 * The switches of the emulator. Each switch sets a behavior that the specification doesn't define, and you can combine all switches. A
 * change takes effect with the next request, but a running operation keeps its duration.
 */
export interface Behaviour {
  // Operations

  /**
   * The duration of an operation in milliseconds, or a function of its kind. With 0, the operation is done at the first poll. @default 300
   */
  operationMs: number | ((kind: OperationKind) => number);
  /** The growth of `progress`: even, in quarters, constant at 0.4 until the end (`stuck`), or not reported. @default "linear" */
  progress: "linear" | "bursts" | "stuck" | "absent";
  /** The value of the `Retry-After` header in polls of a running operation, in seconds. @default no header */
  retryAfter?: number | undefined;
  /** The format of the `Retry-After` header in polls: seconds, an HTTP date, or a date as in C's `asctime`. @default "seconds" */
  retryAfterForm: "seconds" | "http-date" | "asctime";
  /** Whether a finished operation contains its end time (`finished_at`). @default true */
  finishedAt: boolean;
  /** The time after which a finished operation is purged, in milliseconds. With 0, no poll returns its end. @default never */
  operationKeptMs?: number | undefined;
  /** The number of polls that return the end of an operation before it is purged. With 0, no poll returns the end. @default no limit */
  operationKeptPolls?: number | undefined;
  /** The status of replies to polls of a purged operation. @default 404 */
  purgedStatus: 404 | 410;
  /** The `status` of a failed operation. @default "failed" */
  failedStatus: string;
  /** Whether a failed operation contains its problem document (`error`). @default true */
  failedHasError: boolean;
  /** Makes every nth operation fail. For example, 3 makes the third and the sixth operation fail. @default none fails */
  failEvery?: number | undefined;
  /** The result of a failed creation: nothing, or an object with the status `error`. @default "nothing" */
  failedCreation: "nothing" | "object";

  // Links

  /**
   * The `result_url` of an operation: a URL, a path, a URL even while the operation is running (`early`), or missing. @default "absolute"
   */
  resultLink: "absolute" | "relative" | "early" | "missing";
  /** The `Location` header of a 202: a URL, a path, or missing. @default "absolute" */
  location: "absolute" | "relative" | "missing";
  /**
   * The origin of all links (`Location`, `result_url` and `url`), for example the origin of an internal host. @default the emulator's
   * origin
   */
  linkOrigin?: string | undefined;
  /** The origin of `Location` only. @default `linkOrigin` */
  locationOrigin?: string | undefined;
  /** The origin of `result_url` only. @default `linkOrigin` */
  resultOrigin?: string | undefined;

  // Replies to changes

  /** The status of the reply to the creation of a project. 202 starts an operation. @default 201 */
  projectPost: 200 | 201 | 202;
  /** The fields that the creation of an instance ignores, such as `labels`. @default none */
  postIgnores: readonly string[];
  /**
   * The reply to an update: the instance (200), no content (204), or an operation that applies the change when it ends (202). @default 200
   */
  putReply: 200 | 204 | 202;
  /**
   * The reply to a deletion: no content (204), an operation (202), the deleted object (200), or "method not allowed" (405). @default 204
   */
  deleteObject: 204 | 202 | 200 | 405;
  /** The fields of the object in the reply to a change: all, or only `id`, `status` and the revision (`slim`). @default "full" */
  writeReply: "full" | "slim";
  /**
   * The content of a 202 reply: the operation and `Location`, only `Location`, or neither (`bare`). After the creation of an object, a 202
   * reply always contains `Location`. @default "operation"
   */
  acceptedReply: "operation" | "location" | "bare";
  /** Whether a change during another update of the instance is accepted, or rejected with 409. @default "accepted" */
  busyInstance: "accepted" | "refused";
  /** Whether the names of projects, and of instances within a project, must be unique. Duplicates are rejected with 409. @default false */
  uniqueNames: boolean;
  /** The `detail` of every problem document with status 409. @default the reason */
  conflictDetail?: string | undefined;

  // Objects

  /**
   * The style of ids. `prefixed` ids are `prj-…`, `ins-…` and `op-…`. `counter` counts each kind of object separately, so a project and an
   * instance may have the same id. `number` is a counter as a JSON number. `slug` derives the id of a project or an instance from its name.
   * @default "prefixed"
   */
  ids: "prefixed" | "counter" | "number" | "slug" | "uuid";
  /** Whether a new object may get the counter or slug of a deleted object. @default false */
  idReuse: boolean;
  /** Whether a renamed instance gets a new id, if ids are slugs. @default false */
  idsFollowNames: boolean;
  /** The reply to a GET of a single project or instance: the object, "not found" (404), or "method not allowed" (405). @default 200 */
  getObject: 200 | 404 | 405;
  /**
   * The place of an instance's revision in replies: the `ETag` header, a field, both, a weak `ETag`, or nowhere. If `getObject` isn't 200,
   * `header` and `weak` also add a field, because list items have no header. @default "both"
   */
  revision: "header" | "body" | "both" | "weak" | "none";
  /**
   * When the revision changes: with every change, or only if visible values change (`shown`), like a hash of these values.
   * @default "changes"
   */
  revisionOf: "changes" | "shown";
  /** The name of the field that contains the revision. @default "revision" */
  revisionField: string;
  /** The name of the field that contains the assigned address. With `public_ip`, the address replaces "auto". @default "ip_address" */
  ipField: "ip_address" | "public_address" | "public_ip";
  /** The value of `public_ip` in replies: as requested, or always null. @default "mode" */
  publicIpShows: "mode" | "null";
  /** The `status` of an instance after its creation. @default "running" */
  statusAfterCreate: string;
  /** When a new instance becomes visible: at the start or at the end of its creation. @default "at-once" */
  instanceVisible: "at-once" | "when-done";
  /** The `status` of a deleted instance that remains visible, such as "deleted". @default the instance disappears */
  softDelete?: string | undefined;
  /** The time for which a deleted instance remains visible with `softDelete`, in milliseconds. @default forever */
  softDeleteMs?: number | undefined;
  /** The replies in which a deleted instance remains visible with `softDelete`. @default "both" */
  softDeleteIn: Replies;
  /** The fields of instances that requests can set but that replies omit. @default none */
  unshown: readonly string[];
  /** The fields to add to every instance in replies. @default none */
  extraFields: Readonly<Record<string, unknown>>;
  /** The ways in which replies normalize values. Requests may contain either form. @default none */
  normalize: readonly Normalization[];
  /** Rewrites an instance in replies. `place` is `item` in lists and `object` in reads. @default no change */
  spelling?: ((instance: Readonly<Record<string, unknown>>, place: "item" | "object") => object) | undefined;

  // JSON

  /** The form of missing values in replies: omitted, or null. Empty lists and maps are treated as missing values. @default "omitted" */
  absentValues: "omitted" | "null";
  /** Whether `progress` and the `status` of problem documents are strings. @default false */
  numbersAsText: boolean;
  /** Whether dates in lists have fractional seconds. @default false */
  fractionalDates: boolean;

  // Lists

  /** Whether lists of instances accept a `limit` above 100, or reject it with 422. @default "accepted" */
  instanceLimit: "accepted" | "refused";
  /** The maximum number of items on a page, even if `limit` is higher. @default no maximum */
  pageSize?: number | undefined;
  /** The fields that list items omit. @default none */
  itemsWithout: readonly string[];
  /** The value of `items` on an empty page: an empty list, null, or absent. @default "list" */
  emptyItems: "list" | "null" | "absent";
  /** The value of `next_cursor` on the last page: null, absent, or an empty string. @default "null" */
  lastCursor: "null" | "absent" | "empty";

  // Lag

  /** The delay until replies contain a change, in milliseconds. @default 0 */
  lagMs: number;
  /** The number of further requests after which replies contain a change. @default 0 */
  lagRequests: number;
  /** The replies that lag behind changes. @default "lists" */
  lagIn: Replies;
  /** The data that lags: everything, the fields of objects, or the existence of objects. @default "all" */
  lagPart: "all" | "fields" | "objects";

  // Idempotency keys

  /** The first replies that are replayed for the same key: all replies, or only successes. @default "all" */
  cachedReplies: "all" | "successes";
  /** The time for which first replies are kept, in milliseconds. @default 86,400,000 (24 hours) */
  keyRetentionMs: number;
  /** The status of the reply if the key was already used for a different request. @default 422 */
  keyReuseStatus: 422 | 409 | 400;
  /** The problem code in the reply if the key was already used for a different request. @default "idempotency_key_reused" */
  keyReuseCode: string;

  // Problem documents

  /** The `trace_id` of problem documents: always different, always `tr-0`, all zeros, empty, or missing. @default "fresh" */
  traceIds: "fresh" | "constant" | "zeros" | "empty" | "missing";
  /** The `detail` of problem documents: a string, a list of strings, missing, or a string with 80,000 spaces. @default "text" */
  problemDetail: "text" | "list" | "missing" | "long";

  // Permissions of the token

  /** The names or ids of projects that the token can't access, including their instances. `*` hides all projects. @default none */
  hiddenProjects: readonly string[];
  /** Whether the token can only read. @default false */
  readOnlyToken: boolean;
  /** The status of the reply if the token lacks a permission. Lists omit hidden objects instead. @default 403 */
  forbiddenStatus: 403 | 404 | 401;
}

/** The default of each switch. Switches that are missing here have no default. */
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
