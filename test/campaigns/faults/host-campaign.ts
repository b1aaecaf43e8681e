import type { LoggedRequest } from "../../../src/emulator";
import { RequestCounter } from "../host/request-counter";
import { type Operation, Rounds } from "./rounds";
import { openSetting } from "./setting";

export interface HostOptions {
  readonly operations: number;
  readonly seed: number;
  /** Which part of the requests is hit, from 0 to 1. */
  readonly faults: number;
}

export interface HostReport {
  readonly operations: readonly Operation[];
  readonly requests: number;
  /** Requests hit, by fault. */
  readonly hits: ReadonlyMap<string, number>;
  /** Calls that failed, by the first line of their words. */
  readonly failures: ReadonlyMap<string, number>;
  /** How many objects each call of `create` has made. */
  readonly made: readonly number[];
  readonly ms: number;
  readonly breaches: readonly string[];
}

const ENOUGH_BREACHES = 20;

/**
 * Operations at random through a service that spoils requests, by the provider's own host interface. In each round a half
 * of the resources is changed at once, and `up` is repeated, each in a process of its own, until nothing fails any more.
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

/** How a request was spoiled, if it was; an answer in place of the work is told by its status. */
function faultOf({ fault, status }: LoggedRequest): string | undefined {
  if (fault !== "status") return fault;
  return status < 300 ? "first reply again" : `${status}`;
}

function counted(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}
