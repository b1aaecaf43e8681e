import type { Accepted, ApiObject } from "../api/client";
import { isCloudInfraError } from "../diagnostics/error";
import type { WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import { isTerminal, type Operation } from "../polling/wait";
import type { Lifecycle } from "./lifecycle";
import type { Exchanges } from "./reading";
import type { Finding, Result } from "./report";

/** The titles of the points that only changes show, in the order of the report. */
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

/** An instance in the list and at its own URL. */
export interface Shown {
  readonly lists: WireFields | undefined;
  readonly reads: WireFields | undefined;
}

/** Repeated reads of an instance, and the numbers of those that are the first to show a change. Infinity if none does. */
export interface Reads {
  readonly lists: number;
  readonly reads: number;
  readonly seen: readonly Shown[];
}

/** Pauses before the reads that look for a change. */
export const PAUSES_MS: readonly number[] = [0, 500, 1_500, 2_000, 4_000, 8_000, 14_000];

/** Returns the time of a read, in milliseconds since the first one. */
export const timeOf = (read: number): number => PAUSES_MS.slice(0, read + 1).reduce((sum, ms) => sum + ms, 0);

/** Says when a read has shown a change. */
export function after(read: number): string {
  if (read === 0) return "immediately";
  return `${Number.isFinite(read) ? "within" : "not within"} ${formatDuration(timeOf(read))}`;
}

/** What the steps of `probe --create` share: the requests, and the findings so far. */
export class Run {
  private readonly found = new Map<PointId, Finding>();

  /**
   * @param exchanges the exchanges of the client of `life`
   * @param sent the fields in the creation request of the instance
   * @param canGet whether the service has a GET of one object
   */
  constructor(
    readonly life: Lifecycle,
    readonly exchanges: Exchanges,
    public sent: WireFields,
    public canGet: boolean,
  ) {}

  /** Adds a finding, or replaces the one about the same point. */
  report(point: PointId, result: Result): void {
    this.found.set(point, { point, title: changingPoints[point], ...result });
  }

  /** Returns the findings in the order of the report. */
  get findings(): Finding[] {
    const points = Object.keys(changingPoints) as PointId[];
    return points.map((point) => this.found.get(point)).filter((finding) => finding !== undefined);
  }

  create(
    fields: WireFields,
    options?: Parameters<Lifecycle["create"]>[2],
    kind: "project" | "instance" = "instance",
  ) {
    return this.exchanges.attempt("POST", this.life.create(kind, fields, options));
  }

  poll(operation: Operation) {
    const { operations } = this.life.session.client;
    return this.exchanges.attempt("GET", operations.poll(operation, this.life.context()));
  }

  /** Waits for the operation of a change. A failed or purged operation is reported elsewhere. */
  async settle(accepted: Accepted | undefined): Promise<void> {
    if (accepted?.kind === "operation" && !isTerminal(accepted.operation))
      await this.life.end(accepted.operation);
  }

  /** Calls a function after each pause until it returns true, for up to 30 s. */
  async repeat(isDone: () => Promise<boolean>): Promise<void> {
    const { session, signal } = this.life.context();
    for (const pause of PAUSES_MS) {
      if (pause > 0) await session.clock.sleep(pause, signal);
      if (await isDone()) return;
    }
  }

  /** Reads the instance in lists and at its URL until both are as expected, for up to 30 s. */
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

  /** Returns the instance in the list and at its URL. If the service has no GET of one object, the list counts for both. */
  async shown(id: string | undefined): Promise<Shown> {
    if (id === undefined) return { lists: undefined, reads: undefined };
    const { life } = this;
    const lists = (await life.list()).find((one) => one.id === id)?.fields;
    if (!this.canGet) return { lists, reads: lists };
    try {
      return { lists, reads: (await life.session.client.instances.get(id, life.context())).fields };
    } catch (error) {
      if (!isCloudInfraError(error) || !["not_found", "unsupported"].includes(error.code)) throw error;
      if (error.code === "unsupported") this.canGet = false;
      return { lists, reads: this.canGet ? undefined : lists };
    }
  }

  async named(name: string): Promise<ApiObject | undefined> {
    return (await this.life.list()).find(({ fields }) => fields.name === name);
  }
}
