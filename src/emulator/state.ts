import { randomBytes } from "node:crypto";
import type { Behaviour } from "./behaviour";
import { Collection } from "./collection";
import { Operations } from "./operations";
import type { Refusal } from "./problems";
import type { Reply } from "./reply";
import type { EmulatorRequest } from "./request";
import { Rules } from "./rules";

/** A project as the service holds it; `fields` under their names on the wire. */
export interface StoredProject {
  /** As in its address. */
  readonly id: string;
  /** By the service's clock, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Name, region, description, and foreign extras. */
  readonly fields: Record<string, unknown>;
}

/** An instance as the service holds it; `fields` are those that a request may carry, and foreign extras. */
export interface StoredInstance {
  /** As in its address. */
  readonly id: string;
  /** By the service's clock, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Under their names on the wire: `ssh_keys`. */
  fields: Record<string, unknown>;
  /** By the service's clock, in milliseconds since 1970. */
  updatedAt: number;
  /** For instance `"running"` (§3). */
  status: string;
  /** Another one after each change (§4.5). */
  revision: string;
  /** What a `public_ip` of "auto" became. */
  address?: string | undefined;
  /** The operation that is deleting it. */
  deletion?: string | undefined;
}

/** One endpoint: takes a request (and the id in its path), changes the state, and answers or refuses. */
export type Handler = (state: State, request: EmulatorRequest, id: string) => Reply | Refusal;

/** Everything the service holds. */
export class State {
  readonly projects = new Collection<StoredProject>();
  readonly instances = new Collection<StoredInstance>();
  readonly operations = new Operations();
  readonly rules = new Rules();
  /** Origin of the service, known once it listens. */
  url = "";
  private revisions = 0;
  private traces = 0;
  private addresses = 0;

  constructor(
    public behaviour: Behaviour,
    readonly now: () => number,
  ) {}

  newId(prefix: "prj" | "ins" | "op"): string {
    return `${prefix}-${randomBytes(6).toString("hex")}`;
  }

  newTraceId(): string {
    this.traces += 1;
    return `tr-${this.traces}`;
  }

  newRevision(): string {
    this.revisions += 1;
    return `r${this.revisions}`;
  }

  /** The next of 203.0.113.1 … 254, the range kept for documentation; after 254 instances they come again. */
  newAddress(): string {
    this.addresses += 1;
    return `203.0.113.${((this.addresses - 1) % 254) + 1}`;
  }

  /** The instance was changed: a new revision. */
  changed(instance: StoredInstance, at: number): void {
    instance.revision = this.newRevision();
    instance.updatedAt = at;
  }
}
