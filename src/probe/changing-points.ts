import { isDeepStrictEqual } from "node:util";
import type { Accepted, ApiObject } from "../api/client";
import { isCloudInfraError } from "../diagnostics/error";
import type { Normalization } from "../emulator";
import { hasFingerprint } from "../model/changes";
import { isMap, type WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import { isTerminal, type Operation } from "../polling/wait";
import type { Lifecycle } from "./lifecycle";
import type { Exchange, Exchanges } from "./reading";
import { type Finding, fails, limited, parts, type Result, works } from "./report";

/** The titles of the points that require changes to objects, in the order of the report. */
export const changingPoints = {
  projectCreation: "Creation of projects",
  invalidValues: "Invalid values",
  rejectedKey: "Key of a rejection",
  creation: "Creation",
  replay: "Idempotency key",
  keyReuse: "Reused key",
  operation: "Operation",
  finishedOperation: "Finished operation",
  visibility: "New instances",
  duplicateNames: "Duplicate names",
  busyInstance: "Concurrent updates",
  update: "Update",
  labels: "Labels",
  staleRevision: "Stale revision",
  revisionOf: "Changed revision",
  changedFields: "Changed fields",
  renaming: "Renaming",
  createdValues: "Values",
  lag: "Lag",
  deletion: "Deletion",
  idReuse: "Reused ids",
  failedOperations: "Failed operations",
};

type PointId = keyof typeof changingPoints;
type CreateOptions = Parameters<Lifecycle["create"]>[2];

/** The results for one instance from the list and from its own URL. By default, a result consists of the instance's fields. */
export interface Shown<Value = WireFields | undefined> {
  readonly lists: Value;
  readonly reads: Value;
}

/** Repeated reads of an instance, and the number of the first read that contains a change. The number is infinite if no read does. */
export interface Reads extends Shown<number> {
  readonly seen: readonly Shown[];
}

/** The pauses before repeated reads, in milliseconds. */
const PAUSES_MS: readonly number[] = [0, 500, 1_500, 2_000, 4_000, 8_000, 14_000];

/** Returns the time of a read, in milliseconds since the first read. */
export const timeOf = (read: number): number => PAUSES_MS.slice(0, read + 1).reduce((sum, ms) => sum + ms, 0);

/** Returns the time halfway between a read and the previous read, in milliseconds. */
export const momentOf = (read: number): number => (timeOf(read - 1) + timeOf(read)) / 2;

/** Describes the time after which a read contained a change. */
export function after(read: number): string {
  if (read === 0) return "immediately";
  return `${Number.isFinite(read) ? "within" : "not within"} ${formatDuration(timeOf(read))}`;
}

/** The requests and findings that the steps of `probe --create` share. */
export class ProbeRun {
  private readonly found = new Map<PointId, Finding>();

  /** @param canGet whether the service has a GET of one object */
  constructor(
    readonly life: Lifecycle,
    readonly exchanges: Exchanges,
    public sent: WireFields,
    public canGet: boolean,
  ) {}

  readonly works = this.reporter(works);
  readonly limited = this.reporter(limited);
  readonly fails = this.reporter(fails);

  /** Returns a function that adds a finding, or replaces an earlier finding about the same point. */
  private reporter<Observed extends unknown[]>(result: (...observed: Observed) => Result) {
    return (point: PointId, ...observed: Observed): void => {
      this.found.set(point, { point, title: changingPoints[point], ...result(...observed) });
    };
  }

  /** Returns the findings in the order of the report. */
  get findings(): Finding[] {
    const points = Object.keys(changingPoints) as PointId[];
    return points.flatMap((point) => this.found.get(point) ?? []);
  }

  create(fields: WireFields, options?: CreateOptions, kind: "project" | "instance" = "instance") {
    return this.exchanges.attempt(this.life.create(kind, fields, options));
  }

  poll(operation: Operation) {
    const { operations } = this.life.session.client;
    return this.exchanges.attempt(operations.poll(operation, this.life.context()));
  }

  /** Waits for the operation of a change. This method ignores failures, which the report describes elsewhere. */
  async waitForEnd(accepted: Accepted | undefined): Promise<void> {
    if (accepted?.kind === "operation" && !isTerminal(accepted.operation))
      await this.life.end(accepted.operation);
  }

  /** Calls a function repeatedly until it returns true, for up to 30 s. */
  async repeat(isDone: () => Promise<boolean>): Promise<void> {
    const { session, signal } = this.life.context();
    for (const pause of PAUSES_MS) {
      if (pause > 0) await session.clock.sleep(pause, signal);
      if (await isDone()) return;
    }
  }

  /** Reads the instance from the list and from its URL until both contain the expected fields, for up to 30 s. */
  async readUntil(
    isExpected: (fields: WireFields | undefined) => boolean,
    read: () => Promise<Shown>,
  ): Promise<Reads> {
    const seen: Shown[] = [];
    const firstRead = (place: keyof Shown): number => {
      const at = seen.findIndex((shown) => isExpected(shown[place]));
      return at === -1 ? Number.POSITIVE_INFINITY : at;
    };
    await this.repeat(async () => {
      seen.push(await read());
      return Number.isFinite(Math.max(firstRead("lists"), firstRead("reads")));
    });
    return { lists: firstRead("lists"), reads: firstRead("reads"), seen };
  }

  /** Returns the instance from the list and from its URL. If the service doesn't support the URL, the list item is used for both. */
  async shown(id: string | undefined): Promise<Shown> {
    if (id === undefined) return { lists: undefined, reads: undefined };
    const { life } = this;
    const lists = (await life.list()).find((one) => one.id === id)?.fields;
    if (!this.canGet) return { lists, reads: lists };
    try {
      return { lists, reads: (await life.session.client.instances.get(id, life.context())).fields };
    } catch (error) {
      if (isCloudInfraError(error) && error.code === "not_found") return { lists, reads: undefined };
      if (isCloudInfraError(error) && error.code === "unsupported") return { lists, reads: lists };
      throw error;
    }
  }

  async named(name: string): Promise<ApiObject | undefined> {
    return (await this.life.list()).find(({ fields }) => fields.name === name);
  }
}

export function reportLag(run: ProbeRun, objects: Shown<number>, fields: Shown<number>) {
  const lists = Math.max(objects.lists, fields.lists);
  const reads = Math.max(objects.reads, fields.reads);
  const longest = Math.max(lists, reads);
  if (longest === 0) return run.works("lag", "Lists and reads show changes immediately", { lagMs: 0 });
  const lagIn = lists > 0 && reads > 0 ? "both" : lists > 0 ? "lists" : "reads";
  const lags = (part: Shown<number>): boolean => Math.max(part.lists, part.reads) > 0;
  const lagPart = lags(objects) && lags(fields) ? "all" : lags(objects) ? "objects" : "fields";
  const what = { all: "All changes", objects: "New instances", fields: "Updates" }[lagPart];
  const observation = `${what}: lists show them ${after(lists)}, reads ${after(reads)}`;
  const lagMs = momentOf(Math.min(longest, PAUSES_MS.length - 1));
  const behaviour = { lagMs, lagIn, lagPart } as const;
  return Number.isFinite(longest)
    ? run.works("lag", observation, behaviour, "The provider waits until replies show a change")
    : run.limited("lag", observation, "An update may fail although the service has applied it", behaviour);
}

export async function reportFailures(run: ProbeRun): Promise<void> {
  const left = await run.life.list();
  const states = new Map<string, WireFields>();
  for (const exchange of run.exchanges.all) {
    const { request, reply, json } = exchange;
    const id = isPoll(exchange) ? request.url.pathname.split("/").at(-1) : json.id;
    const isOperation = isPoll(exchange) || (request.method !== "GET" && reply.status === 202);
    if (isOperation && reply.status < 300 && id !== undefined) states.set(String(id), json);
  }
  const ends = [...states.values()];
  const isFailed = (json: WireFields): boolean =>
    "status" in json && isEnd(json) && (json.status !== "done" || isMap(json.error));
  const [sample, ...others] = ends.filter(isFailed);
  if (sample === undefined)
    return run.works("failedOperations", `No operation failed (${ends.length} observed)`);
  const failedStatus = String(sample.status);
  const failedHasError = isMap(sample.error);
  const isLeft = left.some(({ fields }) => /err|fail/i.test(String(fields.status)));
  const observation = parts(
    `${others.length + 1} of ${ends.length} failed with the status ${failedStatus}`,
    failedHasError ? "with a problem document" : "without a problem document",
    `a failed creation leaves ${isLeft ? "the instance" : "nothing"} behind`,
  );
  const failedCreation = isLeft ? "object" : "nothing";
  const failEvery = ends.findIndex(isFailed) + 1;
  const behaviour = { failedStatus, failedHasError, failedCreation, failEvery } as const;
  run.limited("failedOperations", observation, "Run `pulumi up` again after such failures", behaviour);
}

export const isPoll = ({ request }: Exchange): boolean => request.url.pathname.includes("/operations/");
export const isEnd = ({ status }: WireFields): boolean => !/^(pending|running)$/i.test(String(status));

/** The fields of a request, and the fields of the instance afterwards if the service has accepted the request. */
export interface Values {
  readonly wanted: WireFields;
  readonly shown?: WireFields | undefined;
}

/** Reports how the service returns the values of a creation and of an update of the labels. */
export function reportValues(run: ProbeRun, created: WireFields, relabeled: Values | undefined) {
  const { sent, canGet } = run;
  const names = Object.keys(sent).filter((name) => name !== "public_ip");
  const postIgnores = names.filter((name) => name in created && isEmpty(created[name]));
  const unshown = canGet ? names.filter((name) => !(name in created)) : [];
  const pairs: Values[] = [{ wanted: sent, shown: created }, ...(relabeled ? [relabeled] : [])];
  const isNormalized = (name: string): boolean =>
    pairs.some(
      ({ wanted, shown = {} }) =>
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
  const behaviour = { statusAfterCreate, postIgnores, unshown, normalize };
  run.works("createdValues", observation, behaviour, consequence);
}

function normalizationsOf({ wanted, shown = {} }: Values): Normalization[] {
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
  if (hasFingerprint(keys)) found.add("fingerprints");
  else if (keys.length > 0 && !isDeepStrictEqual(keys, wanted.ssh_keys)) found.add("bare-keys");
  return [...found];
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && Object.keys(Object(value)).length === 0;
