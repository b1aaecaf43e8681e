import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Answer, clientOf, failureOf, inTurn, type Seen, startService } from "./service";

const items = (...ids: string[]) => ids.map((id) => ({ id }));
const ids = (objects: readonly { id: string }[]) => objects.map(({ id }) => id);

describe("a list", () => {
  it("is read to its end with 200 objects per page, and each object is returned once", async () => {
    const { origin, seen } = await startService(
      inTurn(
        { body: { items: items("a", "b"), next_cursor: "c/1&", has_more: true } },
        { body: { items: items("b", "c"), next_cursor: 7 } },
        { body: { items: items("d"), next_cursor: "", has_more: false } },
      ),
    );
    const { client, call } = clientOf(origin);
    expect(ids(await client.projects.list(call))).toEqual(["a", "b", "c", "d"]);
    expect(seen.map(({ query }) => Object.fromEntries(query))).toEqual([
      { limit: "200" },
      { limit: "200", cursor: "c/1&" },
      { limit: "200", cursor: "7" },
    ]);
  });

  it.each([
    ...[{ next_cursor: null }, { next_cursor: "" }, {}, { has_more: false }, { has_more: null }],
    ...[{ has_more: "false" }, { has_more: 0 }],
  ])("ends with a page that has %j", async (end) => {
    const { origin } = await startService(inTurn({ body: { items: items("a"), ...end } }));
    const { client, call } = clientOf(origin);
    expect(ids(await client.projects.list(call))).toEqual(["a"]);
  });

  it.each([{}, { next_cursor: null }, { has_more: null, next_cursor: null }, { has_more: false }])(
    "is empty if its items are null, with %j",
    async (end) => {
      const { origin } = await startService(inTurn({ body: { items: null, ...end } }));
      const { client, call } = clientOf(origin);
      expect(await client.instances.list({}, call)).toEqual([]);
    },
  );

  it("continues after a page whose items are null if there is a cursor", async () => {
    const { origin } = await startService(
      inTurn({ body: { items: null, next_cursor: "x", has_more: true } }, { body: { items: items("a") } }),
    );
    const { client, call } = clientOf(origin);
    expect(ids(await client.projects.list(call))).toEqual(["a"]);
  });

  it("fails if a cursor repeats", async () => {
    const cursors = ["x", "y", "x"];
    const { origin, seen } = await startService((_request, index) => ({
      body: { items: items(`i${index}`), next_cursor: cursors[index], has_more: true },
    }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "bad_reply",
      summary: "the list returned the same cursor twice",
    });
    expect(seen).toHaveLength(3);
  });

  it.each<unknown>([true, "true", 1, "yes", {}, { toString: 1 }])(
    "fails if it has more items (%j) but no cursor, so that missing objects don't look deleted",
    async (has_more) => {
      const { origin } = await startService(inTurn({ body: { items: items("a"), has_more } }));
      const { client, call } = clientOf(origin);
      expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "bad_reply" });
    },
  );

  it("ends with has_more false, even if the last page has a cursor", async () => {
    const { origin, seen } = await startService(
      inTurn({ body: { items: items("a"), next_cursor: "x", has_more: false } }),
    );
    const { client, call } = clientOf(origin);
    expect(ids(await client.projects.list(call))).toEqual(["a"]);
    expect(seen).toHaveLength(2);
  });

  it.each([400, 404, 422])(
    "ends with has_more false if the service rejects the cursor of that page with %i",
    async (status) => {
      const last = { body: { items: items("a"), next_cursor: 0, has_more: false } };
      const { origin } = await startService(inTurn(last, { status }));
      const { client, call } = clientOf(origin);
      expect(ids(await client.projects.list(call))).toEqual(["a"]);
    },
  );

  it("fails if the service rejects the cursor of a page without has_more false", async () => {
    const page = { body: { items: items("a"), next_cursor: "x" } };
    const { origin } = await startService(inTurn(page, { status: 400 }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "refused" });
  });

  it.each([
    ["error", { code: "shard_unavailable", status: 503 }, { code: "shard_unavailable" }],
    ["error", "zone eu-2 is unavailable", { detail: "zone eu-2 is unavailable" }],
    [
      "errors",
      [{ detail: "zone eu-2 is unavailable" }],
      { errors: [{ detail: "zone eu-2 is unavailable" }] },
    ],
  ])("fails with the reported problem if a page with status 200 has %s: %j", async (name, error, problem) => {
    const { origin } = await startService(() => ({ body: { items: [], has_more: false, [name]: error } }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.list({}, call))).toMatchObject({ code: "bad_reply", problem });
  });

  it("may have an empty error", async () => {
    const blank = { error: { code: "", status: 0 }, errors: [] };
    const { origin } = await startService(() => ({ body: { items: items("a"), has_more: false, ...blank } }));
    const { client, call } = clientOf(origin);
    expect(ids(await client.instances.list({}, call))).toEqual(["a"]);
  });

  it("fails if an item has no id", async () => {
    const { origin } = await startService(inTurn({ body: { items: [{ name: "web" }], next_cursor: null } }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "bad_reply" });
  });

  it("fails if a page fails, instead of returning fewer objects", async () => {
    const { origin } = await startService(
      inTurn({ body: { items: items("a"), next_cursor: "x" } }, { status: 403, body: { code: "forbidden" } }),
    );
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "forbidden" });
  });

  it("can be read page by page", async () => {
    const { origin, seen } = await startService(
      inTurn({ body: { items: items("a"), next_cursor: "x" } }, { body: { items: [] } }),
    );
    const { client, call } = clientOf(origin);
    for await (const page of client.instances.pages({}, call)) {
      expect(ids(page.objects)).toEqual(["a"]);
      break;
    }
    expect(seen).toHaveLength(1);
  });
});

