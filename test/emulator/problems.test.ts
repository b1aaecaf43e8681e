import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { instanceBody, open } from "./service";

describe("a rejection", () => {
  test("is a problem document with all members and a unique trace id", async () => {
    const { call } = await open();
    const one = await call("POST", "/v1/projects", { name: "shop", region: "nope" });
    expect(one.headers.get("content-type")).toBe("application/problem+json");
    expect(one.body).toEqual({
      type: "urn:cloudinfra:problem:validation_failed",
      title: expect.any(String),
      status: 422,
      detail: "region 'nope' does not exist",
      instance: "/v1/projects",
      code: "validation_failed",
      trace_id: expect.stringMatching(/^tr-\d+$/),
      errors: [{ pointer: "/region", detail: "region 'nope' does not exist" }],
    });
    const two = await call("POST", "/v1/projects", { name: "shop", region: "nope" });
    expect(two.body.trace_id).not.toBe(one.body.trace_id);
  });

  test.for<[Behaviour["traceIds"], unknown, unknown]>([
    ["fresh", "tr-1", "tr-2"],
    ["constant", "tr-0", "tr-0"],
    ["zeros", "0".repeat(32), "0".repeat(32)],
    ["empty", "", ""],
    ["missing", undefined, undefined],
  ])("has a trace id that is %s", async ([traceIds, ...expected]) => {
    const { call, emulator } = await open({ traceIds });
    emulator.fail({ kind: "status", status: 500 });
    const answers = [await call("GET", "/v1/projects"), await call("GET", "/v1/projects/none")];
    expect(answers.map(({ body }) => body.trace_id)).toEqual(expected);
  });

  test("has a detail in the form of problemDetail", async () => {
    const { call, emulator } = await open();
    const detailOf = async (problemDetail: Behaviour["problemDetail"]): Promise<unknown> => {
      emulator.behaviour.problemDetail = problemDetail;
      return (await call("GET", "/v1/projects/none")).body.detail;
    };
    const text = "project 'none' does not exist";
    expect(await detailOf("text")).toBe(text);
    expect(await detailOf("list")).toEqual([text]);
    expect(await detailOf("missing")).toBeUndefined();
    expect(await detailOf("long")).toBe(`${text}${" ".repeat(80_000)}.`);
  });

  test("with 409 has the detail of conflictDetail", async () => {
    const conflictDetail = "the project 'in progress' still has outstanding instances";
    const { call, given } = await open({ conflictDetail });
    const { project } = given();
    const answer = await call("DELETE", `/v1/projects/${project}`);
    expect([answer.status, answer.body.detail]).toEqual([409, conflictDetail]);
    expect((await call("GET", "/v1/projects/none")).body.detail).toContain("does not exist");
  });

  test("points to every invalid field", async () => {
    const { call, emulator } = await open();
    const project = emulator.addProject().id;
    const answer = await call("POST", "/v1/instances", {
      project,
      name: "",
      image: "unknown-image",
      flavor: 3,
      ssh_keys: ["ssh-ed25519 AAAA", "two\nlines"],
      labels: { "a/b": 1 },
      publicIp: "auto",
    });
    expect(answer.status).toBe(422);
    const pointers = Array.isArray(answer.body.errors)
      ? answer.body.errors.map((error) => error.pointer)
      : [];
    expect(pointers.sort()).toEqual([
      "/flavor",
      "/image",
      "/labels/a~1b",
      "/name",
      "/network",
      "/publicIp",
      "/ssh_keys/1",
    ]);
    expect(emulator.instances.size).toBe(0);
  });

  test("of a missing or wrong token is 401 on every path", async () => {
    const { call } = await open();
    for (const authorization of ["", "Bearer", "Bearer wrong", "Basic emulator-token", "emulator-token"]) {
      const answer = await call("GET", "/v1/projects", undefined, { authorization });
      expect([answer.status, answer.body.code]).toEqual([401, "unauthenticated"]);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
    expect((await call("GET", "/nowhere", undefined, { authorization: "Bearer wrong" })).status).toBe(401);
  });

  test("of an unknown path is 404, and of an unknown method 405", async () => {
    const { call } = await open();
    for (const path of ["/", "/v1", "/projects", "/v2/projects", "/v1/flavors", "/v1/instances/a/b", "//"]) {
      expect([path, (await call("GET", path)).status]).toEqual([path, 404]);
    }
    const answer = await call("PATCH", "/v1/instances/ins-1", {});
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, PUT, DELETE"]);
    expect((await call("DELETE", "/v1/projects")).status).toBe(405);
  });

  test("of a body that isn't JSON, isn't an object, isn't labelled JSON, or is too large is 400, 422, 415 or 413", async () => {
    const { call } = await open();
    const status = async (body: string, headers = {}) =>
      (await call("POST", "/v1/projects", body, headers)).status;
    expect(await status("{")).toBe(400);
    expect(await status("")).toBe(400);
    for (const body of ["null", "3", '"text"', "[]"]) expect(await status(body)).toBe(422);
    expect(await status("{}", { "content-type": "text/plain" })).toBe(415);
    expect(await status(" ".repeat(1024 * 1024 + 1))).toBe(413);
    expect(await status(`{"name":"a","region":"b"}${" ".repeat(1000)}`)).toBe(201);
  });

  test("can be requested for a field and a value, with a custom problem", async () => {
    const { call, given, emulator } = await open();
    const { project, instance } = given();
    emulator.refuse("flavor", "m9.huge");
    emulator.refuse("ssh_keys", ["bad"], { status: 403, code: "key_blocked", detail: "this key is blocked" });
    const huge = await call("POST", "/v1/instances", instanceBody(project, { flavor: "m9.huge" }));
    expect([huge.status, huge.body.errors]).toEqual([
      422,
      [{ pointer: "/flavor", detail: "flavor 'm9.huge' is not available" }],
    ]);
    const { project: _project, image: _image, ...update } = instanceBody(project, { ssh_keys: ["bad"] });
    const headers = { "if-match": `"${emulator.instances.get(instance)?.revision}"` };
    const blocked = await call("PUT", `/v1/instances/${instance}`, update, headers);
    expect([blocked.status, blocked.body.code, blocked.body.detail]).toEqual([
      403,
      "key_blocked",
      "this key is blocked",
    ]);
  });
});

test("no malformed request results in a 500", async () => {
  const { call, given, emulator } = await open();
  const { instance } = given();
  const fields = [
    "project",
    "name",
    "image",
    "flavor",
    "network",
    "public_ip",
    "ssh_keys",
    "labels",
    "region",
    "id",
    "__proto__",
  ];
  const odd = fc.oneof(
    fc.dictionary(fc.constantFrom(...fields), fc.jsonValue()).map((value) => JSON.stringify(value)),
    fc.json(),
    fc.string(),
  );
  const path = fc.oneof(
    fc.constantFrom("/v1/projects", "/v1/instances", `/v1/instances/${instance}`, "/v1/operations/op-1"),
    fc.webPath().map((text) => `/v1${text}`),
    fc.webQueryParameters().map((text) => `/v1/instances?${text}`),
    fc.string().map((text) => `/v1/projects?cursor=${encodeURIComponent(text)}`),
  );
  const property = fc.asyncProperty(
    fc.constantFrom("POST", "PUT", "DELETE"),
    path,
    odd,
    async (method, where, body) => {
      const revision = emulator.instances.get(instance)?.revision;
      const answer = await call(method, where, body, { "if-match": `"${revision}"` });
      expect(answer.status).toBeLessThan(500);
      expect((await call("GET", where)).status).toBeLessThan(500);
    },
  );
  await fc.assert(property, { numRuns: 300 });
});

test("a body with tens of thousands of unknown fields is rejected with at most 50 errors", async () => {
  const { call } = await open();
  const body = `{${Array.from({ length: 50_000 }, (_, n) => `"f${n}":1`).join(",")}}`;
  const answer = await call("POST", "/v1/projects", body);
  expect(answer.status).toBe(422);
  expect(answer.text.length).toBeLessThan(10_000);
});
