import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { existingProject } from "../service";

const LONG = { operationMs: 3_600_000 };
const SHORT = { __timeouts: { create: "5s" } };

/** A creation whose answer was lost, or with an operation that goes on; of what the state keeps, some is damaged. */
async function cutOff(damage: Properties, isLost: boolean) {
  const { service, web } = await oneInstance({ behaviour: LONG });
  const lost = isLost ? service.emulator.fail({ method: "POST", kind: "lost-reply", times: 99 }) : undefined;
  await web.up(SHORT);
  lost?.off();
  const { id, inputs, state } = web.inState();
  const pending: object = Object(state.__pending);
  web.saved = { id, inputs, state: { ...state, __pending: { ...pending, ...damage } } };
  service.emulator.finishOperations();
  service.emulator.clearRequests();
  const again = () => web.up(SHORT, { onAnotherMachine: true });
  return { service, web, again };
}

describe.each([
  ["no JSON", "{"],
  ["no map", "[]"],
  ["null", "null"],
  ["no text", 5],
])("a recorded body that is %s", (_what, body) => {
  test("is not sent, and the error says what to do with the object", async () => {
    const { service, web, again } = await cutOff({ body }, true);
    const said = await again();
    expect(said).toContain("the record of an interrupted creation is damaged");
    expect(said).toContain("recover --forget <urn>");
    expect(web.posts()).toEqual([]);
    expect(service.emulator.instances.size).toBe(1);
  });

  test("causes no deletion, because the object may be the declared one", async () => {
    const { service, web, again } = await cutOff({ body }, false);
    const [id] = service.emulator.instances.keys();
    const said = await again();
    expect(said).toContain(`created instance ${id}, but the record of the creation is damaged`);
    expect(service.emulator.requests.filter(({ method }) => method !== "GET")).toEqual([]);
    expect(web.inState().id).toMatch(/^operation\//);
  });
});

test.each([
  ["key", "no UUID\n"],
  ["at", 1e300],
])("a damaged %s is not used", async (name, value) => {
  const { web, again } = await cutOff({ [name]: value }, true);
  expect(await again()).toMatch(/an? (creation was interrupted|interrupted creation)/);
  expect(web.posts()).toEqual([]);
});

test("a damaged journal entry of an instance doesn't prevent the deletion of its project", async () => {
  const { service, web } = await oneInstance();
  const project = await existingProject(service);
  const damaged = { key: "k", resource: "k", body: "{", at: Date.now() };
  await web.writeEntry({ urn: `${web.news().__urn}`, endpoint: "", backend: "", ...damaged });
  const { projects } = await service.newProviders();
  await projects.delete(project.id, project.state);
  expect(service.emulator.projects.has(project.id)).toBe(false);
});
