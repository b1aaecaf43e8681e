import { describe, expect, it } from "vitest";
import { createRateLimiter } from "../../src/api/rate-limiter";
import type { Clock } from "../../src/polling/clock";
import { FakeClock } from "../polling/fake-clock";

const never = new AbortController().signal;

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("concurrent requests", () => {
  it("are limited, and waiting requests start in order", async () => {
    const limits = createRateLimiter({ concurrency: 2, clock: new FakeClock() });
    const entered: number[] = [];
    const places = [0, 1, 2, 3].map((number) =>
      limits.enter(never).then((leave) => {
        entered.push(number);
        return leave;
      }),
    );
    await settle();
    expect(entered).toEqual([0, 1]);
    (await places[0])?.();
    await settle();
    expect(entered).toEqual([0, 1, 2]);
  });

  it("leave the queue without occupying a slot if they are cancelled", async () => {
    const limits = createRateLimiter({ concurrency: 1, clock: new FakeClock() });
    const leave = await limits.enter(never);
    const controller = new AbortController();
    const waiting = limits.enter(controller.signal);
    const behind = limits.enter(never);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    leave();
    await expect(behind).resolves.toBeTypeOf("function");
  });
});

describe("requests per second", () => {
  it("start at equal intervals", async () => {
    const clock = new FakeClock();
    const limits = createRateLimiter({ concurrency: 10, maxRequestsPerSecond: 4, clock });
    const starts: number[] = [];
    for (let number = 0; number < 5; number++) void limits.enter(never).then(() => starts.push(clock.now()));
    await clock.advance(2_000);
    expect(starts).toEqual([0, 250, 500, 750, 1_000]);
  });

  it("may be fewer than one", async () => {
    const clock = new FakeClock();
    const limits = createRateLimiter({ concurrency: 10, maxRequestsPerSecond: 0.5, clock });
    const starts: number[] = [];
    for (let number = 0; number < 3; number++) void limits.enter(never).then(() => starts.push(clock.now()));
    await clock.advance(10_000);
    expect(starts).toEqual([0, 2_000, 4_000]);
  });

  it("leave the queue if they are cancelled during the pause", async () => {
    const clock = new FakeClock();
    const limits = createRateLimiter({ concurrency: 1, maxRequestsPerSecond: 1, clock });
    (await limits.enter(never))();
    const controller = new AbortController();
    const waiting = limits.enter(controller.signal);
    await settle();
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    const next = limits.enter(never);
    await clock.advance(5_000);
    await expect(next).resolves.toBeTypeOf("function");
  });
});

/** Creates a rate limiter whose requests end at once. */
function scene(maxRequestsPerSecond?: number) {
  const clock = new FakeClock();
  const limits = createRateLimiter({ concurrency: 1_000, maxRequestsPerSecond, clock });
  const starts: number[] = [];
  const start = (signal = never): Promise<void> =>
    limits.enter(signal).then((leave) => {
      starts.push(clock.now());
      leave();
    });
  return {
    clock,
    limits,
    starts,
    start,
    /** Records this many accepted requests in the last second. */
    async answer(count: number) {
      await clock.advance(1_000);
      for (let at = 0; at < count; at++) limits.recordReply({ status: 200 });
    },
    /** Returns how many of 500 waiting requests start within the given milliseconds. */
    async startedWithin(ms: number) {
      const controller = new AbortController();
      const before = starts.length;
      const waiting = Array.from({ length: 500 }, () => start(controller.signal).catch(() => {}));
      await clock.advance(ms);
      controller.abort(new Error("enough"));
      await Promise.all(waiting);
      return starts.length - before;
    },
  };
}

