import { hash } from "node:crypto";
import type { Behaviour } from "./behaviour";
import { type Chronicle, Collection, type Moment } from "./collection";
import { type IdKind, Ids } from "./ids";
import { OperationQueue } from "./operation-queue";
import type { Refusal } from "./problems";
import { type Reply, without } from "./reply";
import type { EmulatorRequest } from "./request";
import { Rules } from "./rules";

/** A project as the emulator stores it. */
export interface StoredProject {
  /** The id of the project, always as a string. */
  readonly id: string;
  /** The time of creation on the emulator's clock, in milliseconds since 1970. */
  readonly createdAt: number;
  /** The fields `name`, `region`, `description` and others, with the names in the specification. */
  readonly fields: Record<string, unknown>;
}

/** An instance as the emulator stores it. */
export interface StoredInstance {
  /** The id of the instance, always as a string. */
  readonly id: string;
  /** The time of creation on the emulator's clock, in milliseconds since 1970. */
  readonly createdAt: number;
  /** All fields that requests or tests set, with the names in the specification, such as `ssh_keys`. */
  fields: Record<string, unknown>;
  /** The time of the last change on the emulator's clock, in milliseconds since 1970. */
  updatedAt: number;
  /** The status, such as `"running"`. */
  status: string;
  /** The revision tag, which every change replaces. */
  revision: string;
  /** The public address, if the instance has one. */
  address?: string | undefined;
}

/** Handles the requests of one endpoint. `id` is the decoded id in the path. */
export type Handler = (state: State, request: EmulatorRequest, id: string) => Reply | Refusal;

const traceIds = {
  constant: "tr-0",
  zeros: "00000000000000000000000000000000",
  empty: "",
  missing: undefined,
} as const;

/** All data of the service. */
export class State implements Chronicle {
  readonly projects = new Collection<StoredProject>(this);
  readonly instances = new Collection<StoredInstance>(this);
  readonly operations = new OperationQueue();
  readonly rules = new Rules();
  /** The origin of the service. The string is empty until the port is open. */
  url = "";
  /** The number of requests so far. */
  requests = 0;
  private revisions = 0;
  private traces = 0;
  private addresses = 0;

  constructor(
    public behaviour: Behaviour,
    readonly now: () => number,
    private readonly ids = new Ids(),
  ) {}

  /** Returns an id for a new object. If ids are slugs, the id is derived from the name. */
  newId(kind: IdKind, name?: unknown): string {
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

  /** Returns the next address in 203.0.113.0/24, a range for documentation. The sequence restarts after 254 addresses. */
  newAddress(): string {
    this.addresses += 1;
    return `203.0.113.${((this.addresses - 1) % 254) + 1}`;
  }

  /** Records a change of an instance and sets its new revision. */
  changed(instance: StoredInstance, at: number): void {
    instance.revision = this.behaviour.revisionOf === "shown" ? this.tagOf(instance) : this.newRevision();
    instance.updatedAt = at;
    this.instances.changed(instance, at);
  }

  /** Returns a revision that depends only on visible values. */
  private tagOf({ fields, status, address }: StoredInstance): string {
    const shown = without(this.behaviour.unshown, { ...fields, status, address });
    return hash("sha256", JSON.stringify(shown)).slice(0, 12);
  }

  /** Deletes an instance. With `softDelete`, the deleted instance remains visible. */
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

  /** Reports whether the token can't access a project, given by its id or name. */
  isHidden(project: unknown): boolean {
    const { hiddenProjects } = this.behaviour;
    if (hiddenProjects.length === 0) return false;
    const names = ["*", String(project), String(this.projects.byId.get(String(project))?.fields.name)];
    return names.some((name) => hiddenProjects.includes(name));
  }

  /** Returns the moment that a list, or a read of a single object, currently uses. */
  moment(reads: "lists" | "reads"): Moment {
    const { lagIn, lagPart, softDeleteIn } = this.behaviour;
    const lags = lagIn === "both" || lagIn === reads;
    const then = lags ? this.oldest() : { at: this.now(), request: Number.POSITIVE_INFINITY };
    return { ...then, part: lagPart, deleted: softDeleteIn === "both" || softDeleteIn === reads };
  }

  /** Returns the earliest moment that a lagging read may still use. */
  oldest(): { at: number; request: number } {
    const { lagMs, lagRequests } = this.behaviour;
    const request = lagRequests === 0 ? Number.POSITIVE_INFINITY : this.requests - lagRequests - 1;
    return { at: this.now() - lagMs, request };
  }

  /** Reports whether an object that is visible or being created has the id. */
  private isTaken(kind: IdKind, id: string): boolean {
    if (kind === "operation") return this.operations.byId.has(id);
    const now = { at: this.now(), request: Number.POSITIVE_INFINITY, part: "all", deleted: true } as const;
    const collection = kind === "project" ? this.projects : this.instances;
    return (
      collection.shown(id, now) !== undefined ||
      this.operations.running().some(({ target }) => target.kind === kind && target.id === id)
    );
  }
}
