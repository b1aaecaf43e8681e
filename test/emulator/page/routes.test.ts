import { request } from "node:http";
import { describe, expect, it } from "vitest";
import type { Emulator } from "../../../src/emulator";
import { instanceBody, open } from "../service";
import { viewOf } from "./view";

const json = { "content-type": "application/json" };

function act({ url }: Emulator, action: unknown, headers: Record<string, string> = json): Promise<Response> {
  return fetch(`${url}/page/actions`, { method: "POST", headers, body: JSON.stringify(action) });
}

/** Sends a request with headers that `fetch` doesn't allow. Returns the status. */
function statusOf({ url }: Emulator, path: string, headers: Record<string, string>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url + path,
      { method: path === "/page/events" ? "GET" : "POST", headers, agent: false },
      (reply) => {
        reply.destroy();
        resolve(reply.statusCode);
      },
    );
    sent.on("error", reject);
    sent.end(path === "/page/events" ? undefined : '{"run":"clear-log"}');
  });
}

describe("the emulator's page", () => {
  it("is served only if it is switched on", async () => {
    const off = await open();
    for (const path of ["/", "/page/script.mjs", "/page/style.css", "/page/events"])
      expect((await off.call("GET", path)).status).toBe(404);
    expect((await off.call("POST", "/page/actions")).status).toBe(404);
    const on = await open({}, { page: true });
    const page = await on.call("GET", "/");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    for (const [, file = ""] of page.text.matchAll(/(?:href|src)="(\/[^"]+)"/g))
      expect((await on.call("GET", file)).status).toBe(200);
  });

  it("forbids scripts, styles and frames of other origins, and contains no inline script", async () => {
    const { call } = await open({}, { page: true });
    const { headers, text } = await call("GET", "/");
    const policy = headers.get("content-security-policy");
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
    ])
      expect(policy?.split("; ")).toContain(rule);
    expect(text).not.toMatch(/<script[^>]*>[^<]|<style| style=| on\w+=/i);
  });

  it("doesn't change the replies to other paths, such as those under /v1", async () => {
    const services = [await open(), await open({}, { page: true })];
    const ofCalls = "GET /v1,GET /v1/,GET /v1/projects,POST /v1/projects,GET /v1/page/events,GET //";
    const ofPage = "POST /,GET /page,GET /page/,GET /page/other,POST /page/events,GET /page/actions";
    for (const line of `${ofCalls},${ofPage}`.split(",")) {
      const [method = "", path = ""] = line.split(" ");
      const [off, on] = await Promise.all(services.map(({ call }) => call(method, path)));
      expect([on?.status, on?.text], line).toEqual([off?.status, off?.text]);
    }
    const [off, on] = services.map(({ emulator }) => emulator.requests);
    expect(on?.map(({ method, path }) => [method, path])).toEqual(
      off?.map(({ method, path }) => [method, path]),
    );
  });

  it("has requests that are neither logged nor affected by faults", async () => {
    const { call, emulator } = await open({}, { page: true });
    emulator.fail({ kind: "status", times: Number.POSITIVE_INFINITY });
    expect((await call("GET", "/")).status).toBe(200);
    expect(await viewOf(emulator)).toMatchObject({ requests: [], faults: [{ used: 0 }] });
  });

  it.each([
    ["another origin", { origin: "http://127.0.0.1:1" }],
    ["an opaque origin", { origin: "null" }],
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["another port", { "sec-fetch-site": "same-site" }],
    ["a domain that resolves to this machine", { host: "evil.example:80", origin: "http://evil.example:80" }],
  ])("rejects requests of a web page of %s", async (_, headers) => {
    const { emulator } = await open({}, { page: true });
    for (const path of ["/page/actions", "/page/events"])
      expect(await statusOf(emulator, path, { ...json, ...headers })).toBe(403);
  });

  it("accepts its own requests, also as localhost", async () => {
    const { emulator } = await open({}, { page: true });
    for (const host of [new URL(emulator.url).host, "localhost:1", "[::1]:1"]) {
      const headers = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
      expect(await statusOf(emulator, "/page/events", headers)).toBe(200);
      expect(await statusOf(emulator, "/page/actions", { ...json, ...headers })).toBe(204);
    }
  });

  it("accepts only actions that are JSON and valid", async () => {
    const { emulator } = await open({}, { page: true });
    expect((await act(emulator, { run: "clear-log" }, { "content-type": "text/plain" })).status).toBe(415);
    for (const invalid of [
      {},
      { run: "stop" },
      { fault: "reset" },
      { fault: { kind: "reset" }, run: "clear-log" },
    ])
      expect((await act(emulator, invalid)).status).toBe(400);
    const reply = await act(emulator, { fault: { kind: "resett" } });
    expect([reply.status, await reply.text()]).toEqual([
      400,
      expect.stringContaining("must be one of reset, hang"),
    ]);
  });

  it("injects and ends faults, plans a failure, ends operations, and clears the log", async () => {
    const { emulator, call, given } = await open({}, { page: true });
    const { project } = given();
    await act(emulator, { fault: { kind: "status", status: 429, method: "POST", times: "all" } });
    expect((await call("POST", "/v1/projects", {})).status).toBe(429);
    const { faults } = await viewOf(emulator);
    expect(faults).toEqual([{ id: 1, kind: "status", requests: "POST", used: 1, times: null }]);
    await act(emulator, { endFault: 1 });
    await act(emulator, { run: "fail-next-operation" });
    expect(await viewOf(emulator)).toMatchObject({ faults: [], count: { plannedFailures: 1 } });
    await call("POST", "/v1/instances", instanceBody(project));
    await act(emulator, { run: "end-operations" });
    expect([...emulator.operations.values()]).toMatchObject([{ outcome: "failed" }]);
    await act(emulator, { run: "clear-log" });
    expect(emulator.requests).toEqual([]);
  });

  it("doesn't contain the token", async () => {
    const { emulator, call } = await open({}, { page: true, token: "pat_3f7a9c" });
    await call("POST", "/v1/projects?x=pat_3f7a9c", { name: "pat_3f7a9c", region: "eu-1" });
    emulator.clearRequests();
    await call("GET", "/v1/projects/pat_3f7a9c?x=pat_3f7a9c", undefined, { "if-match": "pat_3f7a9c" });
    expect(JSON.stringify((await viewOf(emulator)).requests)).not.toContain("pat_3f7a9c");
    expect((await call("GET", "/")).text).not.toContain("pat_");
  });
});
