import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Emulator, startEmulator } from "../../../src/emulator";
import { UNKNOWN } from "../../../src/model/resource-fields";
import { oneInstance, URN } from "../one-instance";
import type { ServiceOptions } from "../service";

const SHORT = { __timeouts: { create: "5s", update: "5s" } };

/** A stack with one instance that is not made yet, and another service with its settings. */
async function services(behaviour: ServiceOptions["behaviour"] = {}) {
  const us: Emulator = await startEmulator({ behaviour: { operationMs: 0 } });
  onTestFinished(() => us.stop());
  const settings = { endpoint: us.endpoint, token: us.token };
  const { service, web } = await oneInstance({
    behaviour: { operationMs: 3_600_000, ...behaviour },
  });
  return { us, there: { settings }, service, web };
}

/** An instance whose creation goes on at its service. */
async function cutOff(behaviour: ServiceOptions["behaviour"] = {}) {
  const { web, ...others } = await services(behaviour);
  expect(await web.up(SHORT)).toContain("timed out after");
  return { web, ...others };
}

test("an unfinished creation with its object's id is not looked up at another service, and doesn't count as failed", async () => {
  const { us, there, service, web } = await cutOff({ resultLink: "early" });
  const { id } = web.inState();
  expect(await web.up(SHORT, there)).toContain("the state records instance");
  expect(us.requests).toEqual([]);
  expect(web.inState().state.__pending).not.toHaveProperty("failed");
  service.emulator.finishOperations();
  expect(await web.up(SHORT)).toBeUndefined();
  expect(await web.expectOne()).toBe(id);
});

test("an unfinished creation with its operation is neither looked up nor repeated at another service", async () => {
  const { us, there, service, web } = await cutOff();
  expect(await web.up(SHORT, there)).toContain("the state records instance");
  expect(us.requests).toEqual([]);
  service.emulator.finishOperations();
  expect(await web.up(SHORT)).toBeUndefined();
  await web.expectOne();
});

describe("a killed creation whose resource then gets another endpoint", () => {
  async function killed() {
    const { web, ...others } = await services();
    await web.killedUp();
    return { web, ...others };
  }

  test("isn't repeated there, and the error says how to finish it and how to give it up", async () => {
    const { us, there, service, web } = await killed();
    const message = await web.up({}, there);
    expect(message).toContain(
      `an interrupted creation of this instance with the default provider at ${service.emulator.endpoint} may have created an object there`,
    );
    expect(message).toContain(`the resource now uses the default provider at ${us.endpoint}`);
    expect(message).toContain(`recover --forget <urn>`);
    expect(us.requests).toEqual([]);
    service.emulator.finishOperations();
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("also fails in the preview", async () => {
    const { there, web } = await killed();
    const news = { ...web.news(), __key: UNKNOWN };
    for (const [run, count] of [
      [there, 1],
      [{}, 0],
    ] as const)
      expect((await (await web.process(run)).check({}, news)).failures).toHaveLength(count);
  });

  test("can be replaced once the entry is removed", async () => {
    const { us, there, web } = await killed();
    await web.removeEntry();
    expect(await web.up({ project: us.addProject().id }, there)).toBeUndefined();
    expect([...us.instances.keys()]).toEqual([web.inState().id]);
  });

  test("is found under a former URN", async () => {
    const { us, there, web } = await killed();
    const renamed = { __urn: `${URN}-2`, __aliasUrns: [URN] };
    expect(await web.up(renamed, there)).toContain("may have created an object there");
    expect(us.requests).toEqual([]);
  });

  test("isn't found under a former URN by a resource that exists and is replaced", async () => {
    const { us, there, web } = await services();
    const renamed = { __urn: `${URN}-2`, __aliasUrns: [URN], project: us.addProject().id };
    expect(await web.up(renamed, there)).toBeUndefined();
    const { saved } = web;
    web.saved = undefined;
    await web.killedUp(); // a new resource with the former name
    web.saved = saved;
    expect(await web.up({ ...renamed, image: "debian-14" }, there)).toBeUndefined();
  });

  test("is found if it should have replaced an object that the state no longer holds", async () => {
    const { us, there, web } = await killed();
    await web.writeEntry({ ...(await web.journalEntry()), replaces: randomUUID() });
    expect(await web.up({}, there)).toContain("may have created an object there");
    expect(us.requests).toEqual([]);
  });
});

describe("a killed creation whose service then moves", () => {
  /** The same service under another name, with its former address. */
  function moved({ service }: Pick<Awaited<ReturnType<typeof services>>, "service">) {
    const { endpoint } = service.emulator;
    return { settings: { endpoint: endpoint.replace("127.0.0.1", "localhost"), formerEndpoints: endpoint } };
  }

  test.each([
    ["a creation", {}],
    ["the replacement of what the state no longer holds", { replaces: randomUUID() }],
  ])("is finished at the new address: %s", async (_, more) => {
    const { service, web } = await services();
    await web.killedUp();
    await web.writeEntry({ ...(await web.journalEntry()), ...more });
    service.emulator.finishOperations();
    expect(await web.up({}, moved({ service }))).toBeUndefined();
    expect(web.keys()).toBe(1);
    expect(await web.journal.listEverywhere()).toEqual([]);
    expect([...service.emulator.instances.keys()]).toEqual([web.inState().id]);
  });

  test("is settled if the resource exists and no longer needs its replacement", async () => {
    const { service, web } = await services({ operationMs: 0 });
    const unnamed = { name: undefined }; // created before the deletion of what it replaces
    expect(await web.up(unnamed)).toBeUndefined();
    service.emulator.behaviour.operationMs = 3_600_000;
    await web.killedUp({ ...unnamed, image: "debian-14" });
    service.emulator.finishOperations();
    expect(service.emulator.instances.size).toBe(2);
    expect(await web.up(unnamed, moved({ service }))).toBeUndefined();
    expect(await web.journal.listEverywhere()).toEqual([]);
    expect([...service.emulator.instances.keys()]).toEqual([web.inState().id]);
  });
});

describe("a creation whose object isn't known", () => {
  test("can be given up if its address was wrong, and is then repeated at the right one", async () => {
    const { us, there, service, web } = await cutOff();
    const message = await web.up(SHORT, there);
    expect(message?.replace(/\s+/g, " ")).toContain(
      "If the old address was wrong and nothing was created there, run `npx pulumi-cloudinfra recover --forget <urn>`",
    );
    await web.giveUp();
    const asked = service.emulator.requests.length;
    expect(await web.up({ ...SHORT, project: us.addProject().id }, there)).toBeUndefined();
    expect(service.emulator.requests).toHaveLength(asked);
    expect([...us.instances.keys()]).toEqual([web.inState().id]);
    expect(web.replaced).toEqual([]);
  });

  test("is neither resumed nor requested by a deletion once it is given up", async () => {
    const { service, web } = await cutOff();
    await web.giveUp();
    const asked = service.emulator.requests.length;
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.requests).toHaveLength(asked);
  });
});
