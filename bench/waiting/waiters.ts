import { ours } from "./ours";
import { everyHalfSecond, everyTenSeconds } from "./peers/constant";
import { coreLro } from "./peers/core-lro";
import { googleGax } from "./peers/google-gax";
import { utilWaiter } from "./peers/util-waiter";
import type { Waiter } from "./waiter";

/** The waiters of other projects. */
export const peers: readonly Waiter[] = [coreLro, utilWaiter, googleGax, everyHalfSecond, everyTenSeconds];

/** All waiters, starting with this package's own. */
export const waiters: readonly Waiter[] = [ours, ...peers];
