/** A time span for people: `300 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return both(`${minutes} min`, seconds % 60, "s");
  return both(`${Math.floor(minutes / 60)} h`, minutes % 60, "min");
}

function both(whole: string, rest: number, unit: string): string {
  return rest === 0 ? whole : `${whole} ${rest} ${unit}`;
}

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Parses a duration as Pulumi's `customTimeouts` writes it: `"90s"`, `"10m"`, `"1h30m"`.
 *
 * @returns milliseconds, or `undefined` where the text is no positive duration
 */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (units[unit] ?? Number.NaN);
  }
  return total > 0 ? total : undefined;
}
