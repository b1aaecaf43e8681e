import type { Behaviour } from "../../src/emulator";

/** The options of the service's process, which are passed as JSON. */
export interface ServiceOptions {
  readonly behaviour: Partial<Omit<Behaviour, "spelling" | "operationMs"> & { operationMs: number }>;
  /** Range of operation durations in milliseconds, instead of `operationMs`. */
  readonly durations?: { readonly from: number; readonly to: number; readonly seed: number };
  /** Number of instances in the project at the start. @default 0 */
  readonly instances?: number;
  /** Requests per second before the service replies with 429, and seconds of Retry-After, if any. @default no limit */
  readonly limit?: { readonly perSecond: number; readonly retryAfter?: number };
}

export type ToService = "counts" | "report";

/** Requests by kind, such as `POST instances` and `LIST instances`. */
export type Counts = Readonly<Record<string, number>>;

/** The service's measurements since its start. */
export interface Report {
  /** Requests in each second since the first request. */
  readonly perSecond: readonly number[];
  /** Number of replies with 429. */
  readonly refused: number;
  readonly connections: number;
  /** For each operation, the milliseconds between its end and the poll that detected it. */
  readonly overshootMs: readonly number[];
}

export interface Started {
  readonly endpoint: string;
  readonly token: string;
  /** The id of a project, and the ids of its instances. */
  readonly project: string;
  readonly instances: readonly string[];
}

export type FromService = Started | { readonly counts: Counts } | { readonly report: Report };
