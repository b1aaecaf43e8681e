import { parseDuration } from "../../provider/durations";
import type { Hidden } from "../../provider/state";
import type { Deployment } from "./deployment";
import type { StoredSettings } from "./stored-settings";

/** What the provider allows where neither the resource nor the stack says how long a creation may take. */
const DEFAULT_TIMEOUT_MS = 30 * 60_000;

/**
 * A moment, in milliseconds since 1970, before which the request of a pending creation was not made: a key may be used
 * for 24 hours only (§4.7), so a guess must never be too late.
 *
 * The state tells no more than when it was last saved. While a creation is under way that may be later than its request,
 * but by no more than the creation may take. Without that time it is taken as older than any key may be.
 */
export function beganNoEarlierThan(
  { manifest }: Deployment,
  { __timeouts }: Hidden,
  { operationTimeout }: StoredSettings,
): number {
  const saved = Date.parse(manifest?.time ?? "");
  const longest = parseDuration(__timeouts?.create ?? operationTimeout ?? "") ?? DEFAULT_TIMEOUT_MS;
  return Number.isNaN(saved) ? 0 : saved - longest;
}
