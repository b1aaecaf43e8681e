import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { instanceBody, open } from "./service";

const day = 24 * 60 * 60 * 1000;

test("a request with the same key and body within 24 hours gets the first reply, byte for byte, and has no effect", async () => {
  const { call, emulator, advance } = await open();
  const body = instanceBody(emulator.addProject().id);
  const key = { "idempotency-key": randomUUID() };
  const first = await call("POST", "/v1/instances", body, key);
  advance(day - 1);
  const again = await call("POST", "/v1/instances", body, key);
  expect(again.text).toBe(first.text);
  expect(again.status).toBe(202);
  expect(again.headers.get("location")).toBe(first.headers.get("location"));
  expect(emulator.instances.size).toBe(1);
});

test("after 24 hours, a request with the same key is handled again", async () => {
  const { call, emulator, advance } = await open();
  const body = instanceBody(emulator.addProject().id);
  const key = { "idempotency-key": randomUUID() };
  const first = await call("POST", "/v1/instances", body, key);
  advance(day);
  const again = await call("POST", "/v1/instances", body, key);
  expect(again.body.id).not.toBe(first.body.id);
  expect(emulator.instances.size).toBe(2);
});

test("a key expires after keyRetentionMs", async () => {
  const { call, emulator, advance } = await open({ keyRetentionMs: 60_000 });
  const key = { "idempotency-key": randomUUID() };
  const body = { name: "p", region: "eu-1" };
  await call("POST", "/v1/projects", body, key);
  advance(59_999);
  await call("POST", "/v1/projects", body, key);
  expect(emulator.projects.size).toBe(1);
  advance(1);
  await call("POST", "/v1/projects", body, key);
  expect(emulator.projects.size).toBe(2);
});

test("the rejection of a reused key has the status and code of keyReuseStatus and keyReuseCode", async () => {
  const { call } = await open({ keyReuseStatus: 409, keyReuseCode: "key_conflict" });
  const key = { "idempotency-key": randomUUID() };
  await call("POST", "/v1/projects", { name: "p", region: "eu-1" }, key);
  const answer = await call("POST", "/v1/projects", { name: "q", region: "eu-1" }, key);
  expect([answer.status, answer.body.code]).toEqual([409, "key_conflict"]);
});

test("a key that is reused with another body or at another endpoint is rejected", async () => {
  const { call, emulator } = await open();
  const body = instanceBody(emulator.addProject().id);
  const key = { "idempotency-key": randomUUID() };
  await call("POST", "/v1/instances", body, key);
  const respelled = JSON.stringify(body).replace('":', '": ');
  for (const answer of [
    await call("POST", "/v1/instances", { ...body, name: "other" }, key),
    await call("POST", "/v1/instances", respelled, key),
    await call("POST", "/v1/projects", body, key),
  ]) {
    expect(answer.status).toBe(422);
    expect(answer.body.code).toBe("idempotency_key_reused");
  }
  expect(emulator.instances.size).toBe(1);
});

test("a key must be a UUID v4 in upper or lower case", async () => {
  const { call, emulator } = await open();
  const body = { name: "p", region: "eu-1" };
  for (const key of ["mine", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", `${randomUUID()}0`]) {
    const answer = await call("POST", "/v1/projects", body, { "idempotency-key": key });
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_idempotency_key"]);
  }
  const key = randomUUID();
  const first = await call("POST", "/v1/projects", body, { "idempotency-key": key.toUpperCase() });
  const again = await call("POST", "/v1/projects", body, { "idempotency-key": key });
  expect(again.text).toBe(first.text);
  expect(emulator.projects.size).toBe(1);
});

test("without a key, every request is handled", async () => {
  const { call, emulator } = await open();
  for (let n = 0; n < 2; n++) await call("POST", "/v1/projects", { name: "p", region: "eu-1" });
  expect(emulator.projects.size).toBe(2);
});

test("rejections are repeated too, with their trace id, unless cachedReplies is successes", async () => {
  const { call, emulator } = await open();
  const body = { name: "p", region: "nope" };
  const key = { "idempotency-key": randomUUID() };
  const first = await call("POST", "/v1/projects", body, key);
  expect(first.status).toBe(422);
  expect((await call("POST", "/v1/projects", body, key)).text).toBe(first.text);

  emulator.behaviour.cachedReplies = "successes";
  const other = { "idempotency-key": randomUUID() };
  const refused = await call("POST", "/v1/projects", body, other);
  expect((await call("POST", "/v1/projects", body, other)).body.trace_id).not.toBe(refused.body.trace_id);
});

test("a wrong token is rejected before the key is checked", async () => {
  const { call, emulator } = await open();
  const body = { name: "p", region: "eu-1" };
  const key = { "idempotency-key": randomUUID() };
  const refused = await call("POST", "/v1/projects", body, { ...key, authorization: "Bearer other" });
  expect(refused.status).toBe(401);
  expect((await call("POST", "/v1/projects", body, key)).status).toBe(201);
  expect(emulator.projects.size).toBe(1);
});
