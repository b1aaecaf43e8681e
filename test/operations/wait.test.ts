import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CloudInfraError, type ErrorCode } from "../../src/diagnostics/error";
import { deadlineIn } from "../../src/operations/deadline";
import type { Operation } from "../../src/operations/operation";
import { type Progress, type WaitOptions, waitForOperation, waitForSuccess } from "../../src/operations/wait";
import { FakeClock } from "./fake-clock";

const first: Operation = { id: "op-1", url: "/v1/operations/op-1", status: "pending", progress: 0 };
const done: Operation = { ...first, status: "done", progress: 1, resource: "ins-1" };
const running = (progress: number): Operation => ({ ...first, status: "running", progress });
const failing =
  (code: ErrorCode, details = {}) =>
  () => {
    throw new CloudInfraError(code, `it is ${code}`, details);
  };

/** A wait whose polls answer in turn, the last one for ever. */
function wait(polls: (Operation | (() => never))[], more: Partial<WaitOptions> & { minutes?: number } = {}) {
  const clock = new FakeClock({ auto: true });
  const polledAt: number[] = [];
  const options: WaitOptions = {
    clock,
    deadline: deadlineIn((more.minutes ?? 30) * 60_000, clock),
    random: () => 1,
    poll: async () => {
      const answer = polls[Math.min(polledAt.length, polls.length - 1)] ?? done;
      polledAt.push(clock.now());
      return typeof answer === "function" ? answer() : answer;
    },
    ...more,
  };
  return { options, clock, polledAt };
}

