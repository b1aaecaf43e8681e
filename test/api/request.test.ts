import { describe, expect, it } from "vitest";
import { deadlineIn } from "../../src/polling/clock";
import type { Pause, PauseListener } from "../../src/polling/schedule";
import { FakeClock } from "../polling/fake-clock";
import { clientOf, failureOf, inTurn, startService } from "./service";

/** Resolves when a request has arrived. */
async function arrival(seen: readonly unknown[]): Promise<void> {
  while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
}

describe("a call ends", () => {
  it("at its deadline if the service sends no reply", async () => {
    const clock = new FakeClock();
    const { origin, seen } = await startService(inTurn({ fault: "silent" }));
    const { client } = clientOf(origin, { clock });
    const failed = failureOf(client.instances.create("{}", "k", { deadline: deadlineIn(20_000, clock) }));
    await arrival(seen);
    await clock.advance(20_000);
    expect(await failed).toMatchObject({
      code: "timeout",
      summary: "timed out after 20 s without a reply from the service",
      sent: true,
      attempts: 1,
    });
  });

  it("an attempt without a reply after a minute, and then retries", async () => {
    const clock = new FakeClock();
    const { origin, seen } = await startService(inTurn({ fault: "silent" }, { body: { id: "ins-1" } }));
    const { client } = clientOf(origin, { clock });
    const result = client.instances.get("ins-1", { deadline: deadlineIn(600_000, clock) });
    await arrival(seen);
    await clock.advance(60_000);
    await clock.advance(500);
    expect(await result).toMatchObject({ id: "ins-1" });
    expect(seen).toHaveLength(2);
  });

  it("at once if the caller cancels it during a request", async () => {
    const { origin, seen } = await startService(inTurn({ fault: "silent" }));
    const { client, call } = clientOf(origin);
    const controller = new AbortController();
    const failed = failureOf(client.instances.create("{}", "k", { ...call, signal: controller.signal }));
    await arrival(seen);
    controller.abort(new Error("Ctrl-C"));
    expect(await failed).toMatchObject({ code: "aborted", sent: true, cause: { message: "Ctrl-C" } });
  });

  it("at once if the caller cancels it between two attempts", async () => {
    const clock = new FakeClock();
    const { origin, seen } = await startService(inTurn({ status: 503, body: { code: "down" } }));
    const { client } = clientOf(origin, { clock });
    const controller = new AbortController();
    const deadline = deadlineIn(600_000, clock);
    const failed = failureOf(client.projects.list({ deadline, signal: controller.signal }));
    while (clock.sleeping === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await failed).toMatchObject({ code: "aborted", status: 503 });
    expect(seen).toHaveLength(1);
  });

  it("before a request is sent if its deadline has passed or the caller has cancelled it", async () => {
    const { origin, seen } = await startService(inTurn({ body: {} }));
    const { client, clock, call } = clientOf(origin);
    expect(await failureOf(client.projects.list({ deadline: deadlineIn(0, clock) }))).toMatchObject({
      code: "timeout",
      sent: false,
    });
    const gone = { ...call, signal: AbortSignal.abort() };
    expect(await failureOf(client.projects.list(gone))).toMatchObject({ code: "aborted", sent: false });
    expect(seen).toHaveLength(0);
  });
});

const page = { body: { items: [], next_cursor: null, has_more: false } };

/** Records the pauses of a call. */
function recorder() {
  const pauses: unknown[] = [];
  const summaryOf = (pause: Pause): object =>
    pause.for === "turn"
      ? { for: "turn", isSlowed: pause.isSlowed() }
      : { for: pause.for, status: pause.after.status, at: pause.at };
  const progress: PauseListener = {
    pausing: (pause) => void pauses.push(pause && summaryOf(pause)),
  };
  return { pauses, progress };
}

it("a call reports the wait for the rate limit, each retry with its time, and the end of each wait", async () => {
  const { origin } = await startService(inTurn({ status: 503, headers: { "retry-after": "8" } }, page));
  const { client, call, clock } = clientOf(origin);
  const { pauses, progress } = recorder();
  await client.projects.list({ ...call, progress });
  expect(pauses).toEqual([
    { for: "turn", isSlowed: false },
    undefined,
    { for: "retry", status: 503, at: 8_500 },
    undefined,
  ]);
  expect(clock.now()).toBe(8_500);
});

it("a call after a 429 reports that requests are rate limited", async () => {
  const { origin } = await startService(inTurn({ status: 429 }, page));
  const { client, call } = clientOf(origin);
  await client.projects.list(call);
  const { pauses, progress } = recorder();
  await client.projects.list({ ...call, progress });
  expect(pauses[0]).toEqual({ for: "turn", isSlowed: true });
});

it("a failed call reports that it no longer waits", async () => {
  const { origin } = await startService(inTurn({ status: 503 }, { status: 403 }));
  const { client, call } = clientOf(origin);
  const { pauses, progress } = recorder();
  await failureOf(client.projects.list({ ...call, progress }));
  expect(pauses.at(-2)).toMatchObject({ for: "retry" });
  expect(pauses.at(-1)).toBeUndefined();
});
