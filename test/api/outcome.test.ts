import { describe, expect, it } from "vitest";
import { classifyAttempt } from "../../src/api/outcome";
import type { Attempt, WireReply } from "../../src/api/transport";
import { parseProblem } from "../../src/diagnostics/problem";
import { clientOf, failureOf, inTurn, startService, TOKEN } from "./service";

const _operation = { id: "op-1", status: "pending", progress: 0 };

describe("the outcome of an attempt", () => {
  it.each(REJECTIONS)("is rejected after %i, which services send before any work", (status) => {
    expect(classifyAttempt(creation, reply(status, json({ code: "no" })))).toBe("rejected");
    expect(classifyAttempt(creation, reply(status, { kind: "empty" }))).toBe("rejected");
  });

  it("is unknown after any other status that isn't a success", () => {
    const others = Array.from({ length: 700 }, (_, index) => 300 + index).filter(
      (status) => !REJECTIONS.includes(status),
    );
    const outcomes = others.map((status) => classifyAttempt(creation, reply(status, json({ code: "no" }))));
    expect(new Set(outcomes)).toEqual(new Set(["unknown"]));
  });

  it.each([
    ["empty", { kind: "empty" }],
    ["a web page", { kind: "unreadable", what: "html", excerpt: "", length: 0 }],
    ["truncated", { kind: "unreadable", what: "broken JSON", excerpt: "", length: 0 }],
    ["too large", { kind: "too large" }],
    ["in an unknown content encoding", { kind: "undecodable", coding: "zstd" }],
  ] as const)("is unknown after a success that is %s", (_what, body) => {
    expect(classifyAttempt(creation, reply(202, body))).toBe("unknown");
  });

  it("is done after a success that is readable or names an operation", () => {
    expect(classifyAttempt(creation, reply(202, json({ id: "op-1" })))).toBe("done");
    expect(
      classifyAttempt(creation, reply(202, { kind: "empty" }, { location: "/v1/operations/op-1" })),
    ).toBe("done");
    expect(classifyAttempt({}, reply(204, { kind: "empty" }))).toBe("done");
  });

  it.each([
    [409, { code: "idempotency_request_in_progress" }],
    [409, { type: "https://e.example/idempotency" }],
    [422, { code: "idempotency_key_reused" }],
    [422, { type: "https://e.example/idempotency-key-reused" }],
    [400, { code: "IDEMPOTENT_PARAMETER_MISMATCH" }],
  ])(
    "is unknown after %i %j, because the service may have carried out the first request with the key",
    (status, problem) => {
      expect(classifyAttempt(creation, reply(status, json(problem)))).toBe("unknown");
    },
  );

  it.each([
    [409, { code: "name_taken", detail: 'the name "in-progress" is taken' }],
    [409, { code: "conflict", title: "idempotency", detail: "a request for idempotency-web is outstanding" }],
    [409, { code: "operation_in_progress", detail: "another change is still being processed" }],
    [422, { code: "ssh_key_reused" }],
    [400, { code: "invalid_idempotency_key" }],
  ])(
    "is rejected after %i %j, because neither code nor type is about the idempotency key",
    (status, problem) => {
      expect(classifyAttempt(creation, reply(status, json(problem)))).toBe("rejected");
    },
  );

  it("depends on whether a connection was established if there is no reply", () => {
    const failure = { description: "", final: false, cause: new Error() };
    const outcomes = [true, false].flatMap((neverSent) => [
      classifyAttempt(creation, { kind: "failure", failure: { ...failure, neverSent } }),
      classifyAttempt(creation, { kind: "timeout", neverSent }),
    ]);
    expect(outcomes).toEqual(["rejected", "rejected", "unknown", "unknown"]);
  });
});

