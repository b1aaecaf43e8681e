/** What an operation is doing: `create` and `delete` of an instance or project, `update` of an instance. */
export type OperationKind = "create" | "update" | "delete";

/**
 * How the emulated service decides what the specification leaves open. Every switch can be changed while the
 * service runs; a change counts from the next request on, except that an operation keeps the time it was given.
 */
export interface Behaviour {
  /** Milliseconds an operation takes; 0: it is done at the first poll (§3 gives no times). @default 300 */
  operationMs: number | ((kind: OperationKind) => number);
  /**
   * How `progress` grows: evenly, in steps of a quarter, staying at 0.4 until the end, or not told at all (§2.3
   * only says that it grows). @default "linear"
   */
  progress: "linear" | "bursts" | "stuck" | "absent";
  /** Seconds in a `Retry-After` header on polls of an unfinished operation (§4.6 shows none). @default none */
  retryAfter?: number | undefined;
  /**
   * `result_url`: a whole URL, a path, a whole URL already while the operation runs, or left out (§2.3 and §4.6
   * show a link, not its form). @default "absolute"
   */
  resultLink: "absolute" | "relative" | "early" | "missing";
  /** `Location` of a 202: a whole URL, a path, or left out (§4.1 shows the path only). @default "absolute" */
  location: "absolute" | "relative" | "missing";
  /** Origin of absolute links, in place of the service's own (§2.3 names none). @default none */
  linkOrigin?: string | undefined;
  /** Reading one project or instance, also by the result link (§4.8): offered, unknown path, or not allowed. @default 200 */
  getObject: 200 | 404 | 405;
  /** Deleting a project or instance (§4.8): done at once, an operation, or not allowed. @default 204 */
  deleteObject: 204 | 202 | 405;
  /**
   * Where an instance carries its revision tag (§4.5): the ETag header, a field, both, a weak ETag, nowhere. Where
   * only a header has it and `getObject` is not 200, the field is there all the same: nobody could read it otherwise.
   * @default "both"
   */
  revision: "header" | "body" | "both" | "weak" | "none";
  /** Name of the field with the revision tag (§2.2, §4.5). @default "revision" */
  revisionField: string;
  /** Answer to an update (§4.5): the instance, nothing, or an operation at whose end the change is made. @default 200 */
  putReply: 200 | 204 | 202;
  /** Answer to the creation of a project (§4.2 leaves 200 or 201 open; §1 speaks of operations). @default 201 */
  projectPost: 200 | 201 | 202;
  /** Status of an operation that failed (§3). @default "failed" */
  failedStatus: string;
  /** Whether a failed operation carries its problem (§2.3). @default true */
  failedHasError: boolean;
  /** Whether an operation that has ended says when (§2.3). @default true */
  finishedAt: boolean;
  /** Whether dates in list items carry fractional seconds (§2.1: they may). @default false */
  fractionalDates: boolean;
  /** Whether GET /v1/instances takes a `limit` over 100, or refuses it with 422 (§4.4, §8). @default "accepted" */
  instanceLimit: "accepted" | "refused";
  /** Most items in a page, whatever `limit` asks for (§4.3 bounds the request, not the answer). @default none */
  pageSize?: number | undefined;
  /** Field with the address that "auto" became; `public_ip`: it takes the place of "auto" (§2.2). @default "ip_address" */
  ipField: "ip_address" | "public_address" | "public_ip";
  /** Status of an instance whose creation is done (§3 names "running"). @default "running" */
  statusAfterCreate: string;
  /** When an instance being created can be seen in lists: from the 202 on, or once it is done (§3). @default "at-once" */
  instanceVisible: "at-once" | "when-done";
  /** Whether a second object of the same name is refused with 409 (§4.1, §4.2; instances: in their project). @default false */
  uniqueNames: boolean;
  /** Which first replies a repeated Idempotency-Key brings back (§4.7): all, or successes only. @default "all" */
  cachedReplies: "all" | "successes";
  /** Further fields that every instance carries (§2.2: fields not shown). @default none */
  extraFields: Readonly<Record<string, unknown>>;
  /**
   * How an instance is spelt in replies: what is stored, and what else is shown of it, as it goes out; an item of a list may be
   * spelt in another way than an instance by itself (§2.2 and §4.4 show one example each). @default as it is
   */
  spelling?: ((instance: Readonly<Record<string, unknown>>, place: "item" | "object") => object) | undefined;
}

/** What {@link Behaviour} is where nothing else is asked for. */
export const defaultBehaviour: Readonly<Behaviour> = {
  operationMs: 300,
  progress: "linear",
  resultLink: "absolute",
  location: "absolute",
  getObject: 200,
  deleteObject: 204,
  revision: "both",
  revisionField: "revision",
  putReply: 200,
  projectPost: 201,
  failedStatus: "failed",
  failedHasError: true,
  finishedAt: true,
  fractionalDates: false,
  instanceLimit: "accepted",
  ipField: "ip_address",
  statusAfterCreate: "running",
  instanceVisible: "at-once",
  uniqueNames: false,
  cachedReplies: "all",
  extraFields: {},
};
