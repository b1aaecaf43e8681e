/** The smallest, the middle and the largest of some figures. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** @throws RangeError of none */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    min: at(sorted, 0),
    median: at(sorted, Math.floor(sorted.length / 2)),
    max: at(sorted, sorted.length - 1),
  };
}

/** @throws RangeError of none */
export function median(values: readonly number[]): number {
  return spreadOf(values).median;
}

/** @throws RangeError of none */
export function mean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("there is no mean of no values");
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * The value that the given share of all values does not exceed.
 *
 * @param share from 0 to 1
 * @throws RangeError of none
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

/** As tables show it: `12 (11–15)`, the median and in brackets the smallest and the largest; one figure alone of one run. */
export function spreadText(values: readonly number[], digits = 0): string {
  const { min, median, max } = spreadOf(values);
  const [low, middle, high] = [min, median, max].map((value) => value.toFixed(digits));
  return values.length === 1 ? `${middle}` : `${middle} (${low}–${high})`;
}
