import type { State } from "./state";

/** ISO 8601 in UTC, to the second. */
export function plainDate(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** A date in a list item, which may carry fractional seconds (§2.1). */
export function dateInList(state: State, at: number): string {
  return state.behaviour.fractionalDates ? new Date(at).toISOString() : plainDate(at);
}
