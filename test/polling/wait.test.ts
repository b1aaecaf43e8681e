import { describe, expect, it } from "vitest";
import { type WaitProgress, waitForOperation, waitForSuccess } from "../../src/polling/wait";
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

  it("retries after one 404, and fails with operation_unknown after two", async () => {
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
    expect(told.map(({ status, progress }) => [status, progress])).toEqual([
      ["pending", 0],
      ["running", 0.1],
      ["running", 0.2],
    ]);
    expect(told[1]).toMatchObject({ elapsedMs: 660, remainingMs: 5_940 });
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

  it("can't make the wait fail", async () => {
    const { options } = wait([done], {
      onProgress: () => {
        throw new Error("no terminal");
      },
    });
    expect(await waitForOperation(first, options)).toBe(done);
  });
});

describe("waitForSuccess", () => {
  const problem = { code: "quota_exceeded", detail: "no room", traceId: "tr-7", errors: [], extensions: {} };

  it("returns an operation with the status done", async () => {
    expect(await waitForSuccess(first, wait([done]).options)).toBe(done);
  });

  it.each(["failed", "done", "rolled_back"])(
    "fails if the operation ended as %j with an error, with the object that it left behind",
    async (status) => {
      const ended = { ...first, status, error: problem, resource: "ins-1", finishedAt: 1 };
      await expect(waitForSuccess(first, wait([ended]).options)).rejects.toMatchObject({
        code: "operation_failed",
        summary: `operation op-1 ended with status "${status}": quota_exceeded`,
        problem,
        traceId: "tr-7",
        operation: { id: "op-1", status },
        resultId: "ins-1",
      });
    },
  );

  it("fails if the operation ended with an unknown status that suggests success", async () => {
    const ended = { ...first, status: "succeeded", finishedAt: 1 };
    await expect(waitForSuccess(first, wait([ended]).options)).rejects.toMatchObject({
      code: "operation_failed",
    });
  });
});
