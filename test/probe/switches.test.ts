import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { profileText, readProfile } from "../../src/emulator/profile";
import { type Finding, observedBehaviour } from "../../src/probe/report";
import { emptyFolder } from "../journal/folder";
import { created, openProbe, type PointId } from "./probed";

/** The switches of a service, a point of the report, and a part of its observation that only these switches cause. */
type Case = readonly [set: Partial<Behaviour>, point: PointId, observation: string];

/** Cases whose profile has other switches, or other values, which have the same effect as far as a probe can observe. */
const ROUGH = new Set<string>([
  "spelling",
  "extraFields",
  "lagMs",
  "lagRequests",
  "operationKeptMs",
  "softDeleteMs",
  "hiddenProjects",
]);

const OLD = "http://old.example:81";

const SWITCHES: { readonly [Name in keyof Required<Behaviour>]: readonly Case[] } = {
  operationMs: [[{ operationMs: 9_000 }, "operation", "took 9 s"]],
  progress: [
    [{ progress: "bursts" }, "operation", "progress in quarters"],
    [{ progress: "stuck" }, "operation", "progress does not grow"],
    [{ progress: "absent" }, "operation", "no progress"],
  ],
  retryAfter: [[{ retryAfter: 2 }, "operation", "Retry-After: 2 s"]],
  retryAfterForm: [
    [{ retryAfter: 2, retryAfterForm: "http-date" }, "operation", "as an HTTP date"],
    [{ retryAfter: 2, retryAfterForm: "asctime" }, "operation", "as a date of asctime"],
  ],
  finishedAt: [[{ finishedAt: false }, "operation", "the end is not dated"]],
  operationKeptMs: [[{ operationKeptMs: 1_000 }, "finishedOperation", "purged soon after its end"]],
  operationKeptPolls: [
    [{ operationKeptPolls: 0 }, "finishedOperation", "purged when it ends"],
    [{ operationKeptPolls: 1 }, "finishedOperation", "read once (404)"],
    [{ operationKeptPolls: 2 }, "finishedOperation", "read twice (404)"],
  ],
  purgedStatus: [[{ purgedStatus: 410, operationKeptPolls: 1 }, "finishedOperation", "(410)"]],
  failedStatus: [[{ failEvery: 2, failedStatus: "error" }, "failedOperations", "with the status error"]],
  failedHasError: [
    [{ failEvery: 2, failedHasError: false }, "failedOperations", "without a problem document"],
  ],
  failEvery: [[{ failEvery: 2 }, "failedOperations", "1 of 2 failed with the status failed"]],
  failedCreation: [
    [{ failEvery: 2, failedCreation: "object" }, "failedOperations", "leaves the instance behind"],
  ],
  resultLink: [
    [{ resultLink: "relative" }, "operation", "result link: relative"],
    [{ resultLink: "early" }, "operation", "result link: early"],
    [{ resultLink: "missing" }, "operation", "result link: missing"],
  ],
  location: [
    [{ location: "relative" }, "creation", "Location: relative"],
    [{ location: "missing" }, "creation", "Location: missing"],
  ],
  linkOrigin: [[{ linkOrigin: OLD }, "links", OLD]],
  locationOrigin: [[{ locationOrigin: OLD }, "creation", `Location: absolute to ${OLD}`]],
  resultOrigin: [[{ resultOrigin: OLD }, "operation", `result link: absolute to ${OLD}`]],
  projectPost: [
    [{ projectPost: 200 }, "projectCreation", "200"],
    [{ projectPost: 201 }, "projectCreation", "201"],
    [{ projectPost: 202 }, "projectCreation", "202"],
  ],
  postIgnores: [[{ postIgnores: ["ssh_keys", "labels"] }, "createdValues", "ignored: ssh_keys, labels"]],
  putReply: [
    [{ putReply: 204 }, "update", "204"],
    [{ putReply: 202 }, "update", "202"],
  ],
  deleteObject: [
    [{ deleteObject: 202 }, "deletion", "202"],
    [{ deleteObject: 200 }, "deletion", "200"],
    [{ deleteObject: 405 }, "deletion", "Rejected (405"],
  ],
  writeReply: [[{ writeReply: "slim" }, "update", "a part of the instance"]],
  acceptedReply: [
    [{ acceptedReply: "location" }, "creation", "nothing in the body"],
    [{ acceptedReply: "bare", putReply: 202 }, "update", "202; no operation"],
    [{ acceptedReply: "bare", deleteObject: 202 }, "deletion", "202, without an operation"],
  ],
  busyInstance: [[{ busyInstance: "refused", putReply: 202 }, "busyInstance", "rejected (409)"]],
  uniqueNames: [[{ uniqueNames: true }, "duplicateNames", "Are rejected (409: name_taken)"]],
  conflictDetail: [[{ uniqueNames: true, conflictDetail: "no way" }, "duplicateNames", "409: no way"]],
  ids: [
    [{ ids: "counter" }, "ids", "Style: counter"],
    [{ ids: "number" }, "ids", "Style: number"],
    [{ ids: "slug" }, "ids", "Style: slug"],
    [{ ids: "uuid" }, "ids", "Style: uuid"],
  ],
  idReuse: [
    [{ ids: "counter", idReuse: true }, "idReuse", "gets the id of a deleted one"],
    [{ ids: "slug", idReuse: true }, "idReuse", "gets the id of a deleted one"],
  ],
  idsFollowNames: [[{ ids: "slug", idsFollowNames: true }, "renaming", "Changes the id"]],
  getObject: [
    [{ getObject: 404 }, "singleObject", "404 for an instance"],
    [{ getObject: 405 }, "singleObject", "405 for an instance"],
  ],
  revision: [
    [{ revision: "header" }, "revision", "Only in the ETag header"],
    [{ revision: "body" }, "revision", "Only in the field revision"],
    [{ revision: "weak" }, "revision", "a weak ETag"],
    [{ revision: "none" }, "revision", "Not found"],
  ],
  revisionOf: [[{ revisionOf: "shown" }, "revisionOf", "Equal values have the same revision"]],
  revisionField: [
    [{ revision: "body", revisionField: "etag" }, "revision", "the field etag"],
    [{ revision: "body", revisionField: "lock_version" }, "revision", "the field lock_version"],
    [{ revision: "body", revisionField: "row_rev" }, "revision", "Perhaps in the field row_rev"],
  ],
  ipField: [
    [{ ipField: "public_address" }, "ipAddress", "public_address"],
    [{ ipField: "public_ip" }, "ipAddress", "public_ip"],
  ],
  publicIpShows: [[{ publicIpShows: "null" }, "ipAddress", "public_ip is null"]],
  statusAfterCreate: [[{ statusAfterCreate: "active" }, "createdValues", "Status: active"]],
  instanceVisible: [[{ instanceVisible: "when-done" }, "visibility", "Listed when the operation has ended"]],
  softDelete: [
    [{ softDelete: "deleted" }, "deletion", "remains visible in lists and reads with the status deleted"],
  ],
  softDeleteMs: [[{ softDelete: "deleted", softDeleteMs: 5_000 }, "deletion", "and disappears within 8 s"]],
  softDeleteIn: [
    [{ softDelete: "deleted", softDeleteIn: "reads" }, "deletion", "remains visible in reads with"],
    [{ softDelete: "deleted", softDeleteIn: "lists" }, "deletion", "remains visible in lists with"],
  ],
  unshown: [[{ unshown: ["ssh_keys"] }, "createdValues", "not returned: ssh_keys"]],
  extraFields: [[{ extraFields: { rack: "b7" } }, "otherFields", "rack"]],
  normalize: [
    [{ normalize: ["ids"] }, "createdValues", "image, flavor, network (ids)"],
    [{ normalize: ["upper-case"] }, "createdValues", "(upper-case)"],
    [{ normalize: ["lower-case"] }, "createdValues", "(lower-case)"],
    [{ normalize: ["trimmed"] }, "createdValues", "(trimmed)"],
    [{ normalize: ["bare-keys"] }, "createdValues", "(bare-keys)"],
    [{ normalize: ["fingerprints"] }, "createdValues", "(fingerprints)"],
    [{ normalize: ["numeric-labels"] }, "createdValues", "(numeric-labels)"],
  ],
  spelling: [
    [
      { spelling: (instance) => ({ ...instance, network: "n/default" }) },
      "createdValues",
      "normalized: network",
    ],
  ],
  absentValues: [[{ absentValues: "null" }, "emptyFields", "Shown as null"]],
  numbersAsText: [[{ numbersAsText: true }, "problems", "numbers are strings"]],
  fractionalDates: [[{ fractionalDates: true }, "dates", "fractions of seconds only in lists"]],
  instanceLimit: [[{ instanceLimit: "refused" }, "instancePages", "Rejects limit=200 (422)"]],
  pageSize: [[{ pageSize: 1 }, "instancePages", "pages of 1"]],
  itemsWithout: [[{ itemsWithout: ["network", "labels"] }, "listItems", "Omit"]],
  emptyItems: [
    [{ emptyItems: "null" }, "emptyPage", "items: null"],
    [{ emptyItems: "absent" }, "emptyPage", "items: absent"],
  ],
  lastCursor: [
    [{ lastCursor: "absent" }, "emptyPage", "next_cursor: absent"],
    [{ lastCursor: "empty" }, "emptyPage", "next_cursor: empty"],
  ],
  lagMs: [[{ lagMs: 1_200 }, "lag", "All changes: lists show them within 2 s, reads immediately"]],
  lagRequests: [[{ lagRequests: 3 }, "lag", "lists show them within"]],
  lagIn: [
    [{ lagMs: 1_200, lagIn: "reads" }, "lag", "lists show them immediately, reads within 2 s"],
    [{ lagMs: 1_200, lagIn: "both" }, "lag", "lists show them within 2 s, reads within 2 s"],
  ],
  lagPart: [
    [{ lagMs: 1_200, lagPart: "fields" }, "lag", "Updates: lists"],
    [{ lagMs: 1_200, lagPart: "objects" }, "lag", "New instances: lists"],
  ],
  cachedReplies: [[{ cachedReplies: "successes" }, "rejectedKey", "Can be used again"]],
  keyRetentionMs: [[{ keyRetentionMs: 0 }, "replay", "with another result"]],
  keyReuseStatus: [
    [{ keyReuseStatus: 409 }, "keyReuse", "rejected (409"],
    [{ keyReuseStatus: 400 }, "keyReuse", "rejected (400"],
  ],
  keyReuseCode: [[{ keyReuseCode: "key_taken" }, "keyReuse", "key_taken"]],
  traceIds: [
    [{ traceIds: "constant" }, "problems", "trace ids: constant"],
    [{ traceIds: "zeros" }, "problems", "trace ids: zeros"],
    [{ traceIds: "empty" }, "problems", "trace ids: empty"],
    [{ traceIds: "missing" }, "problems", "trace ids: missing"],
  ],
  problemDetail: [
    [{ problemDetail: "list" }, "problems", "detail: list"],
    [{ problemDetail: "missing" }, "problems", "detail: missing"],
    [{ problemDetail: "long" }, "problems", "detail: long"],
  ],
  hiddenProjects: [[{ hiddenProjects: ["shop"] }, "creation", "Rejected (403"]],
  readOnlyToken: [[{ readOnlyToken: true }, "creation", "Rejected (403"]],
  forbiddenStatus: [
    [{ readOnlyToken: true, forbiddenStatus: 404 }, "creation", "Rejected (404"],
    [{ readOnlyToken: true, forbiddenStatus: 401 }, "creation", "Rejected (401"],
  ],
};

