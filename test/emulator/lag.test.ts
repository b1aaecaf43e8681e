import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { open, type TestService } from "./service";

type Names = readonly string[];

async function names({ call }: TestService): Promise<Names> {
  const { items } = (await call("GET", "/v1/instances")).body;
  return Array.isArray(items) ? items.map(({ name }) => name) : [];
}

/** Renames one instance, deletes another, and creates a third. Then lists them. */
async function listAfterChanges(behaviour: Partial<Behaviour>): Promise<{ lagging: Names; later: Names }> {
  const service = await open({ lagMs: 1000, ...behaviour });
  const { emulator, advance } = service;
  const { project, instance } = service.given({ name: "old" });
  const second = emulator.addInstance({ project, name: "deleted" }).id;
  advance(1000);
  emulator.edit(instance, { name: "new" });
  emulator.remove(second);
  emulator.addInstance({ project, name: "created" });
  advance(999);
  const lagging = await names(service);
  advance(1);
  return { lagging, later: await names(service) };
}

describe("a lagging list", () => {
  test.for<[Behaviour["lagPart"], Names]>([
    ["all", ["old", "deleted"]],
    ["fields", ["old", "created"]],
    ["objects", ["new", "deleted"]],
  ])("shows the past (%s) until the time has passed", async ([lagPart, expected]) => {
    const { lagging, later } = await listAfterChanges({ lagPart });
    expect([lagging, later]).toEqual([expected, ["new", "created"]]);
  });

  test("shows a change after lagRequests further requests", async () => {
    const service = await open({ lagRequests: 2 });
    const { emulator, call, given } = service;
    const { instance } = given();
    for (let n = 0; n < 4; n++) await call("GET", "/v1/projects");
    expect(await names(service)).toHaveLength(1);
    emulator.remove(instance);
    const counts = [];
    for (let n = 0; n < 3; n++) counts.push((await names(service)).length);
    expect(counts).toEqual([1, 1, 0]);
  });

  test("shows past data on every page and with filters", async () => {
    const service = await open({ lagMs: 1000, pageSize: 1 });
    const { emulator, call, advance } = service;
    const [first, second] = [emulator.addInstance({ name: "a" }), emulator.addInstance({ name: "b" })];
    advance(1000);
    emulator.edit(second.id, { labels: { tier: "web" } });
    emulator.remove(first.id);
    const page = await call("GET", "/v1/instances");
    const next = await call("GET", `/v1/instances?cursor=${page.body.next_cursor}`);
    expect([page.body.items, next.body.items]).toMatchObject([[{ name: "a" }], [{ name: "b", labels: {} }]]);
    expect((await call("GET", "/v1/instances?label.tier=web")).body.items).toEqual([]);
  });
});

test("lagIn selects whether lists, reads of single objects, or both lag, and changes never lag", async () => {
  for (const [lagIn, list, read] of [
    ["lists", "old", "new"],
    ["reads", "new", "old"],
    ["both", "old", "old"],
  ] as const) {
    const service = await open({ lagMs: 1000, lagIn });
    const { call, emulator, advance, given } = service;
    const { project, instance } = given({ name: "old" });
    advance(1000);
    emulator.edit(instance, { name: "new" });
    expect(await names(service)).toEqual([list]);
    const single = await call("GET", `/v1/instances/${instance}`);
    expect(single.body.name).toBe(read);
    const headers = { "if-match": String(single.headers.get("etag")) };
    const update = { name: "newer", flavor: "m1.small", network: "default" };
    const put = await call("PUT", `/v1/instances/${instance}`, update, headers);
    expect(put.status).toBe(read === "new" ? 200 : 412);
    const { id } = emulator.addProject();
    expect((await call("GET", `/v1/projects/${id}`)).status).toBe(lagIn === "lists" ? 200 : 404);
    expect((await call("GET", `/v1/projects/${project}`)).status).toBe(200);
  }
});

test("a read that lags behind a creation doesn't find the object yet, although its operation is done", async () => {
  const { call, emulator, advance } = await open({
    lagMs: 1000,
    lagIn: "both",
    instanceVisible: "when-done",
  });
  const { id } = emulator.addProject();
  const body = { project: id, name: "web", image: "debian-13", flavor: "m1.small", network: "default" };
  const operation = (await call("POST", "/v1/instances", body)).body.id;
  advance(1500);
  const { body: done } = await call("GET", `/v1/operations/${operation}`);
  expect(done.status).toBe("done");
  const result = String(done.result_url);
  expect((await call("GET", result)).status).toBe(404);
  advance(500);
  expect((await call("GET", result)).body.status).toBe("running");
});

describe("soft deletion", () => {
  test.for(["deleted", "TERMINATED"])(
    "leaves the instance visible as %s for softDeleteMs",
    async (softDelete) => {
      for (const deleteObject of [204, 200, 202] as const) {
        const service = await open({ softDelete, softDeleteMs: 5000, deleteObject });
        const { call, emulator, advance, given } = service;
        const { instance } = given();
        const path = `/v1/instances/${instance}`;
        await call("DELETE", path);
        advance(1000);
        expect((await call("GET", path)).body).toMatchObject({ id: instance, status: softDelete });
        expect((await call("GET", `/v1/instances?status=${softDelete}`)).body.items).toHaveLength(1);
        expect(emulator.instances.has(instance)).toBe(false);
        advance(5000);
        expect((await call("GET", path)).status).toBe(404);
        expect((await call("GET", "/v1/instances")).body.items).toEqual([]);
      }
    },
  );

  test("leaves it visible forever without softDeleteMs, and only in the replies that softDeleteIn selects", async () => {
    for (const [softDeleteIn, listed, status] of [
      ["both", 1, 200],
      ["lists", 1, 404],
      ["reads", 0, 200],
    ] as const) {
      const { call, advance, given } = await open({ softDelete: "deleted", softDeleteIn });
      const { instance } = given();
      await call("DELETE", `/v1/instances/${instance}`);
      advance(1e9);
      expect((await call("GET", "/v1/instances")).body.items).toHaveLength(listed);
      expect((await call("GET", `/v1/instances/${instance}`)).status).toBe(status);
    }
  });

  test("frees its name and its project, and a second DELETE is a 404", async () => {
    const { call, emulator, given } = await open({ softDelete: "deleted", uniqueNames: true });
    const { project, instance } = given({ name: "web" });
    const path = `/v1/instances/${instance}`;
    await call("DELETE", path);
    expect((await call("DELETE", path)).status).toBe(404);
    expect((await call("PUT", path, {}, { "if-match": '"r1"' })).status).toBe(404);
    const again = emulator.addInstance({ project, name: "other" });
    const headers = { "if-match": `"${again.revision}"` };
    const update = { name: "web", flavor: "m1.small", network: "default" };
    expect((await call("PUT", `/v1/instances/${again.id}`, update, headers)).status).toBe(200);
    emulator.remove(again.id);
    expect((await call("DELETE", `/v1/projects/${project}`)).status).toBe(204);
  });

  test("becomes visible later if lists lag", async () => {
    const { call, advance, given } = await open({ softDelete: "deleted", lagMs: 1000 });
    const { instance } = given();
    advance(1000);
    await call("DELETE", `/v1/instances/${instance}`);
    expect((await call("GET", "/v1/instances")).body.items).toMatchObject([{ status: "running" }]);
    advance(1000);
    expect((await call("GET", "/v1/instances")).body.items).toMatchObject([{ status: "deleted" }]);
  });
});
