import { isDeepStrictEqual } from "node:util";
import { isTransient, retryAfterMs } from "../api/retry";
import type { WireReply } from "../api/transport";
import { oneLine } from "../diagnostics/format";
import type { Behaviour, Normalization } from "../emulator";
import { isMap, type WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import { type Exchange, REFRESH_FIRST } from "./reading-points";
import { fails, limited, type Points, parts, point, works } from "./report";

// The points that only changes show.

/** How long replies lag: the numbers of the reads that are the first to show a change. Infinity if none does. */
interface Lag {
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

/** An update, and the instance after it. */
export interface Change extends Exchange {
  /** Undefined if the service rejected the update. */
  readonly lag: Lag | undefined;
  readonly shown: WireFields | undefined;
  /** The last known revision. */
  readonly revision: string | undefined;
}

export interface Update {
  /** The update of the labels that the service accepts, or the last one that it rejects. */
  readonly first: Change;
  readonly isOddAccepted: boolean;
  /** The fields that this update requests. */
  readonly relabeled: WireFields;
  /** An update while another one is running. */
  busy?: Exchange;
  /** An update with an outdated revision. */
  stale?: Exchange;
  /** Whether the revision is the same again after equal values. */
  isHash?: boolean;
  keys?: Change;
  renamed?: { readonly exchange: Exchange; readonly isShown: boolean; readonly hasNewId: boolean };
}

/** What the probe has observed while it created, changed and deleted an instance, as far as it got. */
export interface Facts {
  readonly name: string;
  /** All exchanges so far. */
  readonly all: readonly Exchange[];
  /** The fields in the creation request. */
  sent: WireFields;
  canGet: boolean;
  project?: Exchange;
  /** Why nothing could be created. `hiddenProject` is the project if lists don't contain it. */
  refusal?: {
    readonly exchange: Exchange;
    readonly what: "project" | "instance";
    readonly hiddenProject?: string;
  };
  /** A creation with an unknown flavor, and whether a valid one with the same key was accepted afterwards. */
  invalid?: { readonly exchange: Exchange; readonly isAccepted: boolean; isKeyUsable?: boolean };
  creation?: Exchange;
  /** The repetition of the creation, and another creation with its key. */
  replay?: { readonly second: Exchange; readonly isSame: boolean; other?: Exchange };
  /** The polls of the creation's operation, and other requests. */
  polls?: readonly Exchange[];
  /** When the creation's operation was purged. */
  end?:
    | { readonly when: "kept" }
    | { readonly when: "at its end" }
    | { readonly when: "read"; readonly reads: 1 | 2; readonly status: number }
    | { readonly when: "later"; readonly ms: number; readonly status: number };
  /** The reads after the request, and those after the end of the operation. */
  visibility?: { readonly early: Reads; readonly late: Reads };
  duplicate?: Exchange;
  /** The new instance. */
  created?: WireFields;
  update?: Update;
  /** `reads` is undefined if the service rejected the deletion. */
  deletion?: { readonly exchange: Exchange; readonly reads?: Reads; isIdReused?: boolean };
  /** The probe's instances at its end, before it deletes the rest. */
  left?: readonly WireFields[];
}

export const changingPoints = {
  projectCreation: point("Creation of projects", ({ project }) => {
    if (project === undefined) return undefined;
    const projectPost = statusCode(project, [200, 201, 202]);
    return works(String(project.reply.status), projectPost && { projectPost });
  }),
  invalidValues: point("Invalid values", ({ invalid }) => {
    if (invalid === undefined) return undefined;
    const { status } = invalid.exchange.reply;
    return invalid.isAccepted
      ? works(
          `An unknown flavor is accepted at first (${status})`,
          {},
          "A typo fails only during `pulumi up`",
        )
      : works(`An unknown flavor is rejected (${status})`);
  }),
  rejectedKey: point("Key of a rejection", ({ invalid }) => {
    if (invalid?.isKeyUsable === undefined || invalid.isAccepted) return undefined;
    return invalid.isKeyUsable
      ? works("Can be used again", { cachedReplies: "successes" })
      : works("Can't be used for another request", { cachedReplies: "all" });
  }),
  creation: point("Creation", ({ creation, refusal }) => {
    if (refusal !== undefined) {
      const { exchange, what, hiddenProject } = refusal;
      const forbiddenStatus = statusCode(exchange, [403, 404, 401]);
      if (forbiddenStatus === undefined)
        return fails(
          `No ${what} was created (${causeOf(exchange)})`,
          "Fix the cause, and run the probe again",
        );
      const place =
        hiddenProject === undefined ? "" : ` in project ${hiddenProject}, or the project doesn't exist`;
      return fails(`Rejected (${causeOf(exchange)})`, `The token can't create ${what}s${place}`, {
        behaviour: { ...(hiddenProject === undefined && { readOnlyToken: true }), forbiddenStatus },
      });
    }
    if (creation === undefined) return undefined;
    const { reply, json } = creation;
    const link = reply.header("location");
    const locationOrigin = otherOrigin(link, creation);
    const hasBody = "id" in json;
    const body = `${hasBody ? "an operation or object" : "nothing"} in the body`;
    const observation = parts(String(reply.status), body, `Location: ${describeLink(link, locationOrigin)}`);
    return works(observation, {
      location: formOf(link),
      ...(locationOrigin && { locationOrigin }),
      ...(reply.status === 202 && !hasBody && { acceptedReply: "location" }),
    });
  }),
  replay: point("Idempotency key", ({ replay }) => {
    if (replay === undefined) return undefined;
    if (replay.isSame) return works("The same request with the same key returned the same result");
    if (replay.second.reply.status >= 400)
      return limited(
        `The same request with the same key was rejected (${causeOf(replay.second)})`,
        "If a reply is lost, the outcome of the creation stays unknown: check at the service what was created",
      );
    return limited(
      `The same key returned ${replay.second.reply.status} with another result`,
      "If a reply is lost, the retry may create a second object. The provider can't prevent that",
      { behaviour: { keyRetentionMs: 0 } },
    );
  }),
  keyReuse: point("Reused key", ({ replay }) => {
    const { other } = replay ?? {};
    if (other === undefined) return undefined;
    if (other.reply.status < 300) return works("Another request with the key returned the first result");
    const keyReuseStatus = statusCode(other, [422, 409, 400]);
    const { code: keyReuseCode } = other.json;
    return works(`Another request with the key was rejected (${causeOf(other, "code")})`, {
      ...(keyReuseStatus && { keyReuseStatus }),
      ...(typeof keyReuseCode === "string" && { keyReuseCode }),
    });
  }),
  operation: point("Operation", ({ creation, polls }) => {
    if (creation === undefined || polls === undefined) return undefined;
    const seen = polls.filter(({ request, json }) => isPoll(request.url) && "status" in json);
    const states = [creation, ...seen].map(({ json }) => json).filter((json) => "status" in json);
    const running = seen.filter(({ json }) => !isEnd(json));
    const last = states.at(-1) ?? {};
    const statuses = [...new Set(states.map(({ status }) => String(status)))];
    const progress = progressOf(states, running);
    const isEarly = states.some((json) => !isEnd(json) && typeof json.result_url === "string");
    const form = formOf(last.result_url);
    const resultLink = form === "absolute" && isEarly ? "early" : form;
    const resultOrigin = otherOrigin(last.result_url, creation);
    const operationMs = durationOf(last);
    const wait = retryAfterOf(running);
    const observation = parts(
      `statuses: ${statuses.join(", ")}`,
      progress.text,
      `result link: ${resultOrigin === undefined ? resultLink : `${resultLink} to ${resultOrigin}`}`,
      operationMs === undefined ? "the end is not dated" : `took ${formatDuration(operationMs)}`,
      wait?.text,
    );
    const behaviour: Partial<Behaviour> = {
      ...progress.behaviour,
      ...{ finishedAt: typeof last.finished_at === "string", resultLink },
      ...(resultOrigin && { resultOrigin }),
      ...(operationMs !== undefined && { operationMs }),
      ...wait?.behaviour,
    };
    const slow = "Pulumi's display shows no percentage, and waits are up to 20% longer";
    return works(observation, behaviour, progress.behaviour.progress === "absent" ? slow : undefined);
  }),
  finishedOperation: point("Finished operation", ({ end }) => {
    if (end === undefined) return undefined;
    if (end.when === "kept") return works("Can still be read");
    const withoutIt = "The provider finds the result without it";
    if (end.when === "at its end")
      return works("Is purged when it ends", { operationKeptPolls: 0 }, withoutIt);
    const purgedStatus = end.status === 410 ? 410 : 404;
    const [when, kept] =
      end.when === "read"
        ? [
            `after its end has been read ${end.reads === 1 ? "once" : "twice"}`,
            { operationKeptPolls: end.reads },
          ]
        : ["soon after its end", { operationKeptMs: end.ms }];
    return works(`Is purged ${when} (${end.status})`, { ...kept, purgedStatus }, withoutIt);
  }),
  visibility: point("New instances", ({ visibility, polls }) => {
    if (visibility === undefined) return undefined;
    return isListedEarly(visibility.early, polls)
      ? works(`Listed ${after(visibility.early.lists)}`, { instanceVisible: "at-once" })
      : works("Listed when the operation has ended", { instanceVisible: "when-done" });
  }),
  duplicateNames: point("Duplicate names", ({ duplicate, name }) => {
    if (duplicate === undefined) return undefined;
    const { status, problem } = duplicate.reply;
    if (status < 300) return works("Are accepted", { uniqueNames: false });
    const detail = problem?.detail ?? "";
    const isGeneral = status === 409 && detail !== "" && !detail.includes(name);
    return works(
      `Are rejected (${causeOf(duplicate, isGeneral ? "detail" : "code")})`,
      { uniqueNames: true, ...(isGeneral && { conflictDetail: detail }) },
      "With a `name` of your own, a replacement requires `deleteBeforeReplace`",
    );
  }),
  busyInstance: point("Concurrent updates", ({ update }) => {
    if (update?.busy === undefined) return undefined;
    const { status } = update.busy.reply;
    return status === 409
      ? works(`An update during another one is rejected (${status})`, { busyInstance: "refused" })
      : works(`An update during another one is answered with ${status}`, { busyInstance: "accepted" });
  }),
  update: point("Update", ({ created, update }) => {
    if (created === undefined) return undefined;
    if (update === undefined)
      return limited(
        "Not tried, because no revision was found",
        "Set `revisionField`, and run the probe again",
      );
    const { first, isOddAccepted } = update;
    const { status } = first.reply;
    if (status === 412)
      return limited(
        `The service rejected each revision that it returned (${causeOf(first)})`,
        "Updates fail until replies contain the current revision",
      );
    if (status >= 400)
      return limited(
        `Rejected (${causeOf(first)})`,
        "Changes fail: use `replaceOnChanges` or `ignoreChanges`",
      );
    const putReply = statusCode(first, [200, 204, 202]);
    const isSlim = status === 200 && !("flavor" in first.json);
    const observation = parts(
      String(status),
      isSlim && "a part of the instance",
      isBare(first) && "no operation",
      !isOddAccepted && "labels with capitals or spaces are rejected",
    );
    return works(observation, {
      ...(putReply && { putReply }),
      ...(status === 200 && { writeReply: isSlim ? "slim" : "full" }),
      ...(isBare(first) && { acceptedReply: "bare" }),
    });
  }),
  labels: point("Labels", ({ update }) => {
    if (update === undefined || update.first.reply.status >= 400) return undefined;
    const { labels } = update.first.shown ?? {};
    return isMap(labels) && "other" in labels
      ? limited("A label that an update omits stays", "Removing a label from the program fails")
      : works("An update replaces all labels");
  }),
  staleRevision: point("Stale revision", ({ update }) => {
    if (update?.stale === undefined) return undefined;
    if (update.stale.reply.status === 412) return works("An outdated If-Match is rejected (412)");
    return update.stale.reply.status < 300
      ? limited(
          `An outdated If-Match is accepted (${update.stale.reply.status})`,
          "An update may overwrite a change that somebody else makes at the same time",
        )
      : limited(
          `An outdated If-Match returned ${causeOf(update.stale)}`,
          "If somebody else changes an instance at the same time, the update fails with this error",
        );
  }),
  revisionOf: point("Changed revision", ({ update }) => {
    if (update?.isHash === undefined) return undefined;
    return update.isHash
      ? works("Equal values have the same revision", { revisionOf: "shown" })
      : works("Each change has its own revision", { revisionOf: "changes" });
  }),
  changedFields: point("Changed fields", ({ update }) => {
    const { first, keys, renamed } = update ?? {};
    if (keys === undefined || renamed === undefined) return undefined;
    const shownKeys = keys.shown?.ssh_keys;
    const areKeysShown = !Array.isArray(shownKeys) || shownKeys.length === 2;
    const failures = [
      failureOf("ssh_keys", keys, areKeysShown, first?.lag?.reads),
      failureOf("name", renamed.exchange, renamed.isShown, first?.lag?.lists),
    ].filter((failure) => failure !== undefined);
    if (failures.length === 0) return works("Names and SSH keys can be changed");
    return limited(
      failures.map(({ text }) => text).join("; "),
      failures.some(({ isObserved }) => isObserved)
        ? "Changes of these properties fail: list them in `replaceOnChanges` or `ignoreChanges`"
        : "Whether these properties can be changed is unknown",
    );
  }),
  renaming: point("Renaming", ({ update }) => {
    if (update?.renamed?.isShown !== true) return undefined;
    return update.renamed.hasNewId
      ? works("Changes the id", { idsFollowNames: true }, "The provider follows the new id")
      : works("Keeps the id", { idsFollowNames: false });
  }),
  createdValues: point("Values", ({ created, sent, update, canGet }) => {
    if (created === undefined) return undefined;
    const names = Object.keys(sent).filter((name) => name !== "public_ip");
    const postIgnores = names.filter(
      (name) => name in created && isEmpty(created[name]) && !isEmpty(sent[name]),
    );
    const unshown = canGet ? names.filter((name) => !(name in created)) : [];
    const pairs = [{ wanted: sent, shown: created }];
    if (update?.first.shown !== undefined)
      pairs.push({ wanted: update.relabeled, shown: update.first.shown });
    const isNormalized = (name: string): boolean =>
      pairs.some(
        ({ wanted, shown }) =>
          name in shown && !isEmpty(shown[name]) && !isDeepStrictEqual(shown[name], wanted[name]),
      );
    const normalized = names.filter(isNormalized);
    const normalize = [...new Set(pairs.flatMap(normalizationsOf))];
    const ways = normalize.length > 0 ? ` (${normalize.join(", ")})` : "";
    const statusAfterCreate = String(created.status);
    const observation = parts(
      `status: ${statusAfterCreate}`,
      postIgnores.length > 0 && `ignored: ${postIgnores.join(", ")}`,
      unshown.length > 0 && `not returned: ${unshown.join(", ")}`,
      normalized.length > 0 && `normalized: ${normalized.join(", ")}${ways}`,
    );
    const consequence =
      postIgnores.length > 0
        ? "The provider sets the ignored fields with an update after each creation"
        : unshown.length > 0
          ? "If other people change fields that aren't returned, `pulumi refresh` doesn't show it"
          : undefined;
    return works(observation, { statusAfterCreate, postIgnores, unshown, normalize }, consequence);
  }),
  lag: point("Lag", ({ visibility, polls, created, update }) => {
    if (visibility === undefined || created === undefined) return undefined;
    const { early, late } = visibility;
    // Only the list has shown the id for the first read at the instance's URL.
    const seen = early.reads === early.lists ? { lists: early.lists, reads: 0 } : early;
    const objects = isListedEarly(early, polls) ? seen : late;
    const fields = update?.first.lag ?? objects;
    const lists = Math.max(objects.lists, fields.lists);
    const reads = Math.max(objects.reads, fields.reads);
    const longest = Math.max(lists, reads);
    if (longest === 0) return works("Lists and reads show changes immediately", { lagMs: 0 });
    const lagIn = lists > 0 && reads > 0 ? "both" : lists > 0 ? "lists" : "reads";
    const isPart = (part: Lag): boolean => Math.max(part.lists, part.reads) > 0;
    const lagPart = isPart(objects) && isPart(fields) ? "all" : isPart(objects) ? "objects" : "fields";
    const what = { all: "All changes", objects: "New instances", fields: "Updates" }[lagPart];
    const observation = `${what}: lists show them ${after(lists)}, reads ${after(reads)}`;
    const lagMs = momentOf(Math.min(longest, PAUSES_MS.length - 1));
    const behaviour = { lagMs, lagIn, lagPart } as const;
    return Number.isFinite(longest)
      ? works(observation, behaviour, "The provider waits until replies show a change")
      : limited(observation, "An update may fail although the service has applied it", { behaviour });
  }),
  deletion: point("Deletion", ({ deletion, created, canGet }) => {
    if (deletion === undefined) return undefined;
    const { exchange, reads } = deletion;
    const status = statusCode(exchange, [204, 202, 200, 405]);
    const behaviour: Partial<Behaviour> = {
      ...(status && { deleteObject: status }),
      ...(isBare(exchange) && { acceptedReply: "bare" }),
    };
    if (reads === undefined) {
      const isOffered = ![404, 405, 501].includes(exchange.reply.status);
      const consequence = isOffered
        ? "`pulumi destroy` fails with this error"
        : "`pulumi destroy` fails: set `retainOnDelete`, and delete objects with the service's own tools";
      return limited(`Rejected (${causeOf(exchange)})`, consequence, { behaviour });
    }
    const isLeft = (fields: WireFields | undefined): boolean =>
      fields !== undefined && fields.status !== created?.status && fields.status !== "deleting";
    const last = Math.max(reads.lists, reads.reads);
    const reply = `${exchange.reply.status}${isBare(exchange) ? ", without an operation" : ""}`;
    const [left] = reads.seen.flatMap(({ lists, reads }) => [lists, reads].filter(isLeft));
    if (left === undefined)
      return Number.isFinite(last)
        ? works(`${reply}; the instance disappears ${after(last)}`, behaviour)
        : limited(
            `${reply}; the instance remains visible for more than ${formatDuration(timeOf(PAUSES_MS.length))}`,
            "`pulumi destroy` waits until the instance disappears, and fails if it doesn't",
            { behaviour },
          );
    const isIn = (place: keyof Shown): boolean => reads.seen.some((one) => isLeft(one[place]));
    const softDeleteIn =
      !canGet || (isIn("lists") && isIn("reads")) ? "both" : isIn("lists") ? "lists" : "reads";
    const places = softDeleteIn === "both" ? "lists and reads" : softDeleteIn;
    const end = Number.isFinite(last) ? `, and disappears ${after(last)}` : "";
    return works(
      `${reply}; the instance remains visible in ${places} with the status ${left.status}${end}`,
      {
        ...behaviour,
        ...{ softDelete: String(left.status), softDeleteIn },
        ...(Number.isFinite(last) && { softDeleteMs: momentOf(last) }),
      },
      "The provider treats it as deleted",
    );
  }),
  idReuse: point("Reused ids", ({ deletion }) => {
    if (deletion?.isIdReused === undefined) return undefined;
    if (!deletion.isIdReused) return works("A new instance gets a new id", { idReuse: false });
    const consequence = `The service reuses ids: ${REFRESH_FIRST}`;
    return limited("A new instance gets the id of a deleted one", consequence, {
      behaviour: { idReuse: true },
    });
  }),
  failedOperations: point("Failed operations", ({ all, left }) => {
    if (left === undefined) return undefined;
    const states = new Map<string, WireFields>();
    for (const { request, reply, json } of all) {
      const id = isPoll(request.url) ? request.url.pathname.split("/").at(-1) : json.id;
      const isOperation = isPoll(request.url) || (request.method !== "GET" && reply.status === 202);
      if (isOperation && reply.status < 300 && id !== undefined) states.set(String(id), json);
    }
    const ends = [...states.values()];
    const isFailed = (json: WireFields): boolean =>
      "status" in json && isEnd(json) && (json.status !== "done" || isMap(json.error));
    const [sample, ...others] = ends.filter(isFailed);
    if (sample === undefined) return works(`No operation failed (${ends.length} observed)`);
    const failedStatus = String(sample.status);
    const failedHasError = isMap(sample.error);
    const isLeft = left.some(({ status }) => /err|fail/i.test(String(status)));
    const observation = parts(
      `${others.length + 1} of ${ends.length} failed with the status ${failedStatus}`,
      failedHasError ? "with a problem document" : "without a problem document",
      `a failed creation leaves ${isLeft ? "the instance" : "nothing"} behind`,
    );
    const failedCreation = isLeft ? "object" : "nothing";
    const failEvery = ends.findIndex(isFailed) + 1;
    return limited(observation, "Run `pulumi up` again after such failures", {
      behaviour: { failedStatus, failedHasError, failedCreation, failEvery },
    });
  }),
} satisfies Points<Facts>;

/** Describes a rejection: its status, and its code or detail. */
function causeOf({ reply }: { readonly reply: WireReply }, part?: "code" | "detail"): string {
  const { status, problem } = reply;
  const text = part === undefined ? (problem?.detail ?? problem?.code) : problem?.[part];
  const short = text && oneLine(text).replace(/ +/g, " ").slice(0, 200);
  return short === undefined ? String(status) : `${status}: ${short}`;
}

/** Returns the status of a reply if it is one of the values of a switch. */
function statusCode<const T extends number>({ reply }: Exchange, known: readonly T[]): T | undefined {
  return known.find((status) => status === reply.status);
}

/** Describes why a field didn't change. An outdated revision, or a reply that lags, is no evidence about the field. */
function failureOf(
  name: string,
  { reply: { status } }: Exchange,
  isShown: boolean,
  lag: number | undefined,
): { text: string; isObserved: boolean } | undefined {
  if (status === 412) return { text: `${name}: not observed (outdated revision)`, isObserved: false };
  if (status >= 400) return { text: `${name}: rejected (${status})`, isObserved: true };
  if (isShown) return undefined;
  if (lag === Number.POSITIVE_INFINITY)
    return { text: `${name}: not observed (replies lag)`, isObserved: false };
  return { text: `${name}: ignored`, isObserved: true };
}

/** Whether a 202 has neither an operation nor a Location. */
function isBare({ reply, json }: Exchange): boolean {
  return reply.status === 202 && !("status" in json) && reply.header("location") === undefined;
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && Object.keys(Object(value)).length === 0;
const isPoll = (url: URL): boolean => url.pathname.includes("/operations/");
const isEnd = ({ status }: WireFields): boolean => !/^(pending|running)$/i.test(String(status));

const formOf = (link: unknown): "missing" | "relative" | "absolute" =>
  typeof link !== "string" ? "missing" : link.startsWith("/") ? "relative" : "absolute";

const describeLink = (link: unknown, origin: string | undefined): string =>
  origin === undefined ? formOf(link) : `${formOf(link)} to ${origin}`;

/** Returns the origin of a link if it isn't that of the service. */
function otherOrigin(link: unknown, { request }: Exchange): string | undefined {
  if (typeof link !== "string" || !URL.canParse(link)) return undefined;
  const { origin } = new URL(link);
  return origin === request.url.origin ? undefined : origin;
}

function progressOf(
  states: readonly WireFields[],
  running: readonly Exchange[],
): { text: string; behaviour: Partial<Behaviour> } {
  const numbers = (of: readonly WireFields[]): number[] =>
    of.flatMap(({ progress }) => (progress === undefined || progress === null ? [] : Number(progress)));
  if (numbers(states).length === 0) return { text: "no progress", behaviour: { progress: "absent" } };
  const values = numbers(running.map(({ json }) => json));
  if (values.length < 2) return { text: "progress not observed", behaviour: {} };
  if (new Set(values).size === 1) return { text: "progress does not grow", behaviour: { progress: "stuck" } };
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
  const { reply } = running.find(({ reply }) => reply.header("retry-after") !== undefined) ?? {};
  const value = reply?.header("retry-after");
  if (reply === undefined || value === undefined || isTransient(reply.status)) return undefined;
  const retryAfterForm = /^\d+$/.test(value) ? "seconds" : value.endsWith("GMT") ? "http-date" : "asctime";
  const retryAfter = Math.round((retryAfterMs(reply.header) ?? 0) / 1_000);
  const form = { seconds: "", "http-date": " as an HTTP date", asctime: " as a date of asctime" }[
    retryAfterForm
  ];
  return { text: `Retry-After: ${retryAfter} s${form}`, behaviour: { retryAfter, retryAfterForm } };
}

function normalizationsOf({ wanted, shown }: { wanted: WireFields; shown: WireFields }): Normalization[] {
  const found = new Set<Normalization>();
  for (const name of ["image", "flavor", "network"]) {
    const [before, after] = [wanted[name], shown[name]];
    if (typeof before !== "string" || typeof after !== "string" || before === after) continue;
    if (before.toUpperCase() === after) found.add("upper-case");
    else if (before.toLowerCase() !== after) found.add("ids");
  }
  for (const [key, before] of Object.entries(isMap(wanted.labels) ? wanted.labels : {})) {
    const after = isMap(shown.labels) ? shown.labels[key] : undefined;
    if (typeof after === "number") found.add("numeric-labels");
    if (typeof before !== "string" || typeof after !== "string" || before === after) continue;
    if (before.trim() !== before && before.trim().toLowerCase() === after.toLowerCase()) found.add("trimmed");
    if (before.toLowerCase() === after) found.add("lower-case");
  }
  const keys: unknown[] = Array.isArray(shown.ssh_keys) ? shown.ssh_keys : [];
  if (keys.some((key) => String(key).startsWith("SHA256:"))) found.add("fingerprints");
  else if (keys.length > 0 && !isDeepStrictEqual(keys, wanted.ssh_keys)) found.add("bare-keys");
  return [...found];
}

/** Whether the first reads showed the instance, although its operation was still running. */
function isListedEarly({ lists }: Reads, polls: readonly Exchange[] = []): boolean {
  const last = polls.findLast(({ request }) => isPoll(request.url));
  return lists === 0 || timeOf(lists) < (durationOf(last?.json ?? {}) ?? 0);
}

/** Pauses before the reads that look for a change. */
export const PAUSES_MS: readonly number[] = [0, 500, 1_500, 2_000, 4_000, 8_000, 14_000];

/** Returns the time of a read, in milliseconds since the first one. */
const timeOf = (read: number): number => PAUSES_MS.slice(0, read + 1).reduce((sum, ms) => sum + ms, 0);

/** Returns a time between a read and the one before it, in milliseconds. */
const momentOf = (read: number): number => (timeOf(read - 1) + timeOf(read)) / 2;

/** Says when a read has shown a change. */
function after(read: number): string {
  if (read === 0) return "immediately";
  const isShown = Number.isFinite(read);
  return `${isShown ? "within" : "not within"} ${formatDuration(timeOf(isShown ? read : PAUSES_MS.length))}`;
}
