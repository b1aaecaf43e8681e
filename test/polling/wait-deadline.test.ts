import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ErrorCode } from "../../src/diagnostics/error";
import { deadlineIn } from "../../src/polling/clock";
import { type Operation, waitForOperation } from "../../src/polling/wait";
import { FakeClock } from "./fake-clock";
import { done, failing, first, running, wait } from "./waiting";

describe("the deadline of a wait", () => {
  it("ends the wait with an error that has operation, status, progress and time limit", async () => {
    const { options, clock, polledAt } = wait([running(0.42)], { minutes: 2 });
    await expect(waitForOperation(first, options)).rejects.toMatchObject({
      code: "operation_timeout",
      summary: "timed out after 2 min waiting for operation op-1 (running, 42%)",
      operation: { id: "op-1", status: "running", progress: 0.42 },
    });
    expect(clock.now()).toBeLessThanOrEqual(120_000);
    expect(polledAt.at(-1)).toBe(119_000);
  });

  it("takes precedence over Retry-After, with a last poll just before it", async () => {
    const { options, polledAt } = wait([done], { minutes: 1 });
    await waitForOperation({ ...first, retryAfterMs: 3_600_000 }, options);
    expect(polledAt).toEqual([59_000]);
  });

  it("ends the wait with an error that has the last failure as its cause", async () => {
    const { options } = wait([failing("unavailable")], { minutes: 5 });
    await expect(waitForOperation(first, options)).rejects.toMatchObject({
      code: "operation_timeout",
      cause: { code: "unavailable" },
    });
  });

  it("ends a poll without a reply", async () => {
    const clock = new FakeClock();
    const poll = () => new Promise<Operation>(() => {});
    const waiting = waitForOperation(first, { poll, clock, deadline: deadlineIn(60_000, clock) }).catch(
      (error) => error,
    );
    await clock.advance(60_000);
    expect(await waiting).toMatchObject({ code: "operation_timeout" });
  });

  it("ends the wait before the first poll if it has already passed", async () => {
    const { options, polledAt } = wait([done], { minutes: 0 });
    await expect(waitForOperation(first, options)).rejects.toMatchObject({ code: "operation_timeout" });
    expect(polledAt).toEqual([]);
  });
});

describe("a caller's signal", () => {
  it("ends the wait at once, in a pause and in a poll", async () => {
    for (const poll of [async () => running(0.5), () => new Promise<Operation>(() => {})]) {
      const clock = new FakeClock();
      const controller = new AbortController();
      const options = { poll, clock, deadline: deadlineIn(60_000, clock), signal: controller.signal };
      const waiting = waitForOperation(first, options).catch((error) => error);
      await clock.advance(500);
      controller.abort(new Error("Ctrl-C"));
      expect(await waiting).toMatchObject({
        code: "aborted",
        operation: { id: "op-1" },
        cause: { message: "Ctrl-C" },
      });
    }
  });
});

it("a wait ends by its deadline for any sequence of poll results", async () => {
  const anyPoll = fc.oneof(
    fc
      .constantFrom<ErrorCode>(
        "unavailable",
        "unreachable",
        "bad_reply",
        "not_found",
        "forbidden",
        "rate_limited",
      )
      .map((code) => failing(code)),
    fc
      .record({
        status: fc.constantFrom("pending", "running", "weird"),
        progress: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
        retryAfterMs: fc.option(fc.nat(1e9), { nil: undefined }),
      })
      .map((fields) => ({ ...first, ...fields })),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyPoll, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 120 }),
      async (polls, minutes) => {
        const { options, clock } = wait(polls, { minutes });
        const error = await waitForOperation(first, options).catch((failure: unknown) => failure);
        expect(error).toMatchObject({ name: "CloudInfraError", operation: { id: "op-1" } });
        expect(clock.now()).toBeLessThanOrEqual(minutes * 60_000);
      },
    ),
    { numRuns: 100 },
  );
});