describe("a list of instances", () => {
  it("is filtered by project, status and labels", async () => {
    const { origin, seen } = await startService(inTurn({ body: { items: [] } }));
    const { client, call } = clientOf(origin);
    await client.instances.list(
      { project: "prj-1", status: "running", labels: { env: "a&b", "app/tier": "x" } },
      call,
    );
    expect(Object.fromEntries(seen[0]?.query ?? [])).toEqual({
      limit: "200",
      project: "prj-1",
      status: "running",
      "label.env": "a&b",
      "label.app/tier": "x",
    });
  });

  const noLimit =
    (status: number) =>
    (request: Seen): Answer =>
      request.query.has("limit")
        ? { status, body: { code: "limit_too_large" } }
        : { body: { items: items("a"), next_cursor: null } };

  it.each([400, 422])("omits limit=200 from now on if the service rejects it with %i", async (status) => {
    const { origin, seen } = await startService(noLimit(status));
    const { client, call } = clientOf(origin);
    expect(ids(await client.instances.list({}, call))).toEqual(["a"]);
    expect(ids(await client.instances.list({ project: "prj-1" }, call))).toEqual(["a"]);
    expect(seen.map(({ query }) => query.has("limit"))).toEqual([true, false, false]);
  });

  it("keeps the limit and fails if the service rejects something else", async () => {
    const { origin, seen } = await startService(inTurn({ status: 422, body: { code: "unknown_label" } }));
    const { client, call } = clientOf(origin);
    for (let time = 0; time < 2; time++) {
      const error = await failureOf(client.instances.list({}, call));
      expect(error).toMatchObject({ code: "refused", problem: { code: "unknown_label" } });
    }
    expect(seen.map(({ query }) => query.has("limit"))).toEqual([true, false, true, false]);
  });
});

const project = {
  id: "prj-1",
  name: "shop",
  region: "eu-1",
  description: "",
  created_at: "2026-01-01T00:00:00Z",
};
const operation = { id: "op-1", status: "pending", progress: 0 };
const location = { location: "/v1/operations/op-1" };

describe("a POST of a project", () => {
  it.each([200, 201, 202])("returns the project after a %i with the project", async (status) => {
    const { origin } = await startService(inTurn({ status, headers: { etag: '"r1"' }, body: project }));
    const { client, call } = clientOf(origin);
    const object = { id: "prj-1", fields: project, revision: "r1" };
    const deferred = status === 202 || undefined;
    expect(await client.projects.create("{}", "k", call)).toEqual({ kind: "object", object, deferred });
  });

  it.each([200, 201, 202])("returns the operation after a %i with an operation", async (status) => {
    const { origin } = await startService(inTurn({ status, body: operation }));
    const { client, call } = clientOf(origin);
    expect(await client.projects.create("{}", "k", call)).toMatchObject({
      kind: "operation",
      operation: { id: "op-1", status: "pending", progress: 0, url: `${origin}/v1/operations/op-1` },
    });
  });

  it("returns a pending operation after an empty 202 with a Location", async () => {
    const headers = { ...location, "retry-after": "3" };
    const { origin } = await startService(inTurn({ status: 202, headers }));
    const { client, call } = clientOf(origin);
    expect(await client.projects.create("{}", "k", call)).toMatchObject({
      kind: "operation",
      operation: { id: "op-1", status: "pending", retryAfterMs: 3_000 },
    });
  });

  it("returns the operation with the project's id after a reply with the project and an operation's Location", async () => {
    const { origin } = await startService(
      inTurn({ status: 202, headers: location, body: { ...project, status: "running" } }),
    );
    const { client, call } = clientOf(origin);
    expect(await client.projects.create("{}", "k", call)).toMatchObject({
      kind: "operation",
      operation: { id: "op-1", status: "pending", resource: "prj-1" },
    });
  });

  it("returns the project after a 201 with the project's own Location", async () => {
    const headers = { location: "/v1/projects/prj-1" };
    const { origin } = await startService(
      inTurn({ status: 201, headers, body: { ...project, status: "pending" } }),
    );
    const { client, call } = clientOf(origin);
    expect(await client.projects.create("{}", "k", call)).toMatchObject({
      kind: "object",
      object: { id: "prj-1" },
    });
  });
});

