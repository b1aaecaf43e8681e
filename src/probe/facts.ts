import type { WireFields } from "../model/resource-fields";
import type { Exchange } from "./reading-points";

/** How long replies lag: the numbers of the reads that are the first to show a change. Infinity if none does. */
export interface Lag {
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
  /** Why nothing could be created. `hiddenProject` is the id of the project if no list contains it. */
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
