import { mean, quantile } from "../statistics";
import { type Kind, type PlannedOperation, planOperation, type Sampling } from "./operation";
import { randomFrom } from "./random";
import { inVirtualTime } from "./virtual-time";
import type { Look, Waiter } from "./waiter";

/** The result of one wait. */
export interface Outcome {
  readonly polls: number;
  /** Milliseconds between the operation's end at the service and its detection. */
  readonly overshootMs: number;
}

/** The results of one waiter for one kind of operation. */
export interface Figures {
  readonly polls: number;
  readonly overshootMs: number;
  readonly overshootP95Ms: number;
}

/** The duration of a poll, with equal halves for both directions. The operation starts half of it before the 202 arrives. */
export const ROUND_TRIP_MS = 100;

/** Simulates the waits for operations of one kind, each in its own virtual time. */
export async function simulate(
  waiter: Waiter,
  kind: Kind,
  seconds: number,
  sampling: Sampling,
): Promise<Figures> {
  const random = Math.random;
  const outcomes: Outcome[] = [];
  try {
    for (let number = 0; number < sampling.samples; number++) {
      Math.random = randomFrom(sampling.seed, seconds, number, waiter.name);
      outcomes.push(await waitFor(waiter, planOperation(kind, seconds, number, sampling)));
    }
  } finally {
    Math.random = random;
  }
  return figuresOf(outcomes);
}

/** Simulates one wait for one operation, in virtual time. */
export function waitFor(waiter: Waiter, operation: PlannedOperation): Promise<Outcome> {
  return inVirtualTime(async () => {
    const beganAt = performance.now() - ROUND_TRIP_MS / 2;
    let polls = 0;
    let last: Look = operation.look(0);
    const look = async () => {
      polls++;
      const seen = operation.look(performance.now() + ROUND_TRIP_MS / 2 - beganAt);
      await new Promise((resolve) => setTimeout(resolve, ROUND_TRIP_MS));
      last = seen;
      return seen;
    };
    // As in the emulator, only polls have Retry-After.
    const accepted = { ...last, retryAfter: undefined };
    const ending = await waiter.wait(accepted, look).then(
      () => "done",
      () => "failed",
    );
    const overshootMs = performance.now() - beganAt - operation.endsAt;
    if (last.state === "running")
      throw new Error(`${waiter.name} stopped waiting (${ending}) before the operation ended`);
    return { polls, overshootMs };
  });
}

export function figuresOf(outcomes: readonly Outcome[]): Figures {
  const overshoots = outcomes.map(({ overshootMs }) => overshootMs);
  return {
    polls: mean(outcomes.map(({ polls }) => polls)),
    overshootMs: mean(overshoots),
    overshootP95Ms: quantile(overshoots, 0.95),
  };
}
