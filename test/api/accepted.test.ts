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

describe("a project's POST", () => {
  it.each([200, 201, 202])("answered %i with the project is the project", async (status) => {
    const { origin } = await startService(inTurn({ status, headers: { etag: '"r1"' }, body: project }));
    const { client, call } = clientOf(origin);
    const object = { id: "prj-1", fields: project, revision: "r1" };
    const deferred = status === 202 || undefined;
    expect(await client.projects.create("{}", "k", call)).toEqual({ kind: "object", object, deferred });
  });

  it.each([200, 201, 202])("answered %i with an operation is the operation", async (status) => {
    const { origin } = await startService(inTurn({ status, body: operation }));
    const { client, call } = clientOf(origin);
    expect(await client.projects.create("{}", "k", call)).toMatchObject({
      kind: "operation",
      operation: { id: "op-1", status: "pending", progress: 0, url: `${origin}/v1/operations/op-1` },
    });
  });

  it("answered with an empty 202 and a Location is a pending operation", async () => {
    const headers = { ...location, "retry-after": "3" };
    const { origin } = await startService(inTurn({ status: 202, headers }));
    const { client, call } = clientOf(origin);
    expect(await client.projects.create("{}", "k", call)).toMatchObject({
      kind: "operation",
      operation: { id: "op-1", status: "pending", retryAfterMs: 3_000 },
    });
  });

  it("answered with the project and the Location of an operation waits for the operation, knowing the project", async () => {
    const { origin } = await startService(
      inTurn({ status: 202, headers: location, body: { ...project, status: "running" } }),
    );
    const { client, call } = clientOf(origin);
    expect(await client.projects.create("{}", "k", call)).toMatchObject({
      kind: "operation",
      operation: { id: "op-1", status: "pending", resource: "prj-1" },
    });
  });

  it("answered 201 with the project's own Location is the project", async () => {
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

describe("an instance's POST", () => {
  it("takes the operation's id from the Location, and else from the body", async () => {
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

  it("is polled where the Location says, also when that is no address of this API's own shape", async () => {
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

  it("is polled there too when the first reply did not name the operation", async () => {
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
    ["any id to poll", { status: "pending", progress: 0 }],
    ["a status", { ...operation, status: null }],
  ])("without %s is an error that leaves it unsure", async (_what, body) => {
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
  ])(
    "answered with the id of the requested object are the object, however much it looks like an operation: %j",
    async (body) => {
      const { origin } = await startService(inTurn({ body }));
      const { client, call } = clientOf(origin);
      const object = { kind: "object", object: { id: "ins-1" } };
      expect(await client.instances.update("ins-1", "{}", "r", call)).toMatchObject(object);
      expect(await client.instances.delete("ins-1", call)).toMatchObject(object);
    },
  );

  it("know a requested object by a numeric id, too, and the operation beside it", async () => {
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
  ])(
    "answered 202 without an operation (%j) say that the work comes later, and 200 doesn't",
    async (reply) => {
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
    },
  );

  it("answered 202 with the object say that the work comes later", async () => {
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
  ] as const)(
    "answered %i with no more than another id and a status have brought an %s",
    async (status, kind) => {
      const body = { id: "front", status: "running" };
      const { origin } = await startService(inTurn({ status, body }));
      const { client, call } = clientOf(origin);
      expect(await client.instances.update("web", "{}", "r", call)).toMatchObject({
        kind,
        [kind]: { id: "front" },
      });
    },
  );

  it("answered 200 with an operation's own field or Location have brought that operation", async () => {
    const body = { id: "op-1", status: "running" };
    const { origin } = await startService(
      inTurn({ body: { ...body, progress: 0.5 } }, { headers: location, body }),
    );
    const { client, call } = clientOf(origin);
    const result = { kind: "operation", operation: { id: "op-1" } };
    expect(await client.instances.update("web", "{}", "r", call)).toMatchObject(result);
    expect(await client.instances.update("web", "{}", "r", call)).toMatchObject(result);
  });

  it("may answer with the object, an operation, or nothing", async () => {
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

it("whatever JSON comes, a call ends with a result or an error of ours", async () => {
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
