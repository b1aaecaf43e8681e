import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ErrorCode } from "../../src/diagnostics/error";
import { deadlineIn } from "../../src/polling/clock";
import {
  isFailure,
  isSuccess,
  isTerminal,
  type Operation,
  operationFailed,
  type WaitProgress,
  waitForOperation,
} from "../../src/polling/wait";
import { FakeClock } from "./fake-clock";
import { done, failing, first, running, wait } from "./waiting";

describe("waitForOperation", () => {
  it("returns the ended operation with any final status", async () => {
    const { options } = wait([running(0.5), { ...first, status: "failed" }]);
    expect(await waitForOperation(first, options)).toMatchObject({ status: "failed" });
  });

  it("sends no poll for an operation that has already ended", async () => {
    const { options, polledAt } = wait([]);
    expect(await waitForOperation(done, options)).toBe(done);
    expect(polledAt).toEqual([]);
  });

  it("continues while a running operation already links to its result", async () => {
    const early = { ...running(0.9), resultUrl: "/v1/instances/ins-1" };
    const { options, polledAt } = wait([early, early, done]);
    await waitForOperation(early, options);
    expect(polledAt).toHaveLength(3);
  });

  it("polls at other times than waits that started together", async () => {
    const polls = [running(0.01), running(0.02), done];
    const [sooner, later] = [wait(polls, { random: () => 0 }), wait(polls, { random: () => 1 })];
    await waitForOperation(first, sooner.options);
    await waitForOperation(first, later.options);
    expect(sooner.polledAt[0]).toBeCloseTo(440);
    expect(later.polledAt[0]).toBeCloseTo(660);
    expect(later.polledAt[1]).toBeGreaterThan((sooner.polledAt[1] ?? Number.NaN) + 1_000);
  });

  it("waits at least for Retry-After", async () => {
    const { options, polledAt } = wait([done]);
    await waitForOperation({ ...first, retryAfterMs: 45_000 }, options);
    expect(polledAt).toEqual([45_000]);
  });

  it.each(["unavailable", "unreachable", "rate_limited", "timeout"] as const)(
    "retries polls that fail with %s, with growing pauses",
    async (code) => {
      const { options, clock } = wait([failing(code), failing(code), failing(code), running(0.5), done]);
      await waitForOperation(first, options);
      expect(clock.sleeps.slice(1, 4)).toEqual([500, 1_000, 2_000]);
    },
  );

  it("retries unreadable replies a limited number of times", async () => {
    const few = wait([...Array(5).fill(failing("bad_reply")), done]);
    expect(await waitForOperation(first, few.options)).toBe(done);
    const many = wait([failing("bad_reply")]);
    await expect(waitForOperation(first, many.options)).rejects.toMatchObject({
      code: "bad_reply",
      operation: { id: "op-1" },
    });
    expect(many.polledAt).toHaveLength(6);
  });

  it.each(["unauthorized", "forbidden", "config_invalid"] as const)(
    "ends at once if a poll fails with %s, and the error has the operation",
    async (code) => {
      const { options, polledAt } = wait([running(0.4), failing(code)]);
      await expect(waitForOperation({ ...first, resource: "ins-1" }, options)).rejects.toMatchObject({
        code,
        operation: { id: "op-1", status: "running", progress: 0.4 },
      });
      expect(polledAt).toHaveLength(2);
    },
  );

  it("retries for four seconds if no poll has found the operation, which a lagging replica may not contain yet", async () => {
    const lagging = wait([...Array(3).fill(failing("not_found")), done]);
    expect(await waitForOperation(first, lagging.options)).toBe(done);
    const missing = wait([failing("not_found", { status: 404, traceId: "tr-1" })]);
    await expect(waitForOperation(first, missing.options)).rejects.toMatchObject({
      code: "operation_unknown",
      status: 404,
      traceId: "tr-1",
      operation: { id: "op-1" },
    });
    expect(missing.clock.now()).toBeGreaterThan(4_000);
    expect(missing.clock.now()).toBeLessThan(20_000);
  });

  it("retries after one 404 if a poll has found the operation, and fails with operation_unknown after two", async () => {
    const once = wait([running(0.5), failing("not_found"), done]);
    expect(await waitForOperation(first, once.options)).toBe(done);
    const twice = wait([running(0.5), failing("not_found")]);
    await expect(waitForOperation(first, twice.options)).rejects.toMatchObject({ code: "operation_unknown" });
    expect(twice.polledAt).toHaveLength(3);
  });

  it("rethrows an error that isn't a CloudInfraError", async () => {
    const { options } = wait([
      () => {
        throw new TypeError("x is not a function");
      },
    ]);
    await expect(waitForOperation(first, options)).rejects.toThrow(TypeError);
  });
});

