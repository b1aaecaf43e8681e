import { expect, it } from "vitest";
import type { Pause, PauseListener } from "../../src/polling/schedule";
import { clientOf, failureOf, inTurn, startService } from "./service";

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
