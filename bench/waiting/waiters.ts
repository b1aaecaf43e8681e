import { ours } from "./ours";
import { everyHalfSecond, everyTenSeconds } from "./peers/constant";
import { coreLro } from "./peers/core-lro";
import { googleGax } from "./peers/google-gax";
import { utilWaiter } from "./peers/util-waiter";
import type { Waiter } from "./waiter";

/** Whom we are measured against. */
export const peers: readonly Waiter[] = [coreLro, utilWaiter, googleGax, everyHalfSecond, everyTenSeconds];

/** Us first, as in the tables. */
export const waiters: readonly Waiter[] = [ours, ...peers];
