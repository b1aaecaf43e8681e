import { isDeepStrictEqual } from "node:util";
import { retryAfterMs } from "../api/retry";
import type { Behaviour, Normalization } from "../emulator";
import { isMap, type WireFields } from "../model/kinds";
import { formatDuration } from "../polling/clock";
import type { Exchange } from "./lifecycle";
import { causeOf, type Finding, failing, limited, seen } from "./points";

// Findings about the replies to changes.

const formOf = (link: unknown): "missing" | "relative" | "absolute" =>
  typeof link !== "string" ? "missing" : link.startsWith("/") ? "relative" : "absolute";

/** Returns the status of a reply if it is one of the values of a switch. */
export function statusCode<const T extends number>({ reply }: Exchange, known: readonly T[]): T | undefined {
  return known.find((status) => status === reply.status);
}

/** Whether a 202 has neither an operation nor a Location. */
function isBare({ reply, json }: Exchange): boolean {
  return reply.status === 202 && !("status" in json) && reply.header("location") === undefined;
}

/** Returns the origin of a link if it isn't that of the service. */
function otherOrigin(link: unknown, { request }: Exchange): string | undefined {
  if (typeof link !== "string" || !URL.canParse(link)) return undefined;
  const { origin } = new URL(link);
  return origin === request.url.origin ? undefined : origin;
}

const withOrigin = (form: string, origin: string | undefined): string =>
  origin === undefined ? form : `${form} to ${origin}`;

export function creationReply(exchange: Exchange): Finding {
  const { reply, json } = exchange;
  const location = formOf(reply.header("location"));
  const locationOrigin = otherOrigin(reply.header("location"), exchange);
  const hasBody = "id" in json;
  const observation = `${reply.status}; ${hasBody ? "an operation or object" : "nothing"} in the body; Location: ${withOrigin(location, locationOrigin)}`;
  if (!hasBody && location === "missing")
    return failing("creation", observation, "The result of a creation can't be found");
  return seen("creation", observation, {
    location,
    ...(locationOrigin && { locationOrigin }),
    ...(reply.status === 202 && !hasBody && { acceptedReply: "location" }),
  });
}

/** Reports the course of an operation. @param from the polls, and other requests */
export function operationFinding(from: readonly Exchange[], first: Exchange): Finding {
  const polls = from.filter(({ request, json }) => isPoll(request.url) && "status" in json);
  const states = [first.json, ...polls.map(({ json }) => json)].filter((json) => "status" in json);
  const running = polls.filter(({ json }) => !isEnd(json));
  const last = states.at(-1) ?? {};
  const statuses = [...new Set(states.map(({ status }) => String(status)))];
  const progress = progressOf(
    states,
    running.map(({ json }) => json),
  );
  const isEarly = states.some((json) => !isEnd(json) && typeof json.result_url === "string");
  const link = formOf(last.result_url);
  const resultLink = link === "absolute" && isEarly ? "early" : link;
  const resultOrigin = otherOrigin(last.result_url, first);
  const finishedAt = typeof last.finished_at === "string";
  const operationMs = durationOf(last);
  const wait = retryAfterOf(running);
  const observation = [
    `Statuses: ${statuses.join(", ")}`,
    progress.text,
    `result link: ${withOrigin(resultLink, resultOrigin)}`,
    operationMs === undefined ? "the end is not dated" : `took ${formatDuration(operationMs)}`,
    wait?.text,
  ];
  const behaviour: Partial<Behaviour> = {
    ...progress.behaviour,
    ...{ finishedAt, resultLink },
    ...(resultOrigin && { resultOrigin }),
    ...(operationMs !== undefined && { operationMs }),
    ...wait?.behaviour,
  };
  const consequence =
    progress.behaviour.progress === "absent"
      ? "Pulumi's display shows no percentage, and waits are up to 20% longer"
      : undefined;
  return seen("operation", observation.filter(Boolean).join("; "), behaviour, consequence);
}

const isPoll = (url: URL): boolean => url.pathname.includes("/operations/");
const isEnd = ({ status }: WireFields): boolean => !/^(pending|running)$/i.test(String(status));

