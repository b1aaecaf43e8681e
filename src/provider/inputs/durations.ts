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
