import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { formatDuration, limitOf, parseDuration, systemClock, within } from "../../src/polling/clock";
import { pauseMs } from "../../src/polling/schedule";
import { FakeClock } from "./fake-clock";

describe("the system clock", () => {
  it("rejects a sleep with the reason as soon as its signal is aborted", async () => {
    const controller = new AbortController();
    const sleeping = systemClock.sleep(3_600_000, controller.signal);
    controller.abort(new Error("enough"));
    await expect(sleeping).rejects.toThrow("enough");
    await expect(systemClock.sleep(0, controller.signal)).rejects.toThrow("enough");
  });

  it("limits alarms to Node's maximum timeout, because longer ones would ring immediately", async () => {
    vi.useFakeTimers();
    try {
      const rung = vi.fn();
      systemClock.alarm(2 ** 31 + 1_000, rung);
      await vi.advanceTimersByTimeAsync(2 ** 31 - 2);
      expect(rung).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(rung).toHaveBeenCalledTimes(1);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a fake clock with automatic time", () => {
  it("wakes all sleepers in the order of their times, even if nobody sleeps again", async () => {
    const clock = new FakeClock({ auto: true });
    const woken: number[] = [];
    const sleeps = [660, 440, 550].map((ms) => clock.sleep(ms).then(() => woken.push(ms)));
    await Promise.all(sleeps);
    expect(woken).toEqual([440, 550, 660]);
    expect(clock.now()).toBe(660);
  });
});

describe("a limit", () => {
  it("ends work that ignores its signal, and detaches from the caller's signal", async () => {
    const clock = new FakeClock();
    const limit = limitOf(1_000, clock);
    const ended = within(limit.signal, new Promise(() => {})).catch((error) => error);
    await clock.advance(1_000);
    expect(await ended).toMatchObject({ name: "TimeoutError" });
  });

  it("aborts with the caller's reason", () => {
    const outer = new AbortController();
    const limit = limitOf(1_000, new FakeClock(), outer.signal);
    outer.abort("why");
    expect(limit.signal.reason).toBe("why");
  });

  it("has no effect after its release", async () => {
    const clock = new FakeClock();
    const outer = new AbortController();
    const limit = limitOf(1_000, clock, outer.signal);
    limit.release();
    outer.abort();
    await clock.advance(2_000);
    expect(limit.signal.aborted).toBe(false);
  });
});

describe("backoff", () => {
  const backoff = { baseMs: 500, capMs: 4_000 };

  it("doubles its upper bound up to the cap, with full jitter", () => {
    expect([1, 2, 3, 4, 5, 2_000].map((failures) => pauseMs(backoff, failures, () => 1))).toEqual([
      500, 1_000, 2_000, 4_000, 4_000, 4_000,
    ]);
    expect(pauseMs(backoff, 5, () => 0)).toBe(0);
  });

  it("is never shorter than the floor, even above the cap, and still has jitter", () => {
    expect(pauseMs(backoff, 1, () => 0, 60_000)).toBe(60_000);
    expect(pauseMs(backoff, 1, () => 1, 60_000)).toBe(60_500);
  });
});

it.each([
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

it.each([
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

it("returns a positive number or undefined for any string", () => {
  const likely = fc.stringMatching(/^[0-9.]{0,4}(ms|s|m|h|d|)[0-9.]{0,3}(ms|s|m|h|)$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), likely), (text) => {
      const ms = parseDuration(text);
      if (ms !== undefined) expect(ms).toBeGreaterThan(0);
    }),
    { numRuns: 2_000 },
  );
});

it.each([
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
