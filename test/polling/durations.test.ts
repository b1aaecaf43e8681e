import fc from "fast-check";
import { expect, test } from "vitest";
import { parseDuration } from "../../src/polling/clock";

test.each([
  ["500ms", 500],
  ["90s", 90_000],
  ["10m", 600_000],
  ["1h", 3_600_000],
  ["1h30m", 5_400_000],
  ["1.5h", 5_400_000],
  ["1m30s500ms", 90_500],
])("%s is %d ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  "",
  "0s",
  "0",
  "90",
  "s",
  "-5m",
  "+5m",
  " 5m",
  "5m ",
  "5 m",
  "5min",
  "1e3s",
  "5m-1s",
  "∞h",
  "1h,30m",
])("%j is none", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test("of any text, it is a positive number of milliseconds or none", () => {
  const likely = fc.stringMatching(/^[0-9.]{0,4}(ms|s|m|h|d|)[0-9.]{0,3}(ms|s|m|h|)$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), likely), (text) => {
      const ms = parseDuration(text);
      if (ms !== undefined) expect(ms).toBeGreaterThan(0);
    }),
    { numRuns: 2_000 },
  );
});
