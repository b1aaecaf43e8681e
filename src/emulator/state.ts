import { hash } from "node:crypto";
import type { Behaviour } from "./behaviour";
import { type Chronicle, Collection, type Moment } from "./collection";
import { Ids, type Kind } from "./ids";
import { Operations } from "./operation-queue";
import type { Refusal } from "./problems";
import { type Reply, without } from "./reply";
import type { EmulatorRequest } from "./request";
import { Rules } from "./rules";

/** A project as the service stores it. `fields` have the names of the specification. */
export interface StoredProject {
  /** As in its path. */
  readonly id: string;
  /** By the service's clock, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Name, region, description, and further fields. */
  readonly fields: Record<string, unknown>;
}

/** An instance as the service stores it. `fields` are those that a request may contain, and further fields. */
export interface StoredInstance {
  /** As in its path. */
  readonly id: string;
  /** By the service's clock, in milliseconds since 1970. */
  readonly createdAt: number;
  /** With the names of the specification: `ssh_keys`. */
  fields: Record<string, unknown>;
  /** By the service's clock, in milliseconds since 1970. */
  updatedAt: number;
  /** For example `"running"` (§3). */
  status: string;
  /** A new one after each change (§4.5). */
  revision: string;
  /** The address that a `public_ip` of "auto" became. */
  address?: string | undefined;
}

/** One endpoint: takes a request (and the id in its path), changes the state, and replies or refuses. */
export type Handler = (state: State, request: EmulatorRequest, id: string) => Reply | Refusal;

const traceIds = {
  constant: "tr-0",
  zeros: "00000000000000000000000000000000",
  empty: "",
  missing: undefined,
} as const;

/** Everything that the service stores. */
export class State implements Chronicle {
  readonly projects = new Collection<StoredProject>(this);
  readonly instances = new Collection<StoredInstance>(this);
  readonly operations = new Operations();
  readonly rules = new Rules();
  /** Origin of the service, known once it listens. */
  url = "";
  /** How many requests there have been. */
  requests = 0;
  private revisions = 0;
  private traces = 0;
  private addresses = 0;

  constructor(
    public behaviour: Behaviour,
    readonly now: () => number,
    private readonly ids = new Ids(),
  ) {}

  /** @param name of the object, which a slug is made of */
  newId(kind: Kind, name?: unknown): string {
    return this.ids.next(this.behaviour, kind, name, (id) => this.isTaken(kind, id));
  }

  newTraceId(): string | undefined {
    const { traceIds: kind } = this.behaviour;
    if (kind !== "fresh") return traceIds[kind];
    this.traces += 1;
    return `tr-${this.traces}`;
  }

  newRevision(): string {
    this.revisions += 1;
    return `r${this.revisions}`;
  }

  /** The next of 203.0.113.1 … 254, a range for documentation; after 254 instances, the first one again. */
  newAddress(): string {
    this.addresses += 1;
    return `203.0.113.${((this.addresses - 1) % 254) + 1}`;
  }

  /** Gives a changed instance a new revision. */
  changed(instance: StoredInstance, at: number): void {
    instance.revision = this.behaviour.revisionOf === "shown" ? this.tagOf(instance) : this.newRevision();
    instance.updatedAt = at;
    this.instances.changed(instance, at);
  }

  /** A revision that depends on what replies show of an instance. */
  private tagOf({ fields, status, address }: StoredInstance): string {
    const shown = without(this.behaviour.unshown, { ...fields, status, address });
    return hash("sha256", JSON.stringify(shown)).slice(0, 12);
  }

  /** Removes an instance, or leaves it visible for a while. */
  removeInstance(instance: StoredInstance, at: number): void {
    if (!this.instances.holds(instance)) return;
    const { softDelete, softDeleteMs = Number.POSITIVE_INFINITY } = this.behaviour;
    if (softDelete === undefined) {
      this.instances.remove(instance.id, at);
      return;
    }
    const item = { ...instance, status: softDelete, updatedAt: at, revision: this.newRevision() };
    this.instances.remove(instance.id, at, { item, ms: softDeleteMs });
  }

  /** What a list, or a read of a single object, shows now. */
  moment(reads: "lists" | "reads"): Moment {
    const { lagIn, lagPart, softDeleteIn } = this.behaviour;
    const lags = lagIn === "both" || lagIn === reads;
    const then = lags ? this.oldest() : { at: this.now(), request: Number.POSITIVE_INFINITY };
    return { ...then, part: lagPart, deleted: softDeleteIn === "both" || softDeleteIn === reads };
  }

  oldest(): { at: number; request: number } {
    const { lagMs, lagRequests } = this.behaviour;
    const request = lagRequests === 0 ? Number.POSITIVE_INFINITY : this.requests - lagRequests - 1;
    return { at: this.now() - lagMs, request };
  }

  /** Ids of objects that are visible or being created. */
  private isTaken(kind: Kind, id: string): boolean {
    if (kind === "operation") return this.operations.byId.has(id);
    const now = { at: this.now(), request: Number.POSITIVE_INFINITY, part: "all", deleted: true } as const;
    const collection = kind === "project" ? this.projects : this.instances;
    return (
      collection.shown(id, now) !== undefined ||
      this.operations.running().some(({ target }) => target.kind === kind && target.id === id)
    );
  }
}