function progressOf(
  states: readonly WireFields[],
  running: readonly WireFields[],
): { text: string; behaviour: Partial<Behaviour> } {
  const numbers = (of: readonly WireFields[]): number[] =>
    of.flatMap(({ progress }) => (progress === undefined || progress === null ? [] : Number(progress)));
  if (numbers(states).length === 0) return { text: "no progress", behaviour: { progress: "absent" } };
  const values = numbers(running);
  const distinct = new Set(values);
  if (values.length < 2) return { text: "progress not observed", behaviour: {} };
  if (distinct.size === 1) return { text: "progress does not grow", behaviour: { progress: "stuck" } };
  return values.every((value) => Number.isInteger(value * 4))
    ? { text: "progress in quarters", behaviour: { progress: "bursts" } }
    : { text: "progress grows", behaviour: { progress: "linear" } };
}

function durationOf({ started_at: start, finished_at: end }: WireFields): number | undefined {
  const ms = Date.parse(String(end)) - Date.parse(String(start));
  return Number.isNaN(ms) ? undefined : ms;
}

function retryAfterOf(
  running: readonly Exchange[],
): { text: string; behaviour: Partial<Behaviour> } | undefined {
  const reply = running
    .map((exchange) => exchange.reply)
    .find(({ header }) => header("retry-after") !== undefined);
  const value = reply?.header("retry-after");
  if (reply === undefined || value === undefined) return undefined;
  const retryAfterForm = /^\d+$/.test(value) ? "seconds" : value.endsWith("GMT") ? "http-date" : "asctime";
  const retryAfter = Math.round((retryAfterMs(reply.header) ?? 0) / 1_000);
  const form = { seconds: "", "http-date": " as an HTTP date", asctime: " as a date of asctime" }[
    retryAfterForm
  ];
  return { text: `Retry-After: ${retryAfter} s${form}`, behaviour: { retryAfter, retryAfterForm } };
}

/** Compares an instance with what was requested at its creation, and later. */
export function createdValues(
  created: WireFields,
  sent: WireFields,
  later: readonly (readonly [sent: WireFields, shown: WireFields])[],
  isWhole: boolean,
): Finding {
  const names = Object.keys(sent).filter((name) => name !== "public_ip");
  const isEmpty = (value: unknown): boolean =>
    typeof value === "object" && Object.keys(Object(value)).length === 0;
  const postIgnores = names.filter(
    (name) => name in created && isEmpty(created[name]) && !isEmpty(sent[name]),
  );
  const unshown = isWhole ? names.filter((name) => !(name in created)) : [];
  const pairs = [[sent, created] as const, ...later];
  const normalized = names.filter((name) =>
    pairs.some(
      ([wanted, shown]) =>
        name in shown && !isEmpty(shown[name]) && !isDeepStrictEqual(shown[name], wanted[name]),
    ),
  );
  const normalize = [...new Set(pairs.flatMap(([wanted, shown]) => normalizationsOf(wanted, shown)))];
  const ways = normalize.length > 0 ? ` (${normalize.join(", ")})` : "";
  const status = String(created.status);
  const parts = [
    `Status: ${status}`,
    postIgnores.length > 0 && `ignored: ${postIgnores.join(", ")}`,
    unshown.length > 0 && `not returned: ${unshown.join(", ")}`,
    normalized.length > 0 && `normalized: ${normalized.join(", ")}${ways}`,
  ];
  const consequence =
    postIgnores.length > 0
      ? "The provider sets the ignored fields with an update after each creation"
      : unshown.length > 0
        ? "Changes that other people make to fields that aren't returned go unnoticed"
        : undefined;
  const behaviour = { statusAfterCreate: status, postIgnores, unshown, normalize };
  return seen("createdValues", parts.filter(Boolean).join("; "), behaviour, consequence);
}

