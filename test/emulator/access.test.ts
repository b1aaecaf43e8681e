import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { type Answer, instanceBody, open } from "./service";

const names = ({ body }: Answer): unknown[] =>
  Array.isArray(body.items) ? body.items.map(({ name }) => name) : [];

test("a token without access to a project can't read it, its instances or its operations, by name or by id", async () => {
  for (const forbiddenStatus of [403, 404, 401] as const) {
    const { call, emulator } = await open({ forbiddenStatus });
    const [shop, blog] = [emulator.addProject({ name: "shop" }), emulator.addProject({ name: "blog" })];
    const web = emulator.addInstance({ name: "web", project: shop.id });
    emulator.addInstance({ name: "db", project: blog.id });
    const key = { "idempotency-key": randomUUID() };
    const body = instanceBody(shop.id, { name: "api" });
    const created = await call("POST", "/v1/instances", body, key);
    const own = await call("POST", "/v1/instances", instanceBody(blog.id));
    for (const hidden of ["shop", shop.id]) {
      emulator.behaviour.hiddenProjects = [hidden];
      expect(names(await call("GET", "/v1/projects"))).toEqual(["blog"]);
      expect(names(await call("GET", "/v1/instances"))).toEqual(["db", "web"]);
      const requests: [string, string, object?][] = [
        ["GET", `/v1/projects/${shop.id}`],
        ["DELETE", `/v1/projects/${shop.id}`],
        ["GET", `/v1/instances/${web.id}`],
        ["PUT", `/v1/instances/${web.id}`, {}],
        ["DELETE", `/v1/instances/${web.id}`],
        ["GET", `/v1/operations/${created.body.id}`],
        ["POST", "/v1/instances", body],
        ["POST", "/v1/projects", { name: "shop", region: "eu-1" }],
      ];
      const allowed = hidden === "shop" ? 0 : 1;
      for (const [method, path, sent] of requests.slice(0, requests.length - allowed))
        expect((await call(method, path, sent, key)).status, `${method} ${path}`).toBe(forbiddenStatus);
      const filtered = await call("GET", `/v1/instances?project=${shop.id}`);
      expect([filtered.status, names(filtered)]).toEqual([
        forbiddenStatus === 404 ? 200 : forbiddenStatus,
        [],
      ]);
      expect((await call("GET", `/v1/operations/${own.body.id}`)).status).toBe(200);
    }
    emulator.behaviour.hiddenProjects = [];
    expect((await call("POST", "/v1/instances", body, key)).body.id).toBe(created.body.id);
    expect(emulator.instances.size).toBe(4);
  }
});

test("a token without access to any project gets empty lists", async () => {
  const { call, given } = await open({ hiddenProjects: ["*"] });
  given();
  for (const path of ["/v1/projects", "/v1/instances"]) {
    const answer = await call("GET", path);
    expect([answer.status, answer.body.items]).toEqual([200, []]);
  }
});

test("a read-only token can't change anything", async () => {
  const { call, emulator, given } = await open({ readOnlyToken: true });
  const { project, instance } = given();
  for (const [method, path] of [
    ["POST", "/v1/projects"],
    ["POST", "/v1/instances"],
    ["PUT", `/v1/instances/${instance}`],
    ["DELETE", `/v1/instances/${instance}`],
    ["DELETE", `/v1/projects/${project}`],
  ] as const) {
    const answer = await call(method, path, {});
    expect([answer.status, answer.body.code]).toEqual([403, "forbidden"]);
  }
  expect((await call("GET", `/v1/instances/${instance}`)).status).toBe(200);
  expect(emulator.instances.size).toBe(1);
});
