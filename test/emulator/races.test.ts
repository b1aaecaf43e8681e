import { describe, expect, test } from "vitest";
import { type Answer, instanceBody, open, type TestService } from "./service";

const outcome = ({ status, body }: Answer): unknown[] => [status, body.code];
const update = { name: "web", flavor: "m1.large", network: "default" };

async function put(
  { call, emulator }: TestService,
  id: string,
  fields: Record<string, unknown> = {},
): Promise<Answer> {
  const headers = { "if-match": `"${emulator.instances.get(id)?.revision}"` };
  return call("PUT", `/v1/instances/${id}`, { ...update, ...fields }, headers);
}

describe.for(["at-once", "when-done"] as const)("while an instance is created (%s)", (instanceVisible) => {
  test("its project can't be deleted", async () => {
    const { call, emulator, advance } = await open({ instanceVisible });
    const { id } = emulator.addProject();
    await call("POST", "/v1/instances", instanceBody(id));
    expect(outcome(await call("DELETE", `/v1/projects/${id}`))).toEqual([409, "project_not_empty"]);
    advance(1000);
    expect([...emulator.instances.values()].map(({ fields }) => fields.project)).toEqual([id]);
    expect(emulator.projects.has(id)).toBe(true);
  });

  test("a project whose last creation failed can be deleted", async () => {
    const { call, emulator, advance } = await open({ instanceVisible });
    const { id } = emulator.addProject();
    emulator.failNextOperation({ kind: "create" });
    await call("POST", "/v1/instances", instanceBody(id));
    advance(1000);
    expect((await call("DELETE", `/v1/projects/${id}`)).status).toBe(204);
  });

  test("a second instance of the same name is rejected if names are unique", async () => {
    const { call, emulator } = await open({ instanceVisible, uniqueNames: true });
    const body = instanceBody(emulator.addProject().id);
    expect((await call("POST", "/v1/instances", body)).status).toBe(202);
    expect(outcome(await call("POST", "/v1/instances", body))).toEqual([409, "name_taken"]);
    const elsewhere = instanceBody(emulator.addProject().id);
    expect((await call("POST", "/v1/instances", elsewhere)).status).toBe(202);
  });
});

test("an instance can't be updated or deleted during its creation", async () => {
  const service = await open({ deleteObject: 202 });
  const { call, emulator, advance } = service;
  await call("POST", "/v1/instances", instanceBody(emulator.addProject().id));
  const [id = ""] = emulator.instances.keys();
  expect(outcome(await put(service, id))).toEqual([409, "being_created"]);
  expect(outcome(await call("DELETE", `/v1/instances/${id}`))).toEqual([409, "being_created"]);
  advance(1000);
  expect((await put(service, id)).status).toBe(200);
  expect((await call("DELETE", `/v1/instances/${id}`)).status).toBe(202);
});

test("two projects of the same name can't be created at the same time if names are unique", async () => {
  const { call } = await open({ projectPost: 202, uniqueNames: true });
  const body = { name: "shop", region: "eu-1" };
  expect((await call("POST", "/v1/projects", body)).status).toBe(202);
  expect(outcome(await call("POST", "/v1/projects", body))).toEqual([409, "name_taken"]);
});

test("the new name in a running update is taken if names are unique, until the update fails", async () => {
  const service = await open({ putReply: 202, uniqueNames: true });
  const { project, instance } = service.given({ name: "web" });
  const body = instanceBody(project, { name: "api" });
  service.emulator.failNextOperation({ kind: "update" });
  await put(service, instance, { name: "api" });
  expect(outcome(await service.call("POST", "/v1/instances", body))).toEqual([409, "name_taken"]);
  service.advance(1000);
  expect((await service.call("POST", "/v1/instances", body)).status).toBe(202);
});

test("nothing can be created in a project that is being deleted, and a second DELETE gets the same operation", async () => {
  const { call, emulator, advance } = await open({ deleteObject: 202 });
  const { id } = emulator.addProject();
  const first = await call("DELETE", `/v1/projects/${id}`);
  expect(outcome(await call("POST", "/v1/instances", instanceBody(id)))).toEqual([409, "being_deleted"]);
  const second = await call("DELETE", `/v1/projects/${id}`);
  expect([second.status, second.body.id]).toEqual([202, first.body.id]);
  advance(1000);
  expect([emulator.projects.size, emulator.instances.size]).toEqual([0, 0]);
});

test("an update fails if its instance is deleted before the update ends", async () => {
  for (const deleteObject of [204, 202] as const) {
    const service = await open({ putReply: 202, deleteObject });
    const { call, given, advance } = service;
    const { instance } = given();
    const running = await put(service, instance);
    await call("DELETE", `/v1/instances/${instance}`);
    advance(1000);
    const { body } = await call("GET", `/v1/operations/${running.body.id}`);
    expect(body).toMatchObject({ status: "failed", error: { code: "instance_deleted" } });
  }
});

test("an update keeps fields that another user sets while it is running", async () => {
  const service = await open({ putReply: 202 });
  const { emulator, given, advance } = service;
  const { instance } = given();
  await put(service, instance);
  emulator.edit(instance, { backup: "daily" });
  advance(1000);
  expect(emulator.instances.get(instance)?.fields).toMatchObject({ backup: "daily", flavor: "m1.large" });
});
