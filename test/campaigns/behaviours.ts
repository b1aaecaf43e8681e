import type { Behaviour } from "../../src/emulator";
import type { Random } from "./random";

/** A service that settles in its own way what the specification leaves open, and can do all that a life needs. */
export function randomBehaviour(random: Random): Partial<Behaviour> & { operationMs: number } {
  return {
    operationMs: random.integer(100, 1500),
    progress: random.pick(["linear", "bursts", "stuck", "absent"]),
    resultLink: random.pick(["absolute", "relative", "early"]),
    location: random.pick(["absolute", "relative", "missing"]),
    getObject: random.pick([200, 200, 404, 405]),
    deleteObject: random.pick([204, 202, 202]),
    revision: random.pick(["both", "header", "body", "weak"]),
    putReply: random.pick([200, 202, 202, 204]),
    projectPost: random.pick([201, 200, 202]),
    finishedAt: random.chance(0.7),
    fractionalDates: random.chance(0.3),
    instanceLimit: random.pick(["accepted", "refused"]),
    pageSize: random.pick([undefined, 1, 2]),
    instanceVisible: random.pick(["at-once", "when-done"]),
    uniqueNames: random.chance(0.4),
  };
}
