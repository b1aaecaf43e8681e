import { isDeepStrictEqual } from "node:util";
import type { Normalization } from "../emulator";
import { isMap, type WireFields } from "../model/resource-fields";
import type { Facts, Lag } from "./facts";
import { after, causeOf, isBare, isListedEarly, momentOf, PAUSES_MS, statusCode } from "./observations";
import type { Exchange } from "./reading-points";
import { limited, type Points, parts, point, works } from "./report";

/** The points of the report that depend on a new instance and its updates. */
export const updatePoints = {
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
          "An update may overwrite a concurrent change by another client",
        )
      : limited(
          `An outdated If-Match returned ${causeOf(update.stale)}`,
          "If another client changes an instance at the same time, the update fails with this error",
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
          ? "`pulumi refresh` can't detect drift in fields that aren't returned"
          : undefined;
    return works(observation, { statusAfterCreate, postIgnores, unshown, normalize }, consequence);
  }),
  lag: point("Lag", ({ visibility, polls, created, update }) => {
    if (visibility === undefined || created === undefined) return undefined;
    const { early, late } = visibility;
    // The probe could read the instance's URL only after a list had contained the id.
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
} satisfies Points<Facts>;

/** Returns the reason why a field didn't change. An outdated revision or a lagging reply proves nothing about the field. */
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