describe("onProgress", () => {
  it("is called before each pause, with an estimate if there is one", async () => {
    const told: WaitProgress[] = [];
    const { options } = wait([running(0.1), running(0.2), done], {
      onProgress: (progress) => told.push(progress),
    });
    await waitForOperation(first, options);
    expect(told.map(({ progress }) => progress)).toEqual([0, 0.1, 0.2]);
    expect(told[1]).toMatchObject({ remainingMs: 5_940 });
  });

  it("gets the failure of the last poll until a poll succeeds", async () => {
    const told: WaitProgress[] = [];
    const { options } = wait([failing("unavailable", { retryAfterMs: 9_000 }), running(0.2), done], {
      onProgress: (progress) => told.push(progress),
    });
    await waitForOperation(first, options);
    expect(told.map(({ pause }) => pause?.for)).toEqual([undefined, "retry", undefined]);
    expect(told[1]?.pause).toMatchObject({ after: { code: "unavailable" }, at: 660 + 9_500 });
  });
});

describe("an operation that has ended", () => {
  const problem = { code: "quota_exceeded", detail: "no room", traceId: "tr-7", errors: [], extensions: {} };

  it("succeeded with the status done", () => {
    expect(isSuccess(done)).toBe(true);
  });

  it.each(["failed", "done", "rolled_back"])(
    "failed as %j with an error, with the object that it left behind",
    (status) => {
      const ended = {
        ...first,
        status,
        error: problem,
        resource: "ins-1",
        finishedAt: "2026-01-01T00:00:00Z",
      };
      expect(isSuccess(ended)).toBe(false);
      expect(operationFailed(ended)).toMatchObject({
        code: "operation_failed",
        summary: `operation op-1 ended with status "${status}": quota_exceeded`,
        problem,
        traceId: "tr-7",
        operation: { id: "op-1", status },
        resultId: "ins-1",
      });
    },
  );

  it("failed with an unknown status that suggests success", () => {
    expect(isFailure({ ...first, status: "succeeded", finishedAt: "2026-01-01T00:00:00Z" })).toBe(true);
  });
});

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

const at = (status: string, more: Partial<Operation> = {}): Operation => ({
  id: "op-1",
  url: "/v1/operations/op-1",
  status,
  ...more,
});
const error = { detail: "no room", errors: [], extensions: {} };

describe("an operation", () => {
  it.each(["done", "Done", "DONE", " done "])("with status %j succeeded", (status) => {
    expect([isTerminal(at(status)), isSuccess(at(status)), isFailure(at(status))]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each(["failed", "error", "Cancelled", "canceled", "ABORTED"])("with status %j failed", (status) => {
    expect([isTerminal(at(status)), isFailure(at(status))]).toEqual([true, true]);
  });

  it.each(["pending", "running", "Running"])("with status %j is running, even with finished_at", (status) => {
    expect(isTerminal(at(status, { finishedAt: "2026-01-01T00:00:00Z" }))).toBe(false);
  });

  it.each(["succeeded", "completed", "success", "rolled_back"])(
    "with the unknown status %j is running until it has finished_at, and then failed",
    (status) => {
      expect(isTerminal(at(status))).toBe(false);
      expect(isFailure(at(status, { finishedAt: "2026-01-01T00:00:00Z" }))).toBe(true);
    },
  );

  it.each(["pending", "running", "done", "whatever"])(
    "with an error failed, even with status %j",
    (status) => {
      expect([
        isTerminal(at(status, { error })),
        isSuccess(at(status, { error })),
        isFailure(at(status, { error })),
      ]).toEqual([true, false, true]);
    },
  );

  it("with a link to its result is still running if the status says so", () => {
    expect(isTerminal(at("running", { resultUrl: "/v1/instances/ins-1", progress: 1 }))).toBe(false);
  });
});
