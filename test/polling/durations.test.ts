import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "../../src/polling/clock";

test.each([
  ["500ms", 500],
  ["90s", 90_000],
  ["10m", 600_000],
  ["1h", 3_600_000],
  ["1h30m", 5_400_000],
  ["1.5h", 5_400_000],
  ["1m30s500ms", 90_500],
])("parses %s as %d ms", (text, ms) => {
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
])("rejects %j", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test("returns a positive number or undefined for any string", () => {
  const likely = fc.stringMatching(/^[0-9.]{0,4}(ms|s|m|h|d|)[0-9.]{0,3}(ms|s|m|h|)$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), likely), (text) => {
      const ms = parseDuration(text);
      if (ms !== undefined) expect(ms).toBeGreaterThan(0);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  [0, "0 ms"],
  [250, "250 ms"],
  [30_000, "30 s"],
  [60_000, "1 min"],
  [200_000, "3 min 20 s"],
  [1_800_000, "30 min"],
  [7_500_000, "2 h 5 min"],
])("formats %i ms as %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