let usual: Promise<Finding[]> | undefined;
/** The findings about a service without switches. */
const usualFindings = (): Promise<Finding[]> => (usual ??= created({}));

const observationOf = (findings: readonly Finding[], point: PointId): string =>
  findings.find((one) => one.point === point)?.observation ?? "";

/** Writes the profile of a service. */
function profileOf(findings: readonly Finding[]): string {
  const file = path.join(emptyFolder(), "service.json");
  writeFileSync(file, profileText(observedBehaviour(findings)));
  return file;
}

describe("`probe --create`", () => {
  test("reports that everything works if the service is as specified", async () => {
    const findings = await usualFindings();
    expect(findings.filter(({ verdict }) => verdict !== "works")).toEqual([]);
  });

  test.each(Object.values(SWITCHES).flat())("reports %j", async (set, point, observation) => {
    const usual = await usualFindings();
    expect(observationOf(usual, point)).not.toContain(observation);
    const findings = await created(set);
    expect(observationOf(findings, point)).toContain(observation);
    const isExact = (name: string): boolean =>
      !ROUGH.has(name) && (name !== "retryAfter" || set.retryAfterForm === undefined);
    const exact = Object.entries(set).filter(([name]) => isExact(name));
    const observed = observedBehaviour(findings);
    expect(observed).toMatchObject(Object.fromEntries(exact));
    expect(readProfile(profileOf(findings))).toEqual(observed);
  });
});