describe("the outcome of a failed request", () => {
  it("isn't unknown if the connection is refused", async () => {
    const { client, call } = clientOf("http://127.0.0.1:1");
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({
      code: "unreachable",
      sent: false,
      attempts: 8,
    });
  });

  it.each([
    { fault: "lost" } as const,
    ...[301, 302, 303, 304, 307, 308, 406, 408, 425, 500, 501, 503, 504, 507, 520, 598].map((status) => ({
      status,
    })),
    { status: 200, body: "<html>sign in</html>" },
    { status: 202 },
    { status: 204 },
  ])("is unknown after %j", async (answer) => {
    const { origin } = await startService(inTurn(answer));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({ sent: true });
  });

  it.each([400, 401, 403, 404, 409, 422, 429])("isn't unknown after %i", async (status) => {
    const { origin } = await startService(inTurn({ status, body: { code: "no" } }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({ sent: false });
  });

  it.each([400, 401, 403, 404, 409, 422, 429])(
    "stays unknown if a later attempt is rejected with %i",
    async (status) => {
      const { origin } = await startService(inTurn({ fault: "lost" }, { status, body: { code: "no" } }));
      const { client, call } = clientOf(origin);
      const error = await failureOf(client.instances.create("{}", "k", call));
      expect(error).toMatchObject({ status, sent: true });
    },
  );

  it("stays unknown if a later attempt has no token", async () => {
    const { origin } = await startService(inTurn({ fault: "lost" }));
    const tokens = [TOKEN, ""];
    const token = { origin: "a file", fetch: async () => ({ token: tokens.shift() ?? "", lifetimeMs: 0 }) };
    const { client, call } = clientOf(origin, { token });
    const error = await failureOf(client.instances.create("{}", "k", call));
    expect(error).toMatchObject({ code: "config_invalid", sent: true, method: "POST" });
  });
});

const creation = { needsBody: true };
const REJECTIONS = [
  400, 401, 402, 403, 404, 405, 407, 409, 410, 411, 412, 413, 414, 415, 422, 423, 428, 429, 431, 451,
];

function reply(status: number, body: WireReply["body"], headers: Record<string, string> = {}): Attempt {
  const problem = body.kind === "json" ? parseProblem(body.value) : undefined;
  return { kind: "reply", reply: { status, body, problem, header: (name) => headers[name] } };
}
const json = (value: unknown) => ({ kind: "json", value }) as const;

describe("a failure that the service has stored for a key", () => {
  const failing = (traceId: unknown, status = 500) => ({ status, body: { code: "boom", trace_id: traceId } });
  const create = async (...answers: Parameters<typeof inTurn>) => {
    const { origin } = await startService(inTurn(...answers));
    const { client, call } = clientOf(origin);
    return failureOf(client.instances.create("{}", "key-1", call));
  };

  it("is recognized by its trace id and ends the retries", async () => {
    expect(await create(failing("tr-1"))).toMatchObject({ code: "unavailable", replayed: true, attempts: 2 });
    const afterRejection = await create({ status: 429 }, failing("tr-1"));
    expect(afterRejection).toMatchObject({ replayed: true, attempts: 3 });
  });

  it.each([
    ["was lost", { fault: "lost" }],
    ["was cut off", { status: 202, body: { id: "op-1", status: "pending" }, fault: "cut" }],
    ["was a web page", { status: 200, body: "<html>" }],
    ["was another failure", failing("tr-0", 504)],
    ["was a failure without a trace id", { status: 503 }],
    ["had the same trace id and another status", failing("tr-1", 502)],
    [
      "had the same trace id and another body",
      { status: 500, body: { code: "bad_gateway", trace_id: "tr-1" } },
    ],
  ] as const)(
    "isn't assumed if the reply to an earlier attempt %s, because that attempt may have succeeded",
    async (_how, first) => {
      expect(await create(first, failing("tr-1"))).toMatchObject({
        replayed: false,
        attempts: 8,
        sent: true,
      });
    },
  );

  it.each([
    "",
    " ",
    "none",
    "-",
    0,
    "0",
    "00000000000000000000000000000000",
    "00000000-0000-0000-0000-000000000000",
    "key-1",
    "req-KEY1-a",
  ])("isn't assumed if the trace id %j doesn't identify a reply", async (traceId) => {
    expect(await create(failing(traceId))).toMatchObject({ replayed: false, attempts: 8, sent: true });
  });

  it.each(["before", "in between"])(
    "isn't assumed if another request received the same trace id %s",
    async (when) => {
      const { origin, seen } = await startService(() => failing("tr-1", 503));
      const { client, call, clock } = clientOf(origin, { retry: { maxAttempts: 3 } });
      const listing = () => failureOf(client.projects.list(call));
      if (when === "before") await listing();
      const creating = failureOf(client.instances.create("{}", "key-1", call));
      if (when === "in between") await listing();
      expect(await creating).toMatchObject({ replayed: false, attempts: 3, sent: true });
      expect([seen.length, clock.sleeps.length]).toEqual([6, 4]);
    },
  );

  it.each([502, 504])("isn't assumed if the reply is a gateway's (%d)", async (status) => {
    expect(await create(failing("edge-12", status))).toMatchObject({ replayed: false, attempts: 8 });
  });

  it("isn't assumed if an attempt in between failed in another way", async () => {
    expect(await create(failing("tr-1"), { status: 503 }, failing("tr-1"))).toMatchObject({
      replayed: false,
      attempts: 8,
    });
  });

  it("isn't assumed for requests without a key", async () => {
    const { origin } = await startService(inTurn(failing("tr-1")));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.update("ins-1", "{}", "r1", call))).toMatchObject({
      replayed: false,
      attempts: 8,
    });
  });
});
