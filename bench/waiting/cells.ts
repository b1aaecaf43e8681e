import type { Kind } from "./operation";
import { type ShapeName, shapes } from "./shapes";

/** Durations in seconds, each ± 20 %. */
export const DURATIONS: readonly number[] = [2, 10, 45, 120, 600];

const FAILS_WITHIN = 0.3;

/** The kinds of operations. Each is combined with every duration. */
export const kinds: readonly Kind[] = [
  ...(Object.keys(shapes) as ShapeName[]).map((shape) => ({ name: shape, shape })),
  { name: "fails early, linear", shape: "linear", failsWithin: FAILS_WITHIN },
  { name: "fails early, absent", shape: "absent", failsWithin: FAILS_WITHIN },
  { name: "Retry-After 2 s, linear", shape: "linear", retryAfter: 2 },
  { name: "Retry-After 5 s, linear", shape: "linear", retryAfter: 5 },
];
