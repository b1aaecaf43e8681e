import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { type OneInstance, oneInstance } from "../one-instance";
import { failureOf, type Service } from "../service";

const FOLLOWING = { ids: "slug", idsFollowNames: true } as const;

interface Case extends Partial<Behaviour> {
  readonly reply?: "lost";
}

/** The ways in which a service may answer the update that renames an instance. */
const answers: readonly Case[] = [
  {},
  { getObject: 405 },
  { putReply: 204 },
  { putReply: 204, getObject: 405 },
  { putReply: 202 },
  { putReply: 202, acceptedReply: "location" },
  { putReply: 202, acceptedReply: "bare" },
  { writeReply: "slim" },
  { reply: "lost" },
  { reply: "lost", getObject: 405, putReply: 202 },
];

async function renaming({ reply, ...behaviour }: Case): Promise<{ service: Service; web: OneInstance }> {
  const { service, web } = await oneInstance({ behaviour: FOLLOWING });
  await web.up({ name: "web" });
  Object.assign(service.emulator.behaviour, behaviour);
  if (reply === "lost") service.emulator.fail({ method: "PUT", kind: "lost-reply" });
  return { service, web };
}

describe.each(answers)("an instance that gets another id with its new name: %j", (answer) => {
  async function renamed() {
    const { service, web } = await renaming(answer);
    const said = [await web.up({ name: "front" }), await web.up({ name: "front" })];
    return { service, web, said };
  }

  test("causes an error in each update, which names that id, and no second instance", async () => {
    const { service, said } = await renamed();
    for (const message of said) {
      expect(message).toContain("the id of instance web changed with its new name, to front");
      expect(message).toContain("Don't recreate it: it exists under the id front");
      expect(message).not.toContain("pulumi refresh");
    }
    expect([...service.emulator.instances.keys()]).toEqual(["front"]);
  });

  test("is found by a refresh", async () => {
    const { web } = await renamed();
    await web.refresh();
    expect(web.inState()).toMatchObject({ id: "front", inputs: { name: "front" } });
    expect(web.inState().state).not.toHaveProperty("__pending");
    expect(await web.up({ name: "front" })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
  });

  test("is deleted under the new id", async () => {
    const { service, web } = await renamed();
    await web.destroy();
    expect(service.emulator.instances.size).toBe(0);
  });
});

describe("an instance whose update is interrupted while it gets another id", () => {
  /** Its operation goes on after the `up`, or its result can't be read, or nothing but the PUT gets through. */
  const operation = { putReply: 202, operationMs: 3_600_000 } as const;
  const ways: readonly Case[] = [operation, { putReply: 204 }];
  const unsure: Case = { putReply: 204, reply: "lost" };

  async function interrupted(way: Case) {
    const { service, web } = await renaming(way);
    const { emulator } = service;
    const isAfterPut = (): boolean => emulator.requests.some(({ method }) => method === "PUT");
    const when = (): boolean => way.operationMs === undefined && isAfterPut();
    const only = way.reply === "lost" ? {} : { method: "GET" };
    const outage = emulator.fail({ kind: "status", ...only, when, times: Number.POSITIVE_INFINITY });
    expect(await web.up({ name: "front", __timeouts: { update: "10s" } })).toContain("Run `pulumi up` again");
    outage.off();
    emulator.finishOperations();
    return { service, web };
  }

  test.each(ways)("is named by the next update: %j", async (way) => {
    const { service, web } = await interrupted(way);
    expect(await web.up({ name: "front" })).toContain("it exists under the id front");
    expect(service.emulator.instances.size).toBe(1);
  });

  test.each(ways)("is found by a refresh: %j", async (way) => {
    const { web } = await interrupted(way);
    await web.refresh();
    expect(web.inState()).toMatchObject({ id: "front", inputs: { name: "front" } });
    expect(await web.up({ name: "front" })).toBeUndefined();
    await web.expectOne();
  });

  test.each(ways)("is deleted under that id: %j", async (way) => {
    const { service, web } = await interrupted(way);
    await web.destroy();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("is only reported if it is unknown whether the service has accepted the update", async () => {
    const { service, web } = await interrupted(unsure);
    await web.refresh();
    expect(web.inState().id).toBe("web");
    expect(await web.up({ name: "front" })).toContain("the list contains front with that name");
    expect(await web.destroy()).toContain("the list contains front with that name");
    expect([...service.emulator.instances.keys()]).toEqual(["front"]);
  });
});

test("another instance that was created in the same second is not confused with one whose update was not accepted", async () => {
  const { service, web } = await oneInstance({ behaviour: { ...FOLLOWING, operationMs: 0 } });
  await web.up({ name: "a" });
  const { emulator } = service;
  const other = emulator.addInstance({ name: "b", project: web.project });
  const second = (ms = 0) => Math.floor(ms / 1_000);
  const { createdAt } = web.inState().state;
  expect(second(Date.parse(String(createdAt)))).toBe(second(emulator.instances.get(other.id)?.createdAt));
  const fault = emulator.fail({ method: "PUT", kind: "status", times: Number.POSITIVE_INFINITY });
  expect(await web.up({ name: "b", __timeouts: { update: "10s" } })).toContain("Run `pulumi up` again");
  fault.off();
  emulator.remove(web.inState().id);
  await web.refresh();
  expect(web.inState().id).not.toBe(other.id);
  expect(await web.destroy()).toContain(`the list contains ${other.id} with that name`);
  expect([...emulator.instances.keys()]).toEqual([other.id]);
});

describe("an instance that is not found after an update of its name", () => {
  test("is reported, but not adopted or deleted, if only its name identifies it", async () => {
    const { service, web } = await renaming({ putReply: 204 });
    service.emulator.behaviour.spelling = (now) => ({ ...now, created_at: null });
    await web.refresh();
    expect(await web.up({ name: "front" })).toContain("the list contains front with that name");
    await web.refresh();
    expect(web.inState()).toMatchObject({ id: "web", state: { __pending: { asked: { name: "front" } } } });
    expect(await web.up({ name: "front" })).toContain("the list contains front with that name");
    expect(await web.destroy()).toContain("the list contains front with that name");
    expect([...service.emulator.instances.keys()]).toEqual(["front"]);
  });

  test("is not confused with an older or newer one of that name", async () => {
    const { service, web } = await renaming({ putReply: 204, ids: "prefixed" });
    await service.clock.sleep(60_000);
    const { emulator } = service;
    const other = emulator.addInstance({ name: "front", project: web.project });
    const isAfterPut = ({ method }: { method: string }): boolean => {
      if (method === "GET" && emulator.requests.some((one) => one.method === "PUT")) {
        if (emulator.instances.has("web")) emulator.remove("web");
      }
      return false;
    };
    emulator.fail({ kind: "reset", when: isAfterPut });
    expect(await web.up({ name: "front" })).toContain(`the list contains ${other.id} with that name`);
    await web.refresh();
    expect(web.inState().id).toBe("web");
    expect(await web.destroy()).toContain(`the list contains ${other.id} with that name`);
    expect([...emulator.instances.keys()]).toEqual([other.id]);
  });

  test("requires no list if it is found", async () => {
    const { service, web } = await renaming({ putReply: 204, idsFollowNames: false });
    service.emulator.clearRequests();
    expect(await web.up({ name: "front" })).toBeUndefined();
    expect(service.emulator.requests.map(({ method }) => method)).toEqual(["GET", "PUT", "GET"]);
  });

  test("is kept by a refresh, because a list may lag behind", async () => {
    const { service, web } = await renaming({ putReply: 204, lagMs: 60_000 });
    const message = await web.up({ name: "front" });
    expect(message).toContain("the list contains no object with that name, but the list may be outdated");
    expect(message).not.toContain("pulumi refresh");
    await web.refresh();
    expect(web.inState().id).toBe("web");
    await service.clock.sleep(60_000);
    await web.refresh();
    expect(web.inState().id).toBe("front");
  });
});

describe("an instance that is not found under its other id", () => {
  async function withFormerId() {
    const { service, web } = await renaming({});
    const { createdAt } = web.inState().state;
    await web.up({ name: "front" });
    const { emulator } = service;
    emulator.remove("front");
    emulator.behaviour.idReuse = true;
    await service.clock.sleep(60_000);
    emulator.addInstance({ name: "web", project: web.project });
    const isBack = () => {
      emulator.behaviour.spelling = (now) => ({ ...now, created_at: createdAt });
    };
    return { emulator, web, isBack };
  }

  test("is found and deleted under its former one, if it was created when the state says", async () => {
    const { emulator, web, isBack } = await withFormerId();
    isBack();
    await web.refresh();
    expect(web.inState()).toMatchObject({ id: "web", state: { name: "web" } });
    await web.destroy();
    expect(emulator.instances.size).toBe(0);
  });

  test("is deleted under its former one without a refresh", async () => {
    const { emulator, web, isBack } = await withFormerId();
    isBack();
    await web.destroy();
    expect(emulator.instances.size).toBe(0);
  });

  test("is not confused with another one that has its former id now", async () => {
    const { emulator, web } = await withFormerId();
    await web.refresh();
    expect(await web.destroy()).toContain(
      "instance front can't be found, and web may now be a different instance",
    );
    expect([...emulator.instances.keys()]).toEqual(["web"]);
  });
});

describe("an instance whose id doesn't depend on its name, and that somebody deletes right after its update,", () => {
  test.each(["lost-reply", "reset"] as const)("is recreated after a refresh: %s", async (kind) => {
    const { service, web } = await oneInstance({ behaviour: { putReply: 204 } });
    const { emulator } = service;
    await web.up({ name: "web" });
    emulator.fail({ method: "PUT", kind });
    const { id } = web.inState();
    const isDeleted = (): false => {
      if (emulator.instances.get(id)?.fields.name === "front") emulator.remove(id);
      return false;
    };
    emulator.fail({ kind: "reset", when: isDeleted });
    expect(await web.up({ name: "front" })).toContain(
      "Run `pulumi refresh` to remove the missing object from the state",
    );
    await web.refresh();
    expect(await web.up({ name: "front" })).toBeUndefined();
    expect([...emulator.instances.values()].map(({ fields }) => fields.name)).toEqual(["front"]);
  });
});

describe("an update that was killed after it had renamed the instance", () => {
  async function afterKill(more: Properties = {}) {
    const { service, web } = await renaming({});
    const state = structuredClone(web.inState().state);
    await web.up({ name: "front" });
    const { instances } = await service.newProviders();
    const { inputs } = web.inState();
    return failureOf(instances.update("web", state, { ...inputs, name: "front", ...more }));
  }

  test("reports the new id, and doesn't advise to recreate the instance", async () => {
    const error = await afterKill();
    expect(error.message).toContain("the list contains front with that name");
    expect(error.message).not.toContain("to recreate the object");
  });

  test("records a secret name as a secret", async () => {
    const error = await afterKill({ __secrets: ["name"] });
    const { __pending } = Object(error).properties;
    expect(Object(__pending).secrets).toEqual(["name"]);
  });
});

/** A service that derives ids from names, and returns names in lower case and trimmed. */
const NORMALIZING = { ids: "slug", idsFollowNames: true, normalize: ["lower-case", "trimmed"] } as const;

/** The ways in which the service may answer the update that renames the instance. */
const normalizingAnswers: readonly (Partial<Behaviour> & { readonly lost?: true })[] = [
  {},
  { putReply: 204 },
  { putReply: 202 },
  { putReply: 204, lost: true },
];

describe.each(normalizingAnswers)(
  "an instance that gets another id with a new name that is normalized: %j",
  (reply) => {
    async function renamed() {
      const { lost, ...behaviour } = reply;
      const { service, web } = await oneInstance({ behaviour: { ...NORMALIZING, ...behaviour } });
      await web.up({ name: "Web" });
      if (lost) service.emulator.fail({ method: "PUT", kind: "lost-reply" });
      expect(await web.up({ name: "Front " })).toContain("it exists under the id front");
      return { service, web };
    }

    test("is deleted under the new id", async () => {
      const { service, web } = await renamed();
      expect(await web.destroy()).toBeUndefined();
      expect(service.emulator.instances.size).toBe(0);
    });

    test("is found by a refresh", async () => {
      const { web } = await renamed();
      await web.refresh();
      expect(await web.up({ name: "Front " })).toBeUndefined();
      expect(await web.expectOne()).toBe("front");
    });

    test("is deleted if it is replaced", async () => {
      const { service, web } = await renamed();
      expect(await web.up({ name: "Front ", image: "debian-14" })).toBeUndefined();
      expect([...service.emulator.instances.keys()]).toEqual([web.inState().id]);
    });
  },
);
