import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { open } from "./service";

const body = { name: "shop", region: "eu-1" };
const key = { "idempotency-key": "6f0e5b6c-6f1e-4a43-9a0b-2d6f4f0d9a11" };

/** Creates a project with Node's own client. Returns the code of its error. */
function failureOf(url: string, token: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", headers }, (reply) => {
      reply.on("error", (error) => resolve(Reflect.get(error, "code")));
      reply.resume().on("end", () => resolve("none"));
    });
    sent.on("error", (error) => resolve(Reflect.get(error, "code")));
    sent.end(JSON.stringify(body));
  });
}

describe("a fault", () => {
  test("lost-reply handles the request and closes the connection, and a retry with the same key gets the reply", async () => {
    const { call, emulator } = await open();
    const fault = emulator.fail({ kind: "lost-reply", method: "POST" });
    await expect(call("POST", "/v1/projects", body, key)).rejects.toThrow();
    expect([emulator.projects.size, fault.used]).toEqual([1, 1]);
    expect((await call("POST", "/v1/projects", body, key)).body.id).toBe([...emulator.projects.keys()][0]);
    expect(emulator.requests.map(({ status, fault }) => [status, fault])).toEqual([
      [0, "lost-reply"],
      [201, undefined],
    ]);
  });

  test("reset closes the connection before the request is handled", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "reset" });
    await expect(call("POST", "/v1/projects", body)).rejects.toThrow();
    expect(emulator.projects.size).toBe(0);
    expect(emulator.requests).toMatchObject([
      { method: "POST", path: "/v1/projects", status: 0, fault: "reset" },
    ]);
  });

  test("status replies with a problem document that has the given status, Retry-After and members", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "status", status: 429, retryAfter: 12, problem: { detail: "slow down" } });
    const answer = await call("POST", "/v1/projects", body, key);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "12"]);
    expect(answer.body).toMatchObject({ status: 429, code: "rate_limited", detail: "slow down" });
    expect(emulator.projects.size).toBe(0);
    emulator.fail({ kind: "status" });
    expect((await call("GET", "/v1/projects")).status).toBe(503);
    expect((await call("POST", "/v1/projects", body, key)).status).toBe(201);
  });

  test("status can redirect", async () => {
    const { emulator } = await open();
    const location = "https://elsewhere.example/v1/projects";
    emulator.fail({ kind: "status", status: 308, location });
    const answer = await fetch(`${emulator.endpoint}/projects`, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([308, location]);
  });

  test("status with cached becomes the first reply of the key and is repeated", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "status", status: 500, cached: true });
    const first = await call("POST", "/v1/projects", body, key);
    expect(first.status).toBe(500);
    expect((await call("POST", "/v1/projects", body, key)).text).toBe(first.text);
    expect(emulator.projects.size).toBe(0);
  });

  test("slow delays the request, which is not handled if the emulator stops first", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "slow", delayMs: 20 });
    expect((await call("POST", "/v1/projects", body)).status).toBe(201);
    emulator.fail({ kind: "slow", delayMs: 600_000 });
    const waiting = expect(call("POST", "/v1/projects", body)).rejects.toThrow();
    await expect.poll(() => emulator.requests.at(-1)?.status).toBe(0);
    await emulator.stop();
    await waiting;
    expect(emulator.requests.map(({ fault }) => fault)).toEqual(["slow", "slow"]);
    expect(emulator.projects.size).toBe(1);
  });

  test("hang neither replies nor handles the request, and does not keep the emulator from stopping", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "hang" });
    const hanging = call("POST", "/v1/projects", body);
    const outcome = expect(hanging).rejects.toThrow();
    await expect.poll(() => emulator.requests.length).toBe(1);
    expect(emulator.projects.size).toBe(0);
    await emulator.stop();
    await outcome;
  });

  test("truncate cuts the reply off in the middle of its body", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "truncate" });
    await expect(call("POST", "/v1/projects", body)).rejects.toThrow();
    expect(emulator.projects.size).toBe(1);
  });

  test("html replies with a page and any status", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "html" });
    emulator.fail({ kind: "html", status: 200 });
    const answers = [await call("GET", "/v1/projects"), await call("GET", "/v1/projects")];
    expect(answers.map(({ status }) => status)).toEqual([502, 200]);
    expect(answers[1]?.headers.get("content-type")).toContain("text/html");
    expect(answers[1]?.text).toMatch(/^<!doctype html>/);
  });

  test("empty and wrong-content-type handle the request and damage the reply", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "empty" });
    emulator.fail({ kind: "wrong-content-type" });
    const empty = await call("POST", "/v1/projects", body);
    expect([empty.status, empty.text]).toEqual([201, ""]);
    const wrong = await call("POST", "/v1/projects", body);
    expect(wrong.headers.get("content-type")).toBe("text/plain");
    expect(JSON.parse(wrong.text)).toMatchObject(body);
    expect(emulator.projects.size).toBe(2);
  });

  test.for([502, 504, 507, 520, 530, 598, 599])(
    "gateway does the work and answers %i, as a page, a problem, or nothing; the key then brings the reply",
    async (status) => {
      const { call, emulator } = await open();
      const forms: { body?: "html" | "problem" | "empty"; type: string | null }[] = [
        { type: "text/html; charset=utf-8" },
        { body: "problem", type: "application/problem+json" },
        { body: "empty", type: null },
      ];
      for (const { type, ...form } of forms) {
        const own = { "idempotency-key": randomUUID() };
        const fault = emulator.fail({ kind: "gateway", status, retryAfter: 3, ...form });
        const answer = await call("POST", "/v1/projects", body, own);
        expect([answer.status, answer.headers.get("content-type")]).toEqual([status, type]);
        expect([answer.headers.get("retry-after"), fault.used]).toEqual(["3", 1]);
        expect((await call("POST", "/v1/projects", body, own)).status).toBe(201);
      }
      expect(emulator.projects.size).toBe(3);
    },
  );

  test("gateway replaces the reply to any method", async () => {
    const { call, emulator, given } = await open();
    const { instance } = given();
    emulator.fail({ kind: "gateway", times: 2 });
    const path = `/v1/instances/${instance}`;
    expect((await call("GET", path)).status).toBe(502);
    expect((await call("DELETE", path)).status).toBe(502);
    expect(emulator.instances.size).toBe(0);
  });

  test.for([
    ["illegal-header", "HPE_INVALID_HEADER_TOKEN"],
    ["control-character", "HPE_INVALID_HEADER_TOKEN"],
    ["bare-lf", "HPE_CR_EXPECTED"],
    ["bad-chunk", "HPE_INVALID_CHUNK_SIZE"],
    ["truncated-head", "ECONNRESET"],
    ["garbage", "HPE_INVALID_CONSTANT"],
  ] as const)("%s does the work and sends a reply that no HTTP client accepts", async ([kind, code]) => {
    const { call, emulator } = await open();
    emulator.fail({ kind });
    expect(await failureOf(`${emulator.endpoint}/projects`, emulator.token)).toBe(code);
    expect(emulator.requests.map(({ status, fault }) => [status, fault])).toEqual([[0, kind]]);
    expect(emulator.projects.size).toBe(1);
    expect((await call("GET", "/v1/projects")).status).toBe(200);
  });

  test("gzip handles the request and compresses the body without being asked to", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "gzip" });
    const answer = await call("POST", "/v1/projects", body, { "accept-encoding": "identity" });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(answer.body).toMatchObject(body);
  });

  test("a rule whose reply Node rejects results in a 500", async () => {
    const { call, emulator } = await open();
    emulator.fail({ kind: "status", status: 307, location: "a\nb" });
    const answer = await call("GET", "/v1/projects");
    expect([answer.status, answer.body.detail]).toEqual([500, expect.stringContaining("location")]);
  });

  test("can be active from the start", async () => {
    const { call } = await open({}, { faults: [{ kind: "status", times: 2 }] });
    const seen = [];
    for (let n = 0; n < 3; n++) seen.push((await call("GET", "/v1/projects")).status);
    expect(seen).toEqual([503, 503, 200]);
  });

  test("matches by method and path, skips the first requests, and ends after its times or with off()", async () => {
    const { call, emulator } = await open();
    const status = async (method: string, path: string) => (await call(method, path)).status;
    const below = emulator.fail({ kind: "status", path: "/v1/operations/", times: Number.POSITIVE_INFINITY });
    emulator.fail({ kind: "status", status: 500, method: "get", path: "/v1/instances", after: 1, times: 2 });
    emulator.fail({ kind: "status", status: 504, path: /^\/v1\/projects\/prj-\d$/ });
    expect(await status("PATCH", "/v1/instances")).toBe(405);
    const seen: number[] = [];
    for (let n = 0; n < 4; n++) seen.push(await status("GET", "/v1/instances?limit=5"));
    expect(seen).toEqual([200, 500, 500, 200]);
    expect(await status("GET", "/v1/projects/prj-1")).toBe(504);
    expect(await status("GET", "/v1/projects/prj-1")).toBe(404);
    expect(await status("GET", "/v1/operations/op-1")).toBe(503);
    below.off();
    expect(await status("GET", "/v1/operations/op-1")).toBe(404);
    expect(below.used).toBe(1);
  });

  test("calls `when` once for each matching request, and affects those for which it returns true", async () => {
    const { call, emulator } = await open();
    const asked: string[] = [];
    emulator.fail({
      kind: "status",
      path: "/v1/projects",
      times: Number.POSITIVE_INFINITY,
      when: ({ method, body }) => asked.push(`${method} ${body}`) % 2 === 0,
    });
    const seen: number[] = [];
    for (const region of ["a", "b", "c"]) {
      await call("GET", "/v1/instances");
      seen.push((await call("POST", "/v1/projects", { name: "shop", region })).status);
    }
    expect(seen).toEqual([201, 503, 201]);
    expect(asked).toEqual(["a", "b", "c"].map((region) => `POST {"name":"shop","region":"${region}"}`));
  });
});