describe("waiting", () => {
  it("returns the operation when it is over, in whatever status", async () => {
    const { options } = wait([running(0.5), { ...first, status: "failed" }]);
    expect(await waitForOperation(first, options)).toMatchObject({ status: "failed" });
  });

  it("asks nothing about an operation that is over already", async () => {
    const { options, polledAt } = wait([]);
    expect(await waitForOperation(done, options)).toBe(done);
    expect(polledAt).toEqual([]);
  });

  it("goes on while a running operation already links to its result", async () => {
    const early = { ...running(0.9), resultUrl: "/v1/instances/ins-1" };
    const { options, polledAt } = wait([early, early, done]);
    await waitForOperation(early, options);
    expect(polledAt).toHaveLength(3);
  });

  it("keeps away as long as Retry-After asks", async () => {
    const { options, polledAt } = wait([done]);
    await waitForOperation({ ...first, retryAfterMs: 45_000 }, options);
    expect(polledAt).toEqual([45_000]);
  });

  it.each(["unavailable", "unreachable", "rate_limited", "timeout"] as const)(
    "bears polls that are %s, with growing pauses",
    async (code) => {
      const { options, clock } = wait([failing(code), failing(code), failing(code), running(0.5), done]);
      await waitForOperation(first, options);
      expect(clock.sleeps.slice(1, 4)).toEqual([500, 1_000, 2_000]);
    },
  );

  it("bears some unreadable polls, but not for ever", async () => {
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
    "ends at once when a poll is %s, and the error carries the operation",
    async (code) => {
      const { options, polledAt } = wait([running(0.4), failing(code)]);
      await expect(waitForOperation({ ...first, resource: "ins-1" }, options)).rejects.toMatchObject({
        code,
        operation: { id: "op-1", status: "running", progress: 0.4 },
      });
      expect(polledAt).toHaveLength(2);
    },
  );

  it("takes one 404 for a delay of the service, and two for an operation that is unknown", async () => {
    const once = wait([failing("not_found"), done]);
    expect(await waitForOperation(first, once.options)).toBe(done);
    const twice = wait([failing("not_found", { status: 404, traceId: "tr-1" })]);
    await expect(waitForOperation(first, twice.options)).rejects.toMatchObject({
      code: "operation_unknown",
      status: 404,
      traceId: "tr-1",
      operation: { id: "op-1" },
    });
    expect(twice.polledAt).toHaveLength(2);
  });

  it("does not take a bug for an answer", async () => {
    const { options } = wait([
      () => {
        throw new TypeError("x is not a function");
      },
    ]);
    await expect(waitForOperation(first, options)).rejects.toThrow(TypeError);
  });
});

describe("the deadline of a wait", () => {
  it("ends it with an error that names operation, status, progress and time", async () => {
    const { options, clock, polledAt } = wait([running(0.42)], { minutes: 2 });
    await expect(waitForOperation(first, options)).rejects.toMatchObject({
      code: "operation_timeout",
      summary: "operation op-1 is not over after 1 min 59 s (running, 42 %)",
      operation: { id: "op-1", status: "running", progress: 0.42 },
    });
    expect(clock.now()).toBeLessThanOrEqual(120_000);
    expect(polledAt.at(-1)).toBe(119_000);
  });

  it("is kept although Retry-After asks for longer, with a last look just before", async () => {
    const { options, polledAt } = wait([done], { minutes: 1 });
    await waitForOperation({ ...first, retryAfterMs: 3_600_000 }, options);
    expect(polledAt).toEqual([59_000]);
  });

  it("names the failure that filled the time", async () => {
    const { options } = wait([failing("unavailable")], { minutes: 5 });
    await expect(waitForOperation(first, options)).rejects.toMatchObject({
      code: "operation_timeout",
      cause: { code: "unavailable" },
    });
  });

  it("ends a poll that hangs", async () => {
    const clock = new FakeClock();
    const poll = () => new Promise<Operation>(() => {});
    const waiting = waitForOperation(first, { poll, clock, deadline: deadlineIn(60_000, clock) }).catch(
      (error) => error,
    );
    await clock.advance(60_000);
    expect(await waiting).toMatchObject({ code: "operation_timeout" });
  });

  it("that has passed already ends it before the first poll", async () => {
    const { options, polledAt } = wait([done], { minutes: 0 });
    await expect(waitForOperation(first, options)).rejects.toMatchObject({ code: "operation_timeout" });
    expect(polledAt).toEqual([]);
  });
});

describe("a caller who gives up", () => {
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

describe("progress", () => {
  it("is told before each pause, with an estimate where there is one", async () => {
    const told: Progress[] = [];
    const { options } = wait([running(0.1), running(0.2), done], {
      onProgress: (progress) => told.push(progress),
    });
    await waitForOperation(first, options);
    expect(told.map(({ status, progress }) => [status, progress])).toEqual([
      ["pending", 0],
      ["running", 0.1],
      ["running", 0.2],
    ]);
    expect(told[1]).toMatchObject({ elapsedMs: 400, remainingMs: 3_600 });
  });

  it("never fails the wait", async () => {
    const { options } = wait([done], {
      onProgress: () => {
        throw new Error("no terminal");
      },
    });
    expect(await waitForOperation(first, options)).toBe(done);
  });
});

describe("waiting for success", () => {
  const problem = { code: "quota_exceeded", detail: "no room", traceId: "tr-7", errors: [], extensions: {} };

  it("returns a done operation", async () => {
    expect(await waitForSuccess(first, wait([done]).options)).toBe(done);
  });

  it.each(["failed", "done", "rolled_back"])(
    "fails where it ended as %j with an error, naming what it left behind",
    async (status) => {
      const ended = { ...first, status, error: problem, resource: "ins-1", finishedAt: 1 };
      await expect(waitForSuccess(first, wait([ended]).options)).rejects.toMatchObject({
        code: "operation_failed",
        summary: `operation op-1 ended as "${status}": quota_exceeded`,
        problem,
        traceId: "tr-7",
        operation: { id: "op-1", status },
        resultId: "ins-1",
      });
    },
  );

  it("fails where it ended under a name that only sounds like success", async () => {
    const ended = { ...first, status: "succeeded", finishedAt: 1 };
    await expect(waitForSuccess(first, wait([ended]).options)).rejects.toMatchObject({
      code: "operation_failed",
    });
  });
});

it("whatever the polls do, a wait ends by its deadline", async () => {
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
