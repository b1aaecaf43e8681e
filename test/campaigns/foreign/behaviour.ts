import type { Behaviour } from "../../../src/emulator";
import { randomBehaviour, unusualBehaviour } from "../behaviours";
import type { Random } from "../random";

/**
 * Draws a service whose objects somebody else edits. It has no lag and doesn't normalize values, because the ledger
 * compares the values at each request with those in errors. Ids are unique across both kinds, because the ledger
 * identifies objects by them.
 */
export function foreignBehaviour(random: Random): Partial<Behaviour> {
  const usual = randomBehaviour(random);
  const { ids, linkOrigin: _, resultOrigin: __, ...unusual } = unusualBehaviour(random);
  return {
    ...usual,
    ...unusual,
    ids: ids === "uuid" ? "uuid" : "prefixed",
    normalize: [],
    // Nobody can notice a change by somebody else to a property that no reply shows (README).
    unshown: [],
    // If the reply to a project's creation shows no name, the first refresh sets it. Somebody may have changed it by
    // then.
    projectPost: 202,
    lagMs: 0,
    busyInstance: random.pick(["accepted", "accepted", "refused"]),
  };
}