describe("a POST of an instance", () => {
  it("takes the operation's id from the Location, or else from the body", async () => {
    const { origin } = await startService(
      inTurn(
        { status: 202, headers: { location: "operations/op%2F9" }, body: { status: "pending" } },
        { status: 202, body: operation },
      ),
    );
    const { client, call } = clientOf(origin);
    const first = await client.instances.create("{}", "k", call);
    expect(first).toMatchObject({ operation: { id: "op/9", url: `${origin}/v1/operations/op%2F9` } });
    expect(await client.instances.create("{}", "k", call)).toMatchObject({ operation: { id: "op-1" } });
  });

  it("has its operation polled at the Location, even if that URL has another form than the API's", async () => {
    const headers = { location: "/v1/jobs/7/status" };
    const { origin, seen } = await startService(
      inTurn({ status: 202, headers, body: operation }, { body: operation }),
    );
    const { client, call } = clientOf(origin);
    const accepted = await client.instances.create("{}", "k", call);
    if (accepted.kind !== "operation") throw new Error(accepted.kind);
    expect((await client.operations.poll(accepted.operation, call)).id).toBe("op-1");
    expect(seen[1]?.path).toBe("/v1/jobs/7/status");
  });

  it("has its operation polled at the Location, even if the first reply has no id", async () => {
    const { origin } = await startService(
      inTurn({ status: 202, headers: { location: "/v1/jobs/7" } }, { body: operation }),
    );
    const { client, call } = clientOf(origin);
    const accepted = await client.instances.create("{}", "k", call);
    if (accepted.kind !== "operation") throw new Error(accepted.kind);
    expect(await client.operations.poll(accepted.operation, call)).toMatchObject({
      id: "7",
      status: "pending",
    });
  });

  it.each([
    { ...operation, name: "create-web-7" },
    { ...operation, name: "web", project: "prj-1", created_at: "2026-01-01T00:00:00Z" },
    { ...operation, name: "create-web-7", region: "eu-1", status: "done", result_url: "/v1/instances/ins-1" },
  ])("returns the operation without a Location, even if it has a name: %j", async (body) => {
    const { origin } = await startService(inTurn({ status: 202, body }));
    const { client, call } = clientOf(origin);
    expect(await client.instances.create("{}", "k", call)).toMatchObject({
      kind: "operation",
      operation: { id: "op-1", status: body.status },
    });
  });

  it("returns the instance, even if it has a progress and a start", async () => {
    const started_at = "2026-01-01T00:00:00Z";
    const body = { id: "ins-1", name: "web", flavor: "m1.small", status: "pending", progress: 0, started_at };
    const { origin } = await startService(inTurn({ status: 202, body }));
    const { client, call } = clientOf(origin);
    expect(await client.instances.create("{}", "k", call)).toMatchObject({
      kind: "object",
      object: { id: "ins-1" },
    });
  });

  it.each([
    ["any id to poll", { status: "pending", progress: 0 }],
    ["a status", { ...operation, status: null }],
  ])("fails with an unknown outcome if the reply has no %s", async (_what, body) => {
    const { origin } = await startService(inTurn({ status: 202, body }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({
      code: "bad_reply",
      sent: true,
    });
  });
});

describe("PUT and DELETE", () => {
  it.each([
    { id: "ins-1", status: "running", revision: 8 },
    { id: "ins-1", status: "pending", progress: 0.5, started_at: "2026-01-01T00:00:00Z" },
  ])("return the object if the body has its id, even if it looks like an operation: %j", async (body) => {
    const { origin } = await startService(inTurn({ body }));
    const { client, call } = clientOf(origin);
    const object = { kind: "object", object: { id: "ins-1" } };
    expect(await client.instances.update("ins-1", "{}", "r", call)).toMatchObject(object);
    expect(await client.instances.delete("ins-1", call)).toMatchObject(object);
  });

  it("recognize the object by a numeric id, and the operation in the Location", async () => {
    const body = { id: 101, status: "running", revision: 8 };
    const { origin } = await startService(inTurn({ body }, { status: 202, headers: location, body }));
    const { client, call } = clientOf(origin);
    expect(await client.instances.update("101", "{}", "r", call)).toMatchObject({
      kind: "object",
      object: { id: "101", revision: "8" },
    });
    expect(await client.instances.update("101", "{}", "r", call)).toMatchObject({
      kind: "operation",
      operation: { id: "op-1", resource: "101" },
    });
  });

  it.each([
    {},
    { headers: { location: "/v1/instances/ins-1" } },
    { body: { message: "accepted" } },
    { headers: { location: "/v1/instances/ins-1" }, body: { message: "accepted" } },
  ])("are deferred after a 202 without an operation (%j), and not after a 200", async (reply) => {
    const { origin } = await startService((_request, index) => ({
      status: index < 2 ? 202 : 200,
      ...reply,
    }));
    const { client, call } = clientOf(origin);
    expect(await client.instances.update("ins-1", "{}", "r", call)).toEqual({
      kind: "none",
      deferred: true,
    });
    expect(await client.instances.delete("ins-1", call)).toEqual({ kind: "none", deferred: true });
    expect(await client.instances.update("ins-1", "{}", "r", call)).toEqual({ kind: "none" });
  });

  it("are deferred after a 202 with the object", async () => {
    const { origin } = await startService(inTurn({ status: 202, body: { id: "ins-1", revision: 8 } }));
    const { client, call } = clientOf(origin);
    expect(await client.instances.update("ins-1", "{}", "r", call)).toMatchObject({
      kind: "object",
      object: { id: "ins-1" },
      deferred: true,
    });
  });

  it.each([
    [200, "object"],
    [202, "operation"],
  ] as const)("return, after a %i with only another id and a status, an %s", async (status, kind) => {
    const body = { id: "front", status: "running" };
    const { origin } = await startService(inTurn({ status, body }));
    const { client, call } = clientOf(origin);
    expect(await client.instances.update("web", "{}", "r", call)).toMatchObject({
      kind,
      [kind]: { id: "front" },
    });
  });

  it("return the operation after a 200 with a field or Location of an operation", async () => {
    const body = { id: "op-1", status: "running" };
    const { origin } = await startService(
      inTurn({ body: { ...body, progress: 0.5 } }, { headers: location, body }),
    );
    const { client, call } = clientOf(origin);
    const result = { kind: "operation", operation: { id: "op-1" } };
    expect(await client.instances.update("web", "{}", "r", call)).toMatchObject(result);
    expect(await client.instances.update("web", "{}", "r", call)).toMatchObject(result);
  });

  it("may return the object, an operation, or nothing", async () => {
    const instance = { id: "ins-1", name: "web", status: "running" };
    const { origin } = await startService(
      inTurn(
        { body: instance },
        { status: 202, headers: location, body: operation },
        { status: 204 },
        { status: 200 },
      ),
    );
    const { client, call } = clientOf(origin);
    const kinds = [
      (await client.instances.update("ins-1", "{}", "r", call)).kind,
      (await client.instances.update("ins-1", "{}", "r", call)).kind,
      (await client.instances.delete("ins-1", call)).kind,
      (await client.projects.delete("prj-1", call)).kind,
    ];
    expect(kinds).toEqual(["object", "operation", "none", "none"]);
  });
});

it("a call ends with a result or a CloudInfraError for any JSON", async () => {
  const json = fc.oneof(
    fc.json(),
    fc
      .record(
        { id: fc.jsonValue(), status: fc.jsonValue(), progress: fc.jsonValue(), error: fc.jsonValue() },
        { requiredKeys: [] },
      )
      .map((value) => JSON.stringify(value)),
    fc
      .record(
        { items: fc.jsonValue(), next_cursor: fc.jsonValue(), has_more: fc.jsonValue() },
        { requiredKeys: [] },
      )
      .map((value) => JSON.stringify(value)),
  );
  const reply = { status: 200, body: "" };
  const { origin } = await startService(() => ({ ...reply }));
  const { client, call } = clientOf(origin);
  const calls = [
    () => client.instances.create("{}", "k", call),
    () => client.instances.get("x", call),
    () => client.operations.get("op-1", call),
  ];
  await fc.assert(
    fc.asyncProperty(
      json,
      fc.constantFrom(200, 201, 202, 400, 404, 409, 422),
      fc.nat(2),
      async (body, status, which) => {
        Object.assign(reply, { status, body });
        const end = await (calls[which] ?? calls[0])?.().catch((error: unknown) => error);
        if (end instanceof Error)
          expect(end).toMatchObject({ name: "CloudInfraError", method: expect.any(String) });
        else expect(end).toBeTypeOf("object");
      },
    ),
    { numRuns: 500 },
  );
});
