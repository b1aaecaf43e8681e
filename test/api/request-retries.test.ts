import { describe, expect, it, onTestFinished, vi } from "vitest";
import { deadlineIn } from "../../src/polling/clock";
import { clientOf, failureOf, inTurn, startService } from "./service";

const operation = { id: "op-1", status: "pending", progress: 0 };
const page = { items: [], next_cursor: null, has_more: false };
const accepted = { status: 202, headers: { location: "/v1/operations/op-1" }, body: operation };

describe("retries", () => {
  it.each([408, 425, 429, 500, 502, 503, 504, 505, 507, 520, 530, 599])(
    "repeat a GET after %i",
    async (status) => {
      const { origin, seen } = await startService(inTurn({ status }, { body: page }));
      const { client, call } = clientOf(origin);
      expect(await client.projects.list(call)).toEqual([]);
      expect(seen).toHaveLength(2);
    },
  );

  it.each([304, 400, 403, 404, 405, 409, 410, 412, 422, 501])(
    "don't repeat a GET after %i",
    async (status) => {
      const { origin, seen } = await startService(inTurn({ status, body: { code: "no" } }));
      const { client, call } = clientOf(origin);
      expect(await failureOf(client.instances.get("ins-1", call))).toMatchObject({ status, attempts: 1 });
      expect(seen).toHaveLength(1);
    },
  );

  it.each(["lost", "cut"] as const)(
    "repeat a POST with the same key and body after a %s reply",
    async (fault) => {
      const { origin, seen } = await startService(inTurn({ ...accepted, fault }, { status: 503 }, accepted));
      const { client, call } = clientOf(origin);
      const body = '{"name":"web",  "project":"prj-1"}';
      const result = await client.instances.create(body, "9f0c-key", call);
      expect(result).toMatchObject({ kind: "operation", operation: { id: "op-1" } });
      expect(seen.map((request) => request.headers["idempotency-key"])).toEqual(Array(3).fill("9f0c-key"));
      expect(seen.map((request) => request.body)).toEqual([body, body, body]);
    },
  );

  it("repeat a PUT with its If-Match, and a DELETE", async () => {
    const { origin, seen } = await startService(
      inTurn({ fault: "lost" }, { status: 204 }, { status: 502 }, { status: 204 }),
    );
    const { client, call } = clientOf(origin);
    await client.instances.update("ins-1", "{}", "rev7", call);
    await client.instances.delete("ins-1", call);
    expect(seen.map((request) => [request.method, request.headers["if-match"]])).toEqual([
      ["PUT", '"rev7"'],
      ["PUT", '"rev7"'],
      ["DELETE", undefined],
      ["DELETE", undefined],
    ]);
  });

  it("repeat a POST after a 409 only if its code or type reports that the first request with the key is in progress", async () => {
    const named = {
      code: "name_taken",
      title: "A request is outstanding",
      detail: 'the name "job-in-progress" is still being processed (idempotency)',
    };
    const { origin, seen } = await startService(
      inTurn(
        { status: 409, body: { code: "idempotency_request_in_progress" } },
        { status: 409, body: { type: "https://e.example/problems/idempotency" } },
        accepted,
        { status: 409, body: named },
      ),
    );
    const { client, call } = clientOf(origin);
    expect(await client.instances.create("{}", "k", call)).toMatchObject({ kind: "operation" });
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({
      code: "conflict",
      sent: false,
    });
    expect(seen).toHaveLength(4);
  });

  it("end after eight attempts with the last reply and the number of attempts", async () => {
    const { origin, seen } = await startService(
      inTurn({ status: 503, body: { code: "down", trace_id: "tr-9" } }),
    );
    const { client, call, clock } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "unavailable",
      attempts: 8,
      status: 503,
      traceId: "tr-9",
    });
    expect(seen).toHaveLength(8);
    expect(clock.sleeps).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000]);
  });
});

describe("the pauses between retries", () => {
  it("have full jitter below a bound that doubles", async () => {
    const { origin } = await startService(inTurn({ status: 500 }));
    const { client, call, clock } = clientOf(origin, { random: () => 0.5 });
    await failureOf(client.projects.list(call));
    expect(clock.sleeps).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000]);
  });

  it("are at least as long as Retry-After, even above the cap", async () => {
    const wait = { status: 429, headers: { "retry-after": "120" } };
    const { origin } = await startService(inTurn(wait, { body: page }));
    const { client, call, clock } = clientOf(origin, { random: () => 0 });
    await client.projects.list(call);
    expect(clock.sleeps).toEqual([120_000]);
  });

  it("measure a date in Retry-After by the service's clock", async () => {
    const headers = { date: "Mon, 01 Jan 2001 00:00:00 GMT", "retry-after": "Mon, 01 Jan 2001 00:01:30 GMT" };
    const { origin } = await startService(inTurn({ status: 503, headers }, { body: page }));
    const { client, call, clock } = clientOf(origin, { random: () => 0 });
    await client.projects.list(call);
    expect(clock.sleeps).toEqual([90_000]);
  });

  it("accept a date in asctime form in Retry-After as UTC", async () => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    onTestFinished(() => void vi.unstubAllEnvs());
    const headers = { date: "Sun Nov  6 08:49:37 1994", "retry-after": "Sun Nov  6 08:50:37 1994" };
    const now = { ...headers, date: "Sun, 06 Nov 1994 08:49:37 GMT" };
    const { origin } = await startService(
      inTurn({ status: 503, headers }, { status: 503, headers: now }, { body: page }),
    );
    const { client, call, clock } = clientOf(origin, { random: () => 0 });
    await client.projects.list(call);
    expect(clock.sleeps).toEqual([60_000, 60_000]);
  });

  it("ignore an invalid Retry-After", async () => {
    const headers = { "retry-after": "9".repeat(400) };
    const { origin } = await startService(inTurn({ status: 503, headers }, { body: page }));
    const { client, call, clock } = clientOf(origin);
    await client.projects.list(call);
    expect(clock.sleeps).toEqual([500]);
  });

  it("never reach the deadline: if the next attempt would start after it, the call fails at once", async () => {
    const wait = { status: 429, headers: { "retry-after": "3600" }, body: { code: "slow_down" } };
    const { origin, seen } = await startService(inTurn(wait));
    const { client, clock } = clientOf(origin);
    const error = await failureOf(client.projects.list({ deadline: deadlineIn(30_000, clock) }));
    expect(error).toMatchObject({
      code: "timeout",
      status: 429,
      cause: { code: "rate_limited" },
      summary: expect.stringContaining("the service requested a wait of 1 h"),
    });
    expect(clock.now()).toBe(0);
    expect(seen).toHaveLength(1);
  });

  it("share a budget of a hundred retries, and then ten per second, in the whole client", async () => {
    const { origin, seen } = await startService(inTurn({ status: 500 }));
    const { client, call, clock } = clientOf(origin, { random: () => 0, retry: { maxAttempts: 3 } });
    await Promise.all(Array.from({ length: 200 }, () => failureOf(client.projects.list(call))));
    expect(seen).toHaveLength(600);
    const retries = 400;
    expect(clock.now()).toBeGreaterThanOrEqual(((retries - 100) / 10 - 1) * 1_000);
  });
});
