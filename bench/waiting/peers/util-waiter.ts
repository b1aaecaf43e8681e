import { checkExceptions, createWaiter, WaiterState, waiterServiceDefaults } from "@smithy/util-waiter";
import type { Waiter } from "../waiter";

const STATE = { running: WaiterState.RETRY, done: WaiterState.SUCCESS, failed: WaiterState.FAILURE } as const;
const MAX_WAIT_SECONDS = 7_200;

/**
 * The waiter of AWS's clients. It polls at once, and then after a random pause from 2 seconds to 2, 4, 8 … seconds, at
 * most 120. These bounds are its defaults (`waiterServiceDefaults`), and most generated waiters use them. Some begin
 * with 5, 15 or 30 seconds.
 */
export const utilWaiter: Waiter = {
  name: "@smithy/util-waiter",
  adaptive: true,
  heeds: [],
  async wait(_accepted, look) {
    const options = { ...waiterServiceDefaults, client: {}, maxWaitTime: MAX_WAIT_SECONDS };
    const result = await createWaiter(options, {}, async () => {
      const { state, progress } = await look();
      return { state: STATE[state], reason: { state, progress } };
    });
    return checkExceptions(result);
  },
};
