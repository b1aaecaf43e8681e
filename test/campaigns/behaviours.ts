import type { Behaviour } from "../../src/emulator";
import type { Random } from "./random";

/**
 * Draws replies, ids, lists and lag that vary between services without making anything impossible. Most switches keep
 * their defaults, so that the combinations vary.
 */
export function unusualBehaviour(random: Random): Partial<Behaviour> {
  const rarely = <T>(usual: T, ...others: [T, ...T[]]): T =>
    random.chance(0.75) ? usual : random.pick(others);
  const location = random.pick(["absolute", "relative", "missing"] as const);
  const itemsWithout = rarely<readonly string[]>(
    [],
    ["labels", "ssh_keys"],
    ["flavor", "network", "public_ip"],
  );
  const softDelete = rarely<string | undefined>(undefined, "deleted", "TERMINATED", "Deleted");
  return {
    location,
    ids: rarely<Behaviour["ids"]>("prefixed", "counter", "number", "slug", "uuid"),
    idReuse: random.chance(0.5),
    traceIds: rarely<Behaviour["traceIds"]>("fresh", "constant", "zeros", "empty", "missing"),
    problemDetail: rarely<Behaviour["problemDetail"]>("text", "list", "missing", "long"),
    writeReply: rarely("full", "slim"),
    // Without the operation's id anywhere, nobody can wait for the creation.
    acceptedReply: location === "missing" ? "operation" : rarely("operation", "location", "bare"),
    deleteObject: random.pick([204, 202, 202, 200]),
    softDelete,
    softDeleteMs: softDelete === undefined ? undefined : random.pick([undefined, 2_000, 60_000]),
    softDeleteIn: rarely<Behaviour["softDeleteIn"]>("both", "reads"),
    unshown: rarely<readonly string[]>([], ["ssh_keys"], ["public_ip"], ["ssh_keys", "public_ip"]),
    revisionOf: rarely("changes", "shown"),
    absentValues: rarely("omitted", "null"),
    numbersAsText: random.chance(0.2),
    // Without `items`, the provider rejects the reply as one of another service.
    emptyItems: rarely<Behaviour["emptyItems"]>("list", "null"),
    lastCursor: rarely<Behaviour["lastCursor"]>("null", "absent", "empty"),
    itemsWithout,
    // The provider can't keep what no reply shows (README), so GETs show the fields that lists omit.
    ...(itemsWithout.length > 0 && { getObject: 200 }),
    lagMs: rarely(0, 500, 2_000),
    lagIn: random.pick(["lists", "reads", "both"]),
    lagPart: random.pick(["all", "fields", "objects"]),
    linkOrigin: rarely<string | undefined>(undefined, "http://internal.example"),
    resultOrigin: rarely<string | undefined>(undefined, "http://10.0.0.1:8080"),
    normalize: rarely<Behaviour["normalize"]>(
      [],
      ["ids"],
      ["upper-case"],
      ["lower-case", "trimmed"],
      ["bare-keys"],
      ["fingerprints"],
      ["numeric-labels"],
    ),
    retryAfterForm: random.pick(["seconds", "http-date", "asctime"]),
    retryAfter: rarely<number | undefined>(undefined, 1),
  };
}

/** Draws a service that varies wherever the specification allows it, and supports everything that a life needs. */
export function randomBehaviour(random: Random): Partial<Behaviour> & { operationMs: number } {
  return {
    operationMs: random.integer(100, 1500),
    progress: random.pick(["linear", "bursts", "stuck", "absent"]),
    resultLink: random.pick(["absolute", "relative", "early"]),
    location: random.pick(["absolute", "relative", "missing"]),
    getObject: random.pick([200, 200, 404, 405]),
    deleteObject: random.pick([204, 202, 202]),
    revision: random.pick(["both", "header", "body", "weak"]),
    putReply: random.pick([200, 202, 202, 204]),
    projectPost: random.pick([201, 200, 202]),
    finishedAt: random.chance(0.7),
    fractionalDates: random.chance(0.3),
    instanceLimit: random.pick(["accepted", "refused"]),
    pageSize: random.pick([undefined, 1, 2]),
    instanceVisible: random.pick(["at-once", "when-done"]),
    uniqueNames: random.chance(0.4),
  };
}

/** Draws a service with occasional failed operations. A failed creation may leave its object behind. */
export function failingBehaviour(random: Random): Partial<Behaviour> {
  return {
    failEvery: random.pick([undefined, undefined, undefined, 4, 9]),
    failedCreation: random.pick(["nothing", "object"]),
    failedHasError: random.chance(0.7),
    failedStatus: random.pick(["failed", "error", "canceled"]),
    busyInstance: random.pick(["accepted", "accepted", "refused"]),
  };
}
