import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { oneInstance } from "../one-instance";
import type { Service } from "../service";

const SHORT = { __timeouts: { update: "10s" } };

const ids = ({ emulator }: Service) => [...emulator.instances.keys()].sort();
const names = ({ emulator }: Service) => [...emulator.instances.values()].map(({ fields }) => fields.name);

async function namedWeb(behaviour: Partial<Behaviour> = {}) {
  const following = { ids: "slug", idsFollowNames: true, idReuse: true } as const;
  const { service, web } = await oneInstance({ behaviour: { ...following, ...behaviour } });
  await web.up({ name: "web" });
  await service.clock.sleep(60_000);
  return { service, web };
}

type Named = Awaited<ReturnType<typeof namedWeb>>;

/** Creates somebody else's instance with the former id as soon as the PUT has renamed the one of the stack. */
function takenAfterPut({ service: { emulator }, web }: Named): void {
  let isTaken = false;
  const when = () => {
    if (!isTaken && emulator.requests.some(({ method }) => method === "PUT")) {
      isTaken = true;
      emulator.addInstance({ name: "web", project: web.project });
    }
    return false;
  };
  emulator.fail({ kind: "reset", method: "GET", when });
}

describe("an instance with a new id, whose former id belongs to another instance now,", () => {
  /** Its operation ends after the update has timed out. */
  async function timedOut() {
    const { service, web } = await namedWeb({ putReply: 202, operationMs: 0 });
    service.emulator.behaviour.operationMs = 3_600_000;
    expect(await web.up({ ...SHORT, name: "front" })).toContain("timed out after");
    service.emulator.finishOperations();
    service.emulator.addInstance({ name: "web", project: web.project });
    return { service, web };
  }

  test("is named by the next update if its operation names it", async () => {
    const { service, web } = await timedOut();
    expect(await web.up({ ...SHORT, name: "front" })).toContain("it exists under the id front");
    expect(await web.destroy()).toBeUndefined();
    expect(ids(service)).toEqual(["web"]);
  });

  test("is found by a refresh", async () => {
    const { service, web } = await timedOut();
    await web.refresh();
    expect(web.inState()).toMatchObject({ id: "front", inputs: { name: "front" } });
    expect(await web.up({ ...SHORT, name: "front" })).toBeUndefined();
    expect(ids(service)).toEqual(["front", "web"]);
  });

  test("is deleted, and the other one isn't", async () => {
    const { service, web } = await timedOut();
    expect(await web.destroy()).toBeUndefined();
    expect(ids(service)).toEqual(["web"]);
  });

  test("is deleted, even if its operation reports the former id", async () => {
    const { service, web } = await timedOut();
    for (const operation of service.emulator.operations.values())
      if (operation.kind === "update") Object.assign(operation, { resultPath: "/v1/instances/web" });
    expect(await web.destroy()).toBeUndefined();
    expect(ids(service)).toEqual(["web"]);
  });

  test.each([{}, { putReply: 204 }, { writeReply: "slim" }, { putReply: 202, operationMs: 0 }] as const)(
    "is named by the update that has renamed it, and by the next one: %j",
    async (behaviour) => {
      const scene = await namedWeb(behaviour);
      takenAfterPut(scene);
      for (const _ of [1, 2])
        expect(await scene.web.up({ name: "front" })).toContain("it exists under the id front");
      expect(names(scene.service).sort()).toEqual(["front", "web"]);
      expect(await scene.web.destroy()).toBeUndefined();
      expect(ids(scene.service)).toEqual(["web"]);
    },
  );

  test.each(["up", "refresh", "destroy"] as const)(
    "is distinguished by its creation date, and only reported, if the replies to the update are lost: %s",
    async (command) => {
      const scene = await namedWeb({ putReply: 204 });
      const { service, web } = scene;
      const { emulator } = service;
      const lost = emulator.fail({ method: "PUT", kind: "lost-reply" });
      const when = () => emulator.requests.some(({ method }) => method === "PUT");
      const outage = emulator.fail({ kind: "status", when, times: Number.POSITIVE_INFINITY });
      expect(await web.up({ ...SHORT, name: "front" })).toContain("Run `pulumi up` again");
      lost.off();
      outage.off();
      emulator.addInstance({ name: "web", project: web.project });
      if (command === "up") await web.up({ name: "front" });
      else await web[command]();
      expect(await web.destroy()).toContain("the list contains front with that name");
      expect(ids(service)).toEqual(["front", "web"]);
      expect(names(service).sort()).toEqual(["front", "web"]);
    },
  );
});

test("an id that the operation of a rename names, and that the service doesn't show, changes nothing", async () => {
  const { service, web } = await namedWeb({ idsFollowNames: false, putReply: 202 });
  const { emulator } = service;
  const { operations } = emulator;
  const rename = () => {
    for (const operation of operations.values())
      if (operation.kind === "update") Object.assign(operation, { resultPath: "/v1/instances/job-7" });
    return false;
  };
  emulator.fail({ kind: "reset", method: "GET", when: rename, times: Number.POSITIVE_INFINITY });
  expect(await web.up({ name: "front" })).toBeUndefined();
  expect(web.inState()).toMatchObject({ id: "web", state: { name: "front" } });
});

test.each(["web", "i"])(
  "a refresh and a destroy don't take another instance of the new name if the rename of %s has failed",
  async (name) => {
    const { service, web } = await oneInstance({ behaviour: { ids: "slug", putReply: 202, operationMs: 0 } });
    const { emulator } = service;
    await web.up({ name });
    const { id } = web.inState();
    const other = emulator.addInstance({ name: "front", project: web.project }).id; // created in the same second
    emulator.failNextOperation({ kind: "update" });
    expect(await web.up({ name: "front" })).toContain("code operation_failed");
    emulator.remove(id);
    await web.refresh();
    expect(web.inState().id).toBe(id);
    expect(await web.destroy()).toContain("can't be found after an update of its name");
    expect(ids(service)).toEqual([other]);
  },
);

test("an instance whose name has no Latin letters is removed by a refresh after somebody has deleted it", async () => {
  const { service, web } = await oneInstance();
  await web.up({ name: "сервер" });
  service.emulator.fail({ method: "PUT", kind: "lost-reply", times: 8 });
  await web.up({ name: "сервер2" });
  service.emulator.remove(web.inState().id);
  await web.refresh();
  expect(web.saved).toBeUndefined();
});

test("an instance is found under its new id if ids contain only the Latin letters of names", async () => {
  const { service, web } = await namedWeb();
  await web.up({ name: "web-сервер" });
  await web.destroy();
  expect(await web.up({ name: "web-сервер" })).toBeUndefined();
  expect(web.inState().id).toBe("web");
  service.emulator.fail({ method: "PUT", kind: "lost-reply" });
  await web.up({ name: "front-сервер" });
  await web.refresh();
  expect(web.saved).toBeDefined();
  expect(service.emulator.instances.size).toBe(1);
});

describe("an instance whose id is a transliteration of its name,", () => {
  async function renamed() {
    const { service, web } = await namedWeb({ putReply: 204 });
    service.emulator.edit("web", { name: "паутина" });
    await web.refresh();
    await web.up({ name: "front" });
    return { service, web };
  }

  test("is found under its new id by a refresh", async () => {
    const { service, web } = await renamed();
    await web.refresh();
    expect(await web.up({ name: "front" })).toBeUndefined();
    expect(ids(service)).toEqual(["front"]);
  });

  test("is deleted under its new id", async () => {
    const { service, web } = await renamed();
    expect(await web.destroy()).toBeUndefined();
    expect(ids(service)).toEqual([]);
  });
});
