/** The minimum, median and maximum of some values. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** @throws RangeError if there are no values */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    min: at(sorted, 0),
    median: at(sorted, Math.floor(sorted.length / 2)),
    max: at(sorted, sorted.length - 1),
  };
}

/** @throws RangeError if there are no values */
export function median(values: readonly number[]): number {
  return spreadOf(values).median;
}

/** @throws RangeError if there are no values */
export function mean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("there are no values");
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Returns the smallest value that at least the given share of the values doesn't exceed.
 *
 * @param share from 0 to 1
 * @throws RangeError if there are no values
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return at(sorted, Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1));
}

function at(sorted: readonly number[], index: number): number {
  const value = sorted[Math.max(0, index)];
  if (value === undefined) throw new RangeError("there are no values");
  return value;
}

/** Formats values for tables: `12 (11–15)`, the median with the minimum and maximum. A single value stands alone. */
export function spreadText(values: readonly number[], digits = 0): string {
  const { min, median, max } = spreadOf(values);
  const [low, middle, high] = [min, median, max].map((value) => value.toFixed(digits));
  return values.length === 1 ? `${middle}` : `${middle} (${low}–${high})`;
}