function normalizationsOf(sent: WireFields, shown: WireFields): Normalization[] {
  const found = new Set<Normalization>();
  for (const name of ["image", "flavor", "network"]) {
    const [before, after] = [sent[name], shown[name]];
    if (typeof before !== "string" || typeof after !== "string" || before === after) continue;
    if (before.toUpperCase() === after) found.add("upper-case");
    else if (before.toLowerCase() !== after) found.add("ids");
  }
  const labels = Object.entries(isMap(sent.labels) ? sent.labels : {});
  for (const [key, before] of labels) {
    const after = isMap(shown.labels) ? shown.labels[key] : undefined;
    if (typeof after === "number") found.add("numeric-labels");
    if (typeof before !== "string" || typeof after !== "string") continue;
    if (after !== before && after.trim() === after && before.trim().toLowerCase() === after.toLowerCase())
      if (before.trim() !== before) found.add("trimmed");
    if (before.toLowerCase() === after && before !== after) found.add("lower-case");
  }
  const keys: unknown[] = Array.isArray(shown.ssh_keys) ? shown.ssh_keys : [];
  if (keys.some((key) => String(key).startsWith("SHA256:"))) found.add("fingerprints");
  else if (keys.length > 0 && !isDeepStrictEqual(keys, sent.ssh_keys)) found.add("bare-keys");
  return [...found];
}

export function updateReply(exchange: Exchange, isOddAccepted: boolean): Finding {
  const { reply, json } = exchange;
  const putReply = statusCode(exchange, [200, 204, 202]);
  const isSlim = reply.status === 200 && !("flavor" in json);
  const bare = isBare(exchange);
  const parts = [
    String(reply.status),
    isSlim && "a part of the instance",
    bare && "no operation",
    !isOddAccepted && "labels with capitals or spaces are rejected",
  ];
  return seen("update", parts.filter(Boolean).join("; "), {
    ...(putReply && { putReply }),
    ...(reply.status === 200 && { writeReply: isSlim ? "slim" : "full" }),
    ...(bare && { acceptedReply: "bare" }),
  });
}

/** @param shown the instance after an update of its labels */
export function labelsAfter(shown: WireFields | undefined): Finding {
  return isMap(shown?.labels) && "other" in shown.labels
    ? limited("labels", "A label that an update omits stays", "The provider can't remove labels")
    : seen("labels", "An update replaces all labels");
}

export function staleRevision(exchange: Exchange): Finding {
  return exchange.reply.status === 412
    ? seen("staleRevision", "An outdated If-Match is rejected (412)")
    : limited(
        "staleRevision",
        `An outdated If-Match returned ${causeOf(exchange)}`,
        "Changes of other people can be overwritten",
      );
}

/**
 * Reports the operations that failed.
 *
 * @param all all exchanges
 * @param left the probe's instances in the list
 */
export function failures(all: readonly Exchange[], left: readonly WireFields[]): Finding {
  const states = new Map<string, WireFields>();
  for (const { request, reply, json } of all) {
    const id = isPoll(request.url) ? request.url.pathname.split("/").at(-1) : json.id;
    const isOperation = isPoll(request.url) || (request.method !== "GET" && reply.status === 202);
    if (isOperation && reply.status < 300 && id !== undefined) states.set(String(id), json);
  }
  const ends = [...states.values()];
  const isFailed = (json: WireFields): boolean =>
    "status" in json && isEnd(json) && (json.status !== "done" || isMap(json.error));
  const failed = ends.filter(isFailed);
  const [sample] = failed;
  if (sample === undefined) return seen("failedOperations", `No operation failed (${ends.length} observed)`);
  const failedStatus = String(sample.status);
  const failedHasError = isMap(sample.error);
  const failedCreation = left.some(({ status }) => /err|fail/i.test(String(status))) ? "object" : "nothing";
  const failEvery = ends.findIndex(isFailed) + 1;
  const observation = [
    `${failed.length} of ${ends.length} failed with the status ${failedStatus}`,
    failedHasError ? "with a problem document" : "without a problem document",
    `a failed creation leaves ${failedCreation === "object" ? "the instance" : "nothing"} behind`,
  ].join("; ");
  const behaviour = { failedStatus, failedHasError, failedCreation, failEvery } as const;
  return limited("failedOperations", observation, "Run `pulumi up` again after such failures", { behaviour });
}

