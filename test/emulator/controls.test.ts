import { createServer } from "node:net";
import { expect, test } from "vitest";
import { startEmulator } from "../../src/emulator";
import { instanceBody, open } from "./service";

const ownClasses = [globalThis.Request, globalThis.Response];

test("the request log doesn't contain the token, wherever the client sent it", async () => {
  const token = "pat_3f7a9c";
  const { call, emulator } = await open({}, { token });
  await call("POST", `/v1/projects/${token}?${token}=${token}`, { name: token }, { "x-extra": `t=${token}` });
  await call("GET", "/v1/projects", undefined, { authorization: "Bearer pat_old" });
  expect((await fetch(`${emulator.endpoint}/projects`)).status).toBe(401);
  expect(JSON.stringify(emulator.requests)).not.toMatch(/pat_3f7a9c|pat_old/);
  expect(emulator.requests.map(({ headers }) => headers.authorization)).toEqual(["ok", "wrong", "missing"]);
});

test("the log contains method, path, query, headers, body, status and time, and can be cleared", async () => {
  const { call, emulator, advance } = await open();
  advance(5);
  await call("POST", "/v1/projects?x=1", '{"name": "p"}', { "idempotency-key": "k" });
  expect(emulator.requests).toMatchObject([
    {
      at: Date.UTC(2026, 0, 2, 12, 0, 0, 255),
      method: "POST",
      path: "/v1/projects",
      query: { x: "1" },
      body: '{"name": "p"}',
      status: 400,
    },
  ]);
  expect(emulator.requests[0]?.headers).toMatchObject({ authorization: "ok", "idempotency-key": "k" });
  emulator.clearRequests();
  expect(emulator.requests).toEqual([]);
});

test("the log keeps at most as many requests as requestsKept says", async () => {
  const { call, emulator } = await open({}, { requestsKept: 4 });
  for (let n = 0; n < 9; n++) await call("GET", `/v1/projects?limit=${n + 1}`);
  expect(emulator.requests.length).toBeLessThanOrEqual(4);
  expect(emulator.requests.at(-1)?.query).toEqual({ limit: "9" });
});

test("changeToken makes another token valid", async () => {
  const { call, emulator } = await open();
  emulator.changeToken("second");
  expect(emulator.token).toBe("second");
  expect(
    (await call("GET", "/v1/projects", undefined, { authorization: "Bearer emulator-token" })).status,
  ).toBe(401);
  expect((await call("GET", "/v1/projects")).status).toBe(200);
  expect(() => emulator.changeToken("")).toThrow("empty");
  await expect(startEmulator({ token: "" })).rejects.toThrow("empty");
});

test("other users can create, change and delete objects", async () => {
  const { call, emulator } = await open();
  const instance = emulator.addInstance({ name: "theirs", public_ip: "198.51.100.7" });
  emulator.edit(instance.id, { root_password: "secret" });
  const { body } = await call("GET", `/v1/instances/${instance.id}`);
  expect(body).toMatchObject({ name: "theirs", ip_address: "198.51.100.7", root_password: "secret" });
  const [project] = emulator.projects.keys();
  expect(body.project).toBe(project);
  emulator.edit(String(project), { name: "renamed" });
  expect((await call("GET", `/v1/projects/${project}`)).body.name).toBe("renamed");
  emulator.remove(instance.id);
  expect((await call("GET", `/v1/instances/${instance.id}`)).status).toBe(404);
  for (const missing of [
    () => emulator.remove("ins-0"),
    () => emulator.edit("ins-0", {}),
    () => emulator.touch("ins-0"),
  ]) {
    expect(missing).toThrow('no object "ins-0"');
  }
});

test("an instance that another user deletes during its creation does not reappear", async () => {
  const { call, emulator, advance } = await open();
  await call("POST", "/v1/instances", instanceBody(emulator.addProject().id));
  emulator.remove(String([...emulator.instances.keys()][0]));
  advance(1000);
  expect(emulator.instances.size).toBe(0);
});

test("a paused emulator refuses connections, and resumes at the same port with its objects", async () => {
  const { call, emulator } = await open();
  emulator.addProject();
  const { url } = emulator;
  await emulator.pause();
  await expect(call("GET", "/v1/projects")).rejects.toThrow();
  await emulator.resume();
  expect(emulator.url).toBe(url);
  expect((await call("GET", "/v1/projects")).body.items).toHaveLength(1);
  await emulator.stop();
  await emulator.stop();
});

test("a host that other machines can reach requires a token", async () => {
  for (const host of ["", "0.0.0.0", "::", "192.0.2.1", "emulator.example"])
    await expect(startEmulator({ host }), host).rejects.toThrow(TypeError);
  for (const host of ["localhost", "127.0.0.1", "127.1.2.3"]) {
    const emulator = await startEmulator({ host });
    expect(emulator.token).toBe("emulator-token");
    await emulator.stop();
  }
});

test("all switches can be replaced at once", async () => {
  const { call, emulator, given } = await open();
  const { instance } = given();
  emulator.behaviour = { ...emulator.behaviour, getObject: 405 };
  expect((await call("GET", `/v1/instances/${instance}`)).status).toBe(405);
});

test("startEmulator rejects with the system's error if the port is in use", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await expect(startEmulator({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await new Promise((resolve) => other.close(resolve));
});

test("starting the emulator doesn't change the global Request and Response", async () => {
  await open();
  expect(globalThis.Request).toBe(ownClasses[0]);
  expect(globalThis.Response).toBe(ownClasses[1]);
});
