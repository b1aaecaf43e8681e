import { describe, expect, it } from "vitest";
import { createRateLimiter } from "../../src/api/rate-limiter";
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