describe("a profile", () => {
  /** What a report says, without what depends on the time or on the ids of the objects. */
  const lasting = (findings: readonly Finding[]) =>
    findings
      .filter(({ point }) => !["address", "speed", "clock"].includes(point))
      .map(({ point, verdict, observation }) => [point, verdict, observation.replace(/, such as .*/, "")]);

  /** Together, they set all switches whose effect a probe can observe exactly. */
  const services: [string, Partial<Behaviour>][] = [
    ["a service as specified", {}],
    [
      "a service with other replies",
      {
        ...{ location: "relative", resultLink: "early", putReply: 202, deleteObject: 202 },
        ...{ keyReuseStatus: 409, keyReuseCode: "key_taken", traceIds: "constant", numbersAsText: true },
        ...{ retryAfter: 2, instanceVisible: "when-done", statusAfterCreate: "active", uniqueNames: true },
        ...{ busyInstance: "refused", cachedReplies: "successes", operationMs: 9_000 },
      },
    ],
    [
      "a service with other objects",
      {
        ...{ ids: "counter", idReuse: true, revision: "body", revisionField: "version", revisionOf: "shown" },
        ...{ ipField: "public_address", softDelete: "deleted", softDeleteMs: 5_000, unshown: ["ssh_keys"] },
        ...{ normalize: ["ids", "numeric-labels"], absentValues: "null", extraFields: { rack: "b7" } },
        ...{ publicIpShows: "null", fractionalDates: true, itemsWithout: ["network"] },
      },
    ],
    [
      "a service that lags",
      {
        ...{ lagMs: 1_200, lagIn: "both", getObject: 404, operationKeptPolls: 1, purgedStatus: 410 },
        ...{ pageSize: 1, emptyItems: "absent", lastCursor: "empty", instanceLimit: "refused" },
      },
    ],
    ["a service without deletion", { deleteObject: 405, progress: "absent", postIgnores: ["labels"] }],
    [
      "a service behind a proxy",
      {
        ...{ linkOrigin: OLD, locationOrigin: "http://api.example:82", resultOrigin: "http://op.example:83" },
        ...{ projectPost: 202, writeReply: "slim", uniqueNames: true, conflictDetail: "no way" },
        ...{ retryAfter: 2, retryAfterForm: "asctime", operationKeptMs: 1_000 },
      },
    ],
    [
      "a service with slugs",
      {
        ...{ ids: "slug", idsFollowNames: true, softDelete: "deleted", softDeleteIn: "lists" },
        ...{ lagMs: 1_200, lagPart: "fields", keyRetentionMs: 0, acceptedReply: "location" },
      },
    ],
    [
      "a service whose operations fail",
      {
        ...{ failEvery: 2, failedStatus: "error", failedHasError: false, failedCreation: "object" },
        problemDetail: "list",
      },
    ],
    ["a service that doesn't date the end of operations", { finishedAt: false, operationMs: 300 }],
    ["a service that rejects changes", { readOnlyToken: true, forbiddenStatus: 404 }],
  ];

  test("is tested with every switch except those that a probe can't tell from others", () => {
    const isSet = (name: string): boolean => services.some(([, behaviour]) => name in behaviour);
    const missing = Object.keys(SWITCHES).filter((name) => !isSet(name));
    expect(missing).toEqual(["spelling", "lagRequests", "hiddenProjects"]);
  });

  test.each(services)("of %s lets the emulator produce the same report", async (_name, behaviour) => {
    const { project, ...first } = await openProbe({ behaviour });
    const isInNewProject = behaviour.projectPost !== undefined;
    const found = await first.create(isInNewProject ? { region: "eu-1" } : { project });
    const { finishedAt, operationMs, ...others } = behaviour; // the duration is unknown if the end isn't dated
    expect(Object.keys(observedBehaviour(found))).toEqual(expect.arrayContaining(Object.keys(others)));
    expect(observedBehaviour(found)).toMatchObject(finishedAt === false ? { finishedAt } : {});
    const second = await openProbe({ like: profileOf(found) });
    const again = await second.create(isInNewProject ? { region: "eu-1" } : undefined);
    expect(lasting(again)).toEqual(lasting(found));
  });
});
