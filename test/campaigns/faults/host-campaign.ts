import type { LoggedRequest } from "../../../src/emulator";
import { RequestCounter } from "../host/request-counter";
import { type Operation, Rounds } from "./rounds";
import { openSetting } from "./setting";

export interface HostOptions {
  readonly operations: number;
  readonly seed: number;
  /** The share of requests with a fault, from 0 to 1. */
  readonly faults: number;
}

export interface HostReport {
  readonly operations: readonly Operation[];
  readonly requests: number;
  /** Number of requests with each fault. */
  readonly hits: ReadonlyMap<string, number>;
  /** Number of failed calls, by the first line of their messages. */
  readonly failures: ReadonlyMap<string, number>;
  /** The number of objects that each call of `create` has created. */
  readonly made: readonly number[];
  readonly ms: number;
  readonly breaches: readonly string[];
}

const ENOUGH_BREACHES = 20;

/**
 * Runs random operations through the provider's host interface, at a service with faults. Each round changes half of
 * the resources and repeats `up`, each time in a new process, until nothing fails.
 */
export async function hostCampaign({ operations, seed, faults }: HostOptions): Promise<HostReport> {
  const started = performance.now();
  const setting = await openSetting();
  const counter = new RequestCounter();
  try {
    const rounds = new Rounds(setting, counter, seed, faults);
    while (rounds.done.length < operations && rounds.breaches.length < ENOUGH_BREACHES)
      await rounds.round(operations - rounds.done.length);
    const sent = [...setting.emulator.requests];
    await rounds.end();
    return {
      operations: rounds.done,
      requests: sent.length,
      hits: counted(sent.flatMap((request) => faultOf(request) ?? [])),
      failures: counted(rounds.failures),
      made: setting.calls.all,
      ms: performance.now() - started,
      breaches: rounds.breaches,
    };
  } finally {
    counter.close();
    await setting.close();
  }
}

/** Returns the fault of a request, if any. A reply instead of the work is identified by its status. */
function faultOf({ fault, status }: LoggedRequest): string | undefined {
  if (fault !== "status") return fault;
  return status < 300 ? "repeated first reply" : `${status}`;
}

function counted(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}
