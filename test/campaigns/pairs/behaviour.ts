import type { Behaviour } from "../../../src/emulator";
import { randomBehaviour, unusualBehaviour } from "../behaviours";
import type { Random } from "../random";

/**
 * Draws a service for which a preview must be correct. No operation fails, because then `up` would do less than the
 * preview announced. The lag ends before the next command.
 */
export function behaviourOfPairs(random: Random): Partial<Behaviour> & { readonly lagMs: number } {
  const unusual = unusualBehaviour(random);
  return {
    ...randomBehaviour(random),
    ...unusual,
    operationMs: random.integer(0, 50),
    operationKeptPolls: random.pick([undefined, undefined, undefined, 1]),
    purgedStatus: random.pick([404, 410]),
    busyInstance: random.pick(["accepted", "refused"]),
    instanceLimit: "accepted",
    retryAfter: undefined,
    // A refresh, and so the preview after it, can't show a property that no reply shows.
    unshown: [],
    lagMs: unusual.lagMs === 0 ? 0 : 150,
  };
}