/** @param reads the reads after the deletion. Undefined if it was rejected */
export function deletionReply(
  exchange: Exchange,
  reads: Reads | undefined,
  statusBefore: unknown,
  canGet: boolean,
): Finding {
  const status = statusCode(exchange, [204, 202, 200, 405]);
  const behaviour: Partial<Behaviour> = {
    ...(status && { deleteObject: status }),
    ...(isBare(exchange) && { acceptedReply: "bare" }),
  };
  if (reads === undefined) {
    const consequence = "Set `retainOnDelete`, and delete objects with the service's own tools";
    return limited("deletion", `Rejected (${causeOf(exchange)})`, consequence, { behaviour });
  }
  const isLeft = (fields: WireFields | undefined): boolean =>
    fields !== undefined && fields.status !== statusBefore && fields.status !== "deleting";
  const last = Math.max(reads.lists, reads.reads);
  const reply = `${exchange.reply.status}${isBare(exchange) ? ", without an operation" : ""}`;
  const [left] = reads.seen.flatMap(({ lists, reads }) => [lists, reads].filter(isLeft));
  if (left === undefined)
    return Number.isFinite(last)
      ? seen("deletion", `${reply}; the instance disappears ${after(last)}`, behaviour)
      : limited("deletion", `${reply}; the instance remains visible`, "Deletions time out", { behaviour });
  const isIn = (place: keyof Shown): boolean => reads.seen.some((one) => isLeft(one[place]));
  const softDeleteIn =
    !canGet || (isIn("lists") && isIn("reads")) ? "both" : isIn("lists") ? "lists" : "reads";
  const places = softDeleteIn === "both" ? "lists and reads" : softDeleteIn;
  const end = Number.isFinite(last) ? `, and disappears ${after(last)}` : "";
  return seen(
    "deletion",
    `${reply}; the instance remains visible in ${places} with the status ${left.status}${end}`,
    {
      ...behaviour,
      ...{ softDelete: String(left.status), softDeleteIn },
      ...(Number.isFinite(last) && { softDeleteMs: momentOf(last) }),
    },
    "It counts as deleted",
  );
}

/** How long replies lag: the numbers of the reads that are the first to show a change. Infinity if none does. */
export interface Lag {
  readonly lists: number;
  readonly reads: number;
}

/** An instance in the list and at its own URL. */
export interface Shown {
  readonly lists: WireFields | undefined;
  readonly reads: WireFields | undefined;
}

/** Repeated reads of an instance. */
export interface Reads extends Lag {
  readonly seen: readonly Shown[];
}

/** Pauses before the reads that look for a change. */
export const PAUSES_MS: readonly number[] = [0, 500, 1_500, 2_000, 4_000, 8_000, 14_000];

/** Returns the time of a read, in milliseconds since the first one. */
export const timeOf = (read: number): number => PAUSES_MS.slice(0, read + 1).reduce((sum, ms) => sum + ms, 0);

/** Returns a time between a read and the one before it, in milliseconds. */
const momentOf = (read: number): number => (timeOf(read - 1) + timeOf(read)) / 2;

/** Says when a read has shown a change. */
export function after(read: number): string {
  if (read === 0) return "immediately";
  const isShown = Number.isFinite(read);
  return `${isShown ? "within" : "not within"} ${formatDuration(timeOf(isShown ? read : PAUSES_MS.length))}`;
}

/** @param objects the lag of a new instance  @param fields the lag of an update */
export function lagFinding(objects: Lag, fields: Lag = objects): Finding {
  const lists = Math.max(objects.lists, fields.lists);
  const reads = Math.max(objects.reads, fields.reads);
  const longest = Math.max(lists, reads);
  if (longest === 0) return seen("lag", "Lists and reads show changes immediately", { lagMs: 0 });
  const lagIn = lists > 0 && reads > 0 ? "both" : lists > 0 ? "lists" : "reads";
  const isPart = (part: Lag): boolean => Math.max(part.lists, part.reads) > 0;
  const lagPart = isPart(objects) && isPart(fields) ? "all" : isPart(objects) ? "objects" : "fields";
  const what = { all: "All changes", objects: "New instances", fields: "Updates" }[lagPart];
  const observation = `${what}: lists show them ${after(lists)}, reads ${after(reads)}`;
  const behaviour = { lagMs: momentOf(Math.min(longest, PAUSES_MS.length - 1)), lagIn, lagPart } as const;
  return Number.isFinite(longest)
    ? seen("lag", observation, behaviour, "The provider waits until replies show a change")
    : limited("lag", observation, "Updates may fail with conflicts", { behaviour });
}
