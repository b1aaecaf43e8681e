import type { Behaviour } from "../../src/emulator";

/** What goes through JSON. */
export interface ServiceOptions {
  readonly behaviour: Partial<Omit<Behaviour, "spelling" | "operationMs"> & { operationMs: number }>;
}

export type ToService = "counts";

/** Requests by kind, such as `POST instances` and `LIST instances`. */
export type Counts = Readonly<Record<string, number>>;

export type FromService = { readonly endpoint: string; readonly token: string } | { readonly counts: Counts };
