import { deadlineIn, systemClock } from "../../src/polling/clock";
import { type Operation, waitForOperation } from "../../src/polling/wait";
import type { Look, Waiter } from "./waiter";

const DEADLINE_MS = 7_200_000;

/** This package's own waiting, on the system clock, which the simulation replaces for all waiters. */
export const ours: Waiter = {
  name: "pulumi-cloudinfra",
  adaptive: true,
  heeds: ["progress", "Retry-After"],
  wait(accepted, look) {
    return waitForOperation(asOperation(accepted), {
      poll: async () => asOperation(await look()),
      clock: systemClock,
      deadline: deadlineIn(DEADLINE_MS, systemClock),
    });
  },
};

function asOperation({ state, progress, retryAfter }: Look): Operation {
  const retryAfterMs = retryAfter === undefined ? undefined : retryAfter * 1_000;
  return { id: "op-1", url: "/v1/operations/op-1", status: state, progress, retryAfterMs };
}
