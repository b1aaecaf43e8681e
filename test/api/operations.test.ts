import { describe, expect, it } from "vitest";
import { isTerminal } from "../../src/polling/wait";
import { clientOf, failureOf, inTurn, startService } from "./service";

async function poll(body: unknown, headers: Record<string, string> = {}) {
  const { origin } = await startService(inTurn({ body, headers }));
  const { client, call } = clientOf(origin);
  return { operation: await client.operations.poll({ id: "op-1", url: "" }, call), client, origin, call };
}

describe("an operation", () => {
  it("is parsed with all fields", async () => {
    const body = {
      id: "op-1",
      status: "done",
      progress: "1",
      result_url: "/v1/instances/ins-1",
      started_at: "2026-01-01T00:00:00Z",
      finished_at: "2026-01-01T00:00:01.250Z",
      error: null,
    };
    const { operation, client, origin } = await poll(body, { "retry-after": "2" });
    expect(operation).toEqual({
      id: "op-1",
      url: `${origin}/v1/operations/op-1`,
      status: "done",
      progress: 1,
      resultUrl: "/v1/instances/ins-1",
      startedAt: body.started_at,
      finishedAt: body.finished_at,
      error: undefined,
      resource: "ins-1",
      retryAfterMs: 2_000,
    });
    expect(client.resultId(operation)).toBe("ins-1");
  });

  it.each([
    [{ progress: "0.4" }, 0.4],
    [{ progress: 1.7 }, 1],
    [{ progress: -1 }, 0],
    [{ progress: null }, undefined],
    [{ progress: "soon" }, undefined],
    [{}, undefined],
  ])("with %j has progress %s", async (fields, progress) => {
    const { operation } = await poll({ status: "running", ...fields });
    expect(operation.progress).toBe(progress);
  });

  it.each(["yesterday", "", 5, null, "0001-01-01T00:00:00Z", {}])(
    "is parsed without the invalid date %j",
    async (date) => {
      const { operation } = await poll({ status: "paused", started_at: date, finished_at: date });
      expect([operation.startedAt, operation.finishedAt]).toEqual([undefined, undefined]);
      expect(isTerminal(operation)).toBe(false);
    },
  );

  it.each([
    [
      { code: "quota_exceeded", detail: "no room", trace_id: "tr-1" },
      { code: "quota_exceeded", detail: "no room", traceId: "tr-1" },
    ],
    ["no room", { detail: "no room" }],
    [{ reason_number: 5 }, { detail: '{"reason_number":5}' }],
    [["no room"], { detail: '["no room"]' }],
    [true, { detail: "true" }],
  ])("with the error %j failed", async (error, problem) => {
    const { operation } = await poll({ status: "running", error });
    expect(operation.error).toMatchObject(problem);
    expect(isTerminal(operation)).toBe(true);
  });

  it.each([null, "", false, {}, { type: "", status: 0, errors: [] }])(
    "with the empty error %j didn't fail",
    async (error) => {
      const { operation } = await poll({ status: "running", error });
      expect(operation.error).toBeUndefined();
    },
  );

  it.each([
    [{ resource_id: "ins-1" }, "ins-1"],
    [{ resource: "ins-1" }, "ins-1"],
    [{ resource: { id: 5 } }, "5"],
    [{ resource: "instance", result: "success" }, undefined],
    [{ resource: "/v1/instances/ins-1" }, undefined],
    [{ result: { id: "ins-1" } }, "ins-1"],
    [{ result_url: "https://elsewhere.example/v1/instances/ins-1" }, "ins-1"],
    [{ result_url: "https://elsewhere.example/images/img-1" }, undefined],
    [{ result_url: "/v1/operations/op-1" }, undefined],
    [{ result_url: "/v1/instances/in%2Fs" }, "in/s"],
    [{ result_url: "instances/ins-1" }, "ins-1"],
  ])("with %j is about %s", async (fields, id) => {
    const { operation, client } = await poll({ status: "done", ...fields });
    expect(client.resultId(operation)).toBe(id);
  });

  it("can't be polled if its URL returns something else", async () => {
    const instance = { id: "ins-1", name: "web", status: "running" };
    const { origin } = await startService(inTurn({ body: instance }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.operations.poll({ id: "op-1", url: "" }, call))).toMatchObject({
      code: "bad_reply",
    });
  });

  it.each([
    ["op-1", "OP-1"],
    ["op-1", "operations/op-1"],
    ["op-1", "/v1/operations/op-1"],
    ["op 1", "op%201"],
  ])("with the id %j in its URL may have the id %j in its body", async (id, other) => {
    const { origin } = await startService(inTurn({ body: { id: other, status: "done" } }));
    const { client, call } = clientOf(origin);
    expect(await client.operations.poll({ id, url: "" }, call)).toMatchObject({ id, status: "done" });
  });

  it("can't be polled if its URL returns another operation", async () => {
    const { origin } = await startService(inTurn({ body: { id: "op-2", status: "done" } }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.operations.poll({ id: "op-1", url: "" }, call))).toMatchObject({
      code: "bad_reply",
      summary: "the service returned operation op-2 instead of op-1",
    });
  });

  it.each([404, 410])("isn't found after a %i", async (status) => {
    const { origin } = await startService(inTurn({ status }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.operations.poll({ id: "op-1", url: "" }, call))).toMatchObject({
      code: "not_found",
    });
  });
});

describe("the result of an operation", () => {
  it.each([
    "/v1/instances/ins-1",
    "ORIGIN/v1/instances/ins-1",
    "http://elsewhere.example/v1/instances/ins-1",
  ])("is read at the endpoint if the link is %s", async (link) => {
    const { origin, seen } = await startService(inTurn({ headers: { etag: '"r1"' }, body: { id: "ins-1" } }));
    const { client, call } = clientOf(origin);
    const resultUrl = link.replace("ORIGIN", origin);
    const operation = { id: "op-1", url: `${origin}/v1/operations/op-1`, status: "done", resultUrl };
    expect(await client.readResult(operation, call)).toMatchObject({ id: "ins-1", revision: "r1" });
    expect(seen.map(({ path }) => path)).toEqual(["/v1/instances/ins-1"]);
  });

  it.each([
    [404, "not_found"],
    [405, "unsupported"],
    [501, "unsupported"],
  ])("causes, after a %i, the error %s", async (status, code) => {
    const { origin } = await startService(inTurn({ status }));
    const { client, call } = clientOf(origin);
    const operation = {
      id: "op-1",
      url: `${origin}/v1/operations/op-1`,
      status: "done",
      resultUrl: "/v1/instances/ins-1",
    };
    expect(await failureOf(client.readResult(operation, call))).toMatchObject({ code });
  });

  it("is missing without a link", async () => {
    const { client, call } = clientOf("http://127.0.0.1:1");
    const operation = {
      id: "op-1",
      url: "http://127.0.0.1:1/v1/operations/op-1",
      status: "done",
      resource: "ins-1",
    };
    expect(await failureOf(client.readResult(operation, call))).toMatchObject({
      code: "no_result",
      resultId: "ins-1",
    });
  });
});
