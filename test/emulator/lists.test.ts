import { expect, test } from "vitest";
import { type Answer, instanceBody, open, type TestService } from "./service";

function names({ body }: Answer): unknown[] {
  return Array.isArray(body.items) ? body.items.map((item: { name: unknown }) => item.name) : [];
}

async function everyPage({ call }: TestService, path: string): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  let cursor = "";
  do {
    const answer = await call("GET", `${path}${path.includes("?") ? "&" : "?"}${cursor}`);
    pages.push(names(answer));
    expect(answer.body.has_more).toBe(answer.body.next_cursor !== null);
    cursor = answer.body.next_cursor === null ? "" : `cursor=${answer.body.next_cursor}`;
  } while (cursor !== "");
  return pages;
}

function fill({ emulator }: TestService, count: number, fields: Record<string, unknown> = {}): void {
  for (let n = 0; n < count; n++) emulator.addInstance({ name: `i${n}`, ...fields });
}

test("pages are linked by cursors and have 50 items unless limit is set", async () => {
  const service = await open();
  fill(service, 120);
  const sizes = async (path: string) => (await everyPage(service, path)).map((page) => page.length);
  expect(await sizes("/v1/instances")).toEqual([50, 50, 20]);
  expect(await sizes("/v1/instances?limit=60")).toEqual([60, 60]);
  expect(await sizes("/v1/instances?limit=200")).toEqual([120]);
  expect((await everyPage(service, "/v1/instances?limit=7")).flat()).toEqual(
    Array.from({ length: 120 }, (_, n) => `i${n}`),
  );
});

test("pages of a filtered list contain each matching object once", async () => {
  const service = await open();
  for (let n = 0; n < 30; n++)
    service.emulator.addInstance({ name: `i${n}`, labels: { third: String(n % 3) } });
  expect(await everyPage(service, "/v1/instances?limit=4&label.third=2")).toEqual([
    ["i2", "i5", "i8", "i11"],
    ["i14", "i17", "i20", "i23"],
    ["i26", "i29"],
  ]);
});

test("an empty list has one empty page", async () => {
  const { call } = await open();
  expect((await call("GET", "/v1/projects")).body).toEqual({ items: [], next_cursor: null, has_more: false });
});

test("pageSize makes pages smaller than limit", async () => {
  const service = await open({ pageSize: 3 });
  fill(service, 7);
  expect((await everyPage(service, "/v1/instances?limit=200")).map((page) => page.length)).toEqual([3, 3, 1]);
});

test("a deletion between two pages does not shift items", async () => {
  const { call, emulator, ...service } = await open();
  fill({ ...service, call, emulator }, 6);
  const first = await call("GET", "/v1/instances?limit=3");
  for (const id of [...emulator.instances.keys()].slice(1, 4)) emulator.remove(id);
  const second = await call("GET", `/v1/instances?limit=3&cursor=${first.body.next_cursor}`);
  expect([names(first), names(second)]).toEqual([
    ["i0", "i1", "i2"],
    ["i4", "i5"],
  ]);
});

test("limits outside 1 to 200 and foreign cursors are 400 problems that name the parameter", async () => {
  const service = await open();
  fill(service, 5);
  const { body } = await service.call("GET", "/v1/instances?limit=2&status=running");
  for (const [query, parameter] of [
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["limit=-1", "limit"],
    ["limit=ten", "limit"],
    ["limit=", "limit"],
    ["cursor=abc", "cursor"],
    ["cursor=", "cursor"],
    [`cursor=${body.next_cursor}`, "cursor"],
    [`status=gone&cursor=${body.next_cursor}`, "cursor"],
    ["colour=red", "colour"],
  ]) {
    const answer = await service.call("GET", `/v1/instances?${query}`);
    expect([query, answer.status]).toEqual([query, 400]);
    expect(answer.body.errors).toMatchObject([{ parameter }]);
  }
  expect((await service.call("GET", "/v1/projects?limit=500")).status).toBe(400);
});

test("instanceLimit rejects a limit over 100 for instances, and projects accept 200", async () => {
  const service = await open({ instanceLimit: "refused" });
  fill(service, 60);
  const refused = await service.call("GET", "/v1/instances?limit=200");
  expect([refused.status, refused.body.code]).toEqual([422, "invalid_limit"]);
  expect((await service.call("GET", "/v1/instances?limit=100")).status).toBe(200);
  expect((await everyPage(service, "/v1/instances")).map((page) => page.length)).toEqual([50, 10]);
  expect((await service.call("GET", "/v1/projects?limit=200")).status).toBe(200);
});

test("filters by project, status and labels can be combined", async () => {
  const { call, emulator } = await open();
  const [shop, blog] = [emulator.addProject().id, emulator.addProject().id];
  emulator.addInstance({ name: "a", project: shop, labels: { tier: "web", "a.b/c": "x y" } });
  emulator.addInstance({ name: "b", project: shop, labels: { tier: "web" }, status: "stopped" });
  emulator.addInstance({ name: "c", project: blog, labels: { tier: "db" } });
  const listed = async (query: string) => names(await call("GET", `/v1/instances?${query}`));
  expect(await listed(`project=${shop}`)).toEqual(["a", "b"]);
  expect(await listed("status=running")).toEqual(["a", "c"]);
  expect(await listed("label.tier=web")).toEqual(["a", "b"]);
  expect(await listed("label.a.b%2Fc=x%20y")).toEqual(["a"]);
  expect(await listed(`project=${shop}&status=running&label.tier=web`)).toEqual(["a"]);
  expect(await listed("label.tier=web&label.constructor=x")).toEqual([]);
  expect(await listed("project=prj-elsewhere")).toEqual([]);
});

test("projects in lists have no description, unlike in the reply to their creation", async () => {
  const { call } = await open();
  const created = await call("POST", "/v1/projects", { name: "shop", region: "eu-1" });
  expect(created.body).toMatchObject({ name: "shop", region: "eu-1", description: "" });
  const { body } = await call("GET", "/v1/projects");
  expect(body.items).toEqual([
    { id: created.body.id, name: "shop", region: "eu-1", created_at: "2026-01-02T12:00:00Z" },
  ]);
});

test("fractionalDates adds fractional seconds to dates in lists", async () => {
  const { call, given } = await open({ fractionalDates: true });
  const { instance } = given();
  const list = await call("GET", "/v1/instances");
  expect(list.body.items).toMatchObject([{ id: instance, created_at: "2026-01-02T12:00:00.250Z" }]);
  const single = await call("GET", `/v1/instances/${instance}`);
  expect(single.body.created_at).toBe("2026-01-02T12:00:00Z");
});

test("5,000 instances that are created with a concurrency of 50 are all listed in pages of 200", async () => {
  const service = await open({ operationMs: 0 });
  const { id } = service.emulator.addProject();
  let next = 0;
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      while (next < 5000) {
        next += 1;
        const answer = await service.call("POST", "/v1/instances", instanceBody(id, { name: `i${next}` }));
        expect(answer.status).toBe(202);
      }
    }),
  );
  const pages = await everyPage(service, `/v1/instances?limit=200&project=${id}`);
  expect(pages).toHaveLength(25);
  expect(new Set(pages.flat()).size).toBe(5000);
  expect([...service.emulator.instances.values()].every(({ status }) => status === "running")).toBe(true);
});