describe("the rate after a 429", () => {
  it("is reported as slowed until it has recovered", async () => {
    const clock = new FakeClock();
    const limits = createRateLimiter({ concurrency: 1, maxRequestsPerSecond: 10, clock });
    expect(limits.isSlowed()).toBe(false);
    limits.recordReply({ status: 429 });
    expect(limits.isSlowed()).toBe(true);
    await clock.advance(60_000);
    expect(limits.isSlowed()).toBe(false);
  });

  it("is a share of the requests that were accepted in the second before", async () => {
    const { limits, answer, startedWithin } = scene();
    await answer(100);
    limits.recordReply({ status: 429 });
    expect(await startedWithin(999)).toBe(69);
  });

  it("is below one per second if the service accepts one per second", async () => {
    const { limits, answer, startedWithin } = scene();
    await answer(1);
    limits.recordReply({ status: 429 });
    expect(await startedWithin(1_400)).toBe(0);
  });

  it("is reduced once for a burst of 429s", async () => {
    const { limits, answer, startedWithin } = scene();
    await answer(100);
    for (let at = 0; at < 20; at++) limits.recordReply({ status: 429 });
    expect(await startedWithin(999)).toBe(69);
  });

  it("is reduced again by another 429 a second later", async () => {
    const { limits, clock, answer, startedWithin } = scene();
    await answer(100);
    limits.recordReply({ status: 429 });
    await clock.advance(1_500);
    limits.recordReply({ status: 429 });
    expect(await startedWithin(999)).toBe(34); // of 50 that half a second is worth
  });

  it("is reduced again by another 429 just when it would have recovered", async () => {
    const { limits, answer, startedWithin } = scene();
    await answer(100);
    limits.recordReply({ status: 429 });
    await startedWithin(1_001);
    limits.recordReply({ status: 429 });
    expect(await startedWithin(999)).toBeLessThan(60);
  });

  it("is two per second if nothing was accepted before", async () => {
    const { limits, startedWithin } = scene();
    limits.recordReply({ status: 429 });
    expect(await startedWithin(999)).toBe(1);
  });

  it("grows with each second until there is no limit", async () => {
    const { limits, clock, answer, startedWithin } = scene();
    await answer(100);
    limits.recordReply({ status: 429 });
    await startedWithin(1_000);
    const seconds = [await startedWithin(1_000), await startedWithin(1_000), await startedWithin(1_000)];
    expect(seconds).toEqual([72, 76, 83]);
    await clock.advance(30_000);
    expect(await startedWithin(0)).toBe(500);
  });

  it("is zero until Retry-After has passed", async () => {
    const { limits, clock, starts, start } = scene();
    limits.recordReply({ status: 429, retryAfterMs: 5_000 });
    void start();
    await clock.advance(4_999);
    expect(starts).toEqual([]);
    await clock.advance(1);
    expect(starts).toEqual([5_000]);
  });

  it("is zero for at most 30 s, because a longer Retry-After may apply to one request only", async () => {
    const { limits, clock, starts, start } = scene();
    limits.recordReply({ status: 429, retryAfterMs: 3_600_000 });
    void start();
    await clock.advance(30_000);
    expect(starts).toEqual([30_000]);
  });

  it("also delays requests that are already waiting, and keeps their order", async () => {
    const { limits, clock, start, starts } = scene(1);
    const order: string[] = [];
    void start();
    void start().then(() => order.push("second"));
    void start().then(() => order.push("third"));
    await clock.advance(500);
    limits.recordReply({ status: 429, retryAfterMs: 10_000 });
    await clock.advance(12_000);
    expect(order).toEqual(["second", "third"]);
    expect(starts).toEqual([0, 10_500, expect.closeTo(10_500 + 1_000 / 0.7)]); // seven tenths of what was set
  });

  it("never exceeds maxRequestsPerSecond", async () => {
    const { limits, clock, answer, startedWithin } = scene(10);
    await answer(200);
    limits.recordReply({ status: 429 });
    await clock.advance(60_000);
    expect(await startedWithin(999)).toBe(10);
  });
});

describe("maxRequestsPerSecond", () => {
  it("is reached even if timers fire late", async () => {
    const clock = new FakeClock();
    const late: Clock = {
      now: () => clock.now(),
      alarm: (ms, ring) => clock.alarm(ms, ring),
      sleep: (ms, signal) => clock.sleep(ms + 3, signal),
    };
    const limits = createRateLimiter({ concurrency: 1_000, maxRequestsPerSecond: 100, clock: late });
    let started = 0;
    for (let at = 0; at < 500; at++)
      void limits.enter(never).then((leave) => {
        started += 1;
        leave();
      });
    await clock.advance(2_000);
    expect(started).toBeGreaterThan(195);
    expect(started).toBeLessThanOrEqual(201);
  });

  it("stops its timer if the last waiting request is cancelled", async () => {
    const { clock, limits, start } = scene(0.1);
    await start();
    const controller = new AbortController();
    const waiting = limits.enter(controller.signal);
    await clock.advance(0);
    expect(clock.sleeping).toBe(1);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(clock.sleeping).toBe(0);
  });
});
