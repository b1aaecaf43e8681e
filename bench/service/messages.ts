import type { Behaviour } from "../../src/emulator";

/** What goes through JSON. */
export interface ServiceOptions {
  readonly behaviour: Partial<Omit<Behaviour, "spelling" | "operationMs"> & { operationMs: number }>;
  /** Operations take between so many milliseconds, in place of `operationMs`. */
  readonly durations?: { readonly from: number; readonly to: number; readonly seed: number };
  /** How many instances the project has from the beginning. @default 0 */
  readonly instances?: number;
  /** From how many requests a second on it answers 429, and with how many seconds of Retry-After, if any. @default any number */
  readonly limit?: { readonly perSecond: number; readonly retryAfter?: number };
}

export type ToService = "counts" | "report";

/** Requests by kind, such as `POST instances` and `LIST instances`. */
export type Counts = Readonly<Record<string, number>>;

/** What the service has seen since it was started. */
export interface Report {
  /** Requests of each second from the first one on. */
  readonly perSecond: readonly number[];
  /** How many were answered 429. */
  readonly refused: number;
  readonly connections: number;
  /** For each operation that was seen done: how long after its end that was, in milliseconds. */
  readonly overshootMs: readonly number[];
}

export interface Started {
  readonly endpoint: string;
  readonly token: string;
  /** A project, and the ids of its instances. */
  readonly project: string;
  readonly instances: readonly string[];
}

export type FromService = Started | { readonly counts: Counts } | { readonly report: Report };
