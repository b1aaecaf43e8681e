import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientOf, failureOf, inTurn, startService } from "./service";

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
    { id: "op-1", status: "pending", name: null },
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
    () => client.operations.poll({ id: "op-1", url: "" }, call),
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
