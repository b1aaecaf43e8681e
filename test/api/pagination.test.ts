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
    ["unreachable", ["zones/eu-2"], { detail: '{"unreachable":["zones/eu-2"]}' }],
  ])("fails with the reported problem if a page with status 200 has %s: %j", async (name, error, problem) => {
    const { origin } = await startService(() => ({ body: { items: [], has_more: false, [name]: error } }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.list({}, call))).toMatchObject({ code: "bad_reply", problem });
  });

  it("may have an empty error", async () => {
    const blank = { error: { code: "", status: 0 }, errors: [], unreachable: [] };
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
