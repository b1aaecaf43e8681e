import type { Behaviour } from "../../../src/emulator";
import { randomBehaviour, unusualBehaviour } from "../behaviours";
import type { Random } from "../random";

/**
 * A service of which a preview must be true. No operation fails, because then `up` would make less than was announced. Its lag is over
 * before the next command.
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
    // A refresh can't show what nothing shows, so the preview after it can't, either.
    unshown: [],
    lagMs: unusual.lagMs === 0 ? 0 : 150,
  };
}
