import type { Behaviour } from "../../../src/emulator";
import { randomBehaviour, unusualBehaviour } from "../behaviours";
import type { Random } from "../random";

/**
 * A service with what others do to its objects. It has no lag and normalizes nothing: the ledger compares values as they are at each
 * request with what errors report. Its ids are unique over all kinds, because the ledger identifies objects by them.
 */
export function foreignBehaviour(random: Random): Partial<Behaviour> {
  const usual = randomBehaviour(random);
  const { ids, linkOrigin: _, resultOrigin: __, ...unusual } = unusualBehaviour(random);
  return {
    ...usual,
    ...unusual,
    ids: ids === "uuid" ? "uuid" : "prefixed",
    normalize: [],
    // What others do to a property that nothing shows can't be noticed (README).
    unshown: [],
    // A project that the reply to its creation shows gets its name from the first refresh, whoever has changed it by then.
    projectPost: 202,
    lagMs: 0,
    busyInstance: random.pick(["accepted", "accepted", "refused"]),
  };
}
