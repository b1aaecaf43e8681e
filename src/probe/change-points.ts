import { isDeepStrictEqual } from "node:util";
import type { Behaviour, Normalization } from "../emulator";
import { isMap, type WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import { after, type CreationFacts, isEnd, isListedEarly, isPoll } from "./creation-points";
import { causeOf, type Exchange, PAUSES_MS, type Reads, type Shown, statusCode, timeOf } from "./reading";
import { REFRESH_FIRST } from "./reading-points";
import { limited, type Points, parts, point, pointAbout, works } from "./report";

/** An update, and the instance after it, unless the service rejected the update. */
export interface Change extends Exchange {
  readonly lag?: Reads;
  readonly shown?: WireFields | undefined;
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
export interface Facts extends CreationFacts {
  readonly all: readonly Exchange[];
  /** The fields in the creation request. */
  sent: WireFields;
  canGet: boolean;
  /** The new instance. */
  created?: WireFields;
  update?: Update;
  /** `reads` is undefined if the service rejected the deletion. */
  deletion?: { readonly exchange: Exchange; reads?: Reads; isIdReused?: boolean };
  /** The probe's instances at its end, before it deletes the rest. */
  left?: readonly WireFields[];
}

/** The points that changes and the deletion of an instance show. */
export const changePoints = {
  busyInstance: pointAbout("Concurrent updates", "update", ({ busy }) => {
    if (busy === undefined) return undefined;
    const { status } = busy.reply;
    return status === 409
      ? works(`An update during another one is rejected (${status})`, { busyInstance: "refused" })
      : works(`An update during another one is answered with ${status}`, { busyInstance: "accepted" });
  }),
  update: pointAbout("Update", "created", (_, { update }) => {
    if (update === undefined) {
      const observation = "Not tried, because no revision was found";
      return limited(observation, "Set `revisionField`, and run the probe again");
    }
    const { first, isOddAccepted } = update;
    const { status } = first.reply;
    if (status === 412) {
      const observation = `The service rejected each revision that it returned (${causeOf(first)})`;
      return limited(observation, "Updates fail until replies contain the current revision");
    }
    if (status >= 400) {
      const observation = `Rejected (${causeOf(first)})`;
      return limited(observation, "Changes fail: use `replaceOnChanges` or `ignoreChanges`");
    }
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
  labels: pointAbout("Labels", "update", ({ first }) => {
    if (first.reply.status >= 400) return undefined;
    const { labels } = first.shown ?? {};
    return isMap(labels) && "other" in labels
      ? limited("A label that an update omits stays", "Removing a label from the program fails")
      : works("An update replaces all labels");
  }),
  staleRevision: pointAbout("Stale revision", "update", ({ stale }) => {
    if (stale === undefined) return undefined;
    const { status } = stale.reply;
    if (status === 412) return works("An outdated If-Match is rejected (412)");
    return status < 300
      ? limited(
          `An outdated If-Match is accepted (${status})`,
          "An update may overwrite a change that somebody else makes at the same time",
        )
      : limited(
          `An outdated If-Match returned ${causeOf(stale)}`,
          "If somebody else changes an instance at the same time, the update fails with this error",
        );
  }),
  revisionOf: pointAbout("Changed revision", "update", ({ isHash }) => {
    if (isHash === undefined) return undefined;
    return isHash
      ? works("Equal values have the same revision", { revisionOf: "shown" })
      : works("Each change has its own revision", { revisionOf: "changes" });
  }),
  changedFields: pointAbout("Changed fields", "update", ({ first, keys, renamed }) => {
    if (keys === undefined || renamed === undefined) return undefined;
    const shownKeys = keys.shown?.ssh_keys;
    const areKeysShown = !Array.isArray(shownKeys) || shownKeys.length === 2;
    const failures = [
      failureOf("ssh_keys", keys, areKeysShown, first.lag?.reads),
      failureOf("name", renamed.exchange, renamed.isShown, first.lag?.lists),
    ].filter((failure) => failure !== undefined);
    if (failures.length === 0) return works("Names and SSH keys can be changed");
    const consequence = failures.every((failure) => failure.includes("not observed"))
      ? "Whether these properties can be changed is unknown"
      : "Changes of these properties fail: list them in `replaceOnChanges` or `ignoreChanges`";
    return limited(failures.join("; "), consequence);
  }),
  renaming: pointAbout("Renaming", "update", ({ renamed }) => {
    if (renamed?.isShown !== true) return undefined;
    return renamed.hasNewId
      ? works("Changes the id", { idsFollowNames: true }, "The provider follows the new id")
      : works("Keeps the id", { idsFollowNames: false });
  }),
  createdValues: pointAbout("Values", "created", (created, { sent, update, canGet }) => {
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
    const isPart = (part: Pick<Reads, "lists" | "reads">): boolean => Math.max(part.lists, part.reads) > 0;
    const lagPart = isPart(objects) && isPart(fields) ? "all" : isPart(objects) ? "objects" : "fields";
    const what = { all: "All changes", objects: "New instances", fields: "Updates" }[lagPart];
    const observation = `${what}: lists show them ${after(lists)}, reads ${after(reads)}`;
    const lagMs = momentOf(Math.min(longest, PAUSES_MS.length - 1));
    const behaviour = { lagMs, lagIn, lagPart } as const;
    return Number.isFinite(longest)
      ? works(observation, behaviour, "The provider waits until replies show a change")
      : limited(observation, "An update may fail although the service has applied it", behaviour);
  }),
  deletion: pointAbout("Deletion", "deletion", ({ exchange, reads }, { created, canGet }) => {
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
      return limited(`Rejected (${causeOf(exchange)})`, consequence, behaviour);
    }
    const isLeft = (fields: WireFields | undefined): boolean =>
      fields !== undefined && fields.status !== created?.status && fields.status !== "deleting";
    const last = Math.max(reads.lists, reads.reads);
    const reply = `${exchange.reply.status}${isBare(exchange) ? ", without an operation" : ""}`;
    const [left] = reads.seen.flatMap(({ lists, reads }) => [lists, reads].filter(isLeft));
    if (left === undefined) {
      if (Number.isFinite(last)) return works(`${reply}; the instance disappears ${after(last)}`, behaviour);
      const remains = `the instance remains visible for more than ${formatDuration(timeOf(last))}`;
      const consequence = "`pulumi destroy` waits until the instance disappears, and fails if it doesn't";
      return limited(`${reply}; ${remains}`, consequence, behaviour);
    }
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
  idReuse: pointAbout("Reused ids", "deletion", ({ isIdReused: idReuse }) => {
    if (idReuse === undefined) return undefined;
    if (!idReuse) return works("A new instance gets a new id", { idReuse });
    const consequence = `The service reuses ids: ${REFRESH_FIRST}`;
    return limited("A new instance gets the id of a deleted one", consequence, { idReuse });
  }),
  failedOperations: pointAbout("Failed operations", "left", (left, { all }) => {
    const states = new Map<string, WireFields>();
    for (const exchange of all) {
      const { request, reply, json } = exchange;
      const id = isPoll(exchange) ? request.url.pathname.split("/").at(-1) : json.id;
      const isOperation = isPoll(exchange) || (request.method !== "GET" && reply.status === 202);
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
    const behaviour = { failedStatus, failedHasError, failedCreation, failEvery } as const;
    return limited(observation, "Run `pulumi up` again after such failures", behaviour);
  }),
} satisfies Points<Facts>;

/** Whether a 202 has neither an operation nor a Location. */
function isBare({ reply, json }: Exchange): boolean {
  return reply.status === 202 && !("status" in json) && reply.header("location") === undefined;
}

/** Returns a time between a read and the one before it, in milliseconds. */
const momentOf = (read: number): number => (timeOf(read - 1) + timeOf(read)) / 2;

/** Describes why a field didn't change. An outdated revision, or a reply that lags, is no evidence about the field. */
function failureOf(
  name: string,
  { reply: { status } }: Exchange,
  isShown: boolean,
  lag: number | undefined,
): string | undefined {
  if (status === 412) return `${name}: not observed (outdated revision)`;
  if (status >= 400) return `${name}: rejected (${status})`;
  if (isShown) return undefined;
  return `${name}: ${lag === Number.POSITIVE_INFINITY ? "not observed (replies lag)" : "ignored"}`;
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

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && Object.keys(Object(value)).length === 0;
