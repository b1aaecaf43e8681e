import type { WireFields } from "../model/resource-fields";
import type { Exchange } from "./reading-points";

/** The number of the first read that contains a change. The number is infinite if no read contains the change. */
export interface Lag {
  readonly lists: number;
  readonly reads: number;
}

/** An instance as returned by the list and by its own URL. */
export interface Shown {
  readonly lists: WireFields | undefined;
  readonly reads: WireFields | undefined;
}

/** The results of repeated reads of an instance. */
export interface Reads extends Lag {
  readonly seen: readonly Shown[];
}

/** An update, and the instance after the update. */
export interface Change extends Exchange {
  /** Undefined if the service rejected the update. */
  readonly lag: Lag | undefined;
  readonly shown: WireFields | undefined;
  /** The last known revision. */
  readonly revision: string | undefined;
}

export interface Update {
  /** The first accepted update of the labels, or the last rejected update. */
  readonly first: Change;
  readonly isOddAccepted: boolean;
  /** The fields that the update of the labels requests. */
  readonly relabeled: WireFields;
  /** An update that was sent while another update was running. */
  busy?: Exchange;
  /** An update with an outdated revision. */
  stale?: Exchange;
  /** Whether an update that restores earlier values also restores the revision. */
  isHash?: boolean;
  keys?: Change;
  renamed?: { readonly exchange: Exchange; readonly isShown: boolean; readonly hasNewId: boolean };
}

/** The observations of a probe that creates, changes and deletes an instance. Later observations are missing if the probe ended early. */
export interface Facts {
  readonly name: string;
  /** All requests and replies so far. */
  readonly all: readonly Exchange[];
  /** The fields of the creation request. */
  sent: WireFields;
  canGet: boolean;
  project?: Exchange;
  /** The reason why nothing could be created. `hiddenProject` is the id of the project if no list contains the project. */
  refusal?: {
    readonly exchange: Exchange;
    readonly what: "project" | "instance";
    readonly hiddenProject?: string;
  };
  /** A creation with an unknown flavor, and whether a valid creation with the same key was accepted afterwards. */
  invalid?: { readonly exchange: Exchange; readonly isAccepted: boolean; isKeyUsable?: boolean };
  creation?: Exchange;
  /** The repeated creation request, and a different creation with the same key. */
  replay?: { readonly second: Exchange; readonly isSame: boolean; other?: Exchange };
  /** All polls of the creation's operation, and any other requests during that time. */
  polls?: readonly Exchange[];
  /** The time at which the operation of the creation was purged. */
  end?:
    | { readonly when: "kept" }
    | { readonly when: "at its end" }
    | { readonly when: "read"; readonly reads: 1 | 2; readonly status: number }
    | { readonly when: "later"; readonly ms: number; readonly status: number };
  /** The reads after the request, and the reads after the end of the operation. */
  visibility?: { readonly early: Reads; readonly late: Reads };
  duplicate?: Exchange;
  created?: WireFields;
  update?: Update;
  /** `reads` is undefined if the service rejected the deletion. */
  deletion?: { readonly exchange: Exchange; readonly reads?: Reads; isIdReused?: boolean };
  /** The instances of the probe before the final cleanup. */
  left?: readonly WireFields[];
}
