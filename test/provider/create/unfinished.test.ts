import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import { existingProject } from "../service";

describe("a creation that was killed", () => {
  test("is on disk before its request, and so is the reply as soon as it arrives", async () => {
    const seen: unknown[] = [];
    const { service, web } = await oneInstance({
      onRequest: ({ method }) => {
        if (method === "POST") seen.push(readdirSync(service.journalDir).length);
      },
    });
    await web.killedUp();
    const [post] = web.posts();
    const [operation] = service.emulator.operations.keys();
    expect(seen).toEqual([1]);
    expect(await web.journalEntry()).toMatchObject({
      key: post?.headers["idempotency-key"],
      body: post?.body,
      operation: { id: operation },
    });
  });

  test("is awaited by the next `up` without another request if the journal has the reply", async () => {
    const { web } = await oneInstance();
    await web.killedUp();
    expect(await web.up()).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.expectOne();
  });

  test("is resent with its key and its body if the journal has no reply, even if the program has changed", async () => {
    const { service, web } = await oneInstance();
    await web.killedBeforeReply();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    const [first, again, ...more] = web.posts();
    expect(more).toEqual([]);
    expect(again?.body).toBe(first?.body);
    expect(web.keys()).toBe(1);
    const id = await web.expectOne();
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");
  });

  test("keeps its key and its generated name in the state, and the preview shows what `up` uses", async () => {
    const { web } = await oneInstance();
    await web.killedUp({ name: undefined });
    const { key } = await web.journalEntry();
    const preview = await (await web.process()).check({}, web.news({ name: undefined, __key: "unknown" }));
    expect(preview.inputs).toMatchObject({ name: `web-${key.slice(0, 7)}`, __key: key });
    expect(await web.up({ name: undefined })).toBeUndefined();
    expect(web.inState().inputs).toMatchObject({ name: `web-${key.slice(0, 7)}`, __key: key });
    await web.expectOne();
  });

  test("is resumed without overwriting the SSH keys that somebody has set since", async () => {
    const { service, web } = await oneInstance();
    await web.killedUp({ sshKeys: [SSH_KEY] });
    await service.clock.sleep(60_000);
    const [id = ""] = service.emulator.instances.keys();
    service.emulator.edit(id, { ssh_keys: ["ssh-rsa AAAAB3 theirs"] });
    expect(await web.up({ sshKeys: [SSH_KEY] })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields.ssh_keys).toEqual(["ssh-rsa AAAAB3 theirs"]);
  });

  test("is resumed even if the run that resumed it was killed, too", async () => {
    const { service, web } = await oneInstance();
    await web.killedBeforeReply();
    await web.killedUp();
    await web.killedUp({ flavor: "m1.large" });
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    const id = await web.expectOne();
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");
  });

  test("is in the state if the service rejects the program's later change", async () => {
    const { service, web } = await oneInstance();
    await web.killedUp();
    expect(await web.up({ flavor: "nope" })).toContain("flavor 'nope' does not exist");
    const [id] = service.emulator.instances.keys();
    expect(web.inState()).toMatchObject({ id, state: { flavor: "m1.small" } });
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(web.posts()).toHaveLength(1);
  });

  test("leaves nothing behind if the next `up` needs a different object", async () => {
    const { service, web } = await oneInstance();
    await web.killedUp();
    const [first] = service.emulator.instances.keys();
    expect(await web.up({ image: "debian-14" })).toBeUndefined();
    const id = await web.expectOne();
    expect(id).not.toBe(first);
    expect(web.keys()).toBe(2);
    expect(service.emulator.instances.get(id)?.fields.image).toBe("debian-14");
  });

  test("is looked up in its own project, even if the program names another one now and only lists show it", async () => {
    const { service, web } = await oneInstance({ behaviour: { getObject: 405 } });
    await web.killedUp();
    const { id: project } = service.emulator.addProject();
    expect(await web.up({ project })).toBeUndefined();
    const id = await web.expectOne();
    expect(service.emulator.instances.get(id)?.fields.project).toBe(project);
  });
});

describe("the next `up` creates another object with another key if the killed creation has led to", () => {
  test("an operation that failed", async () => {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create" });
    await web.killedUp();
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(2);
    await web.expectOne();
  });

  test("an operation that failed and left its object, which is deleted", async () => {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    await web.killedUp();
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(2);
    await web.expectOne();
  });

  test("an instance that somebody has deleted since", async () => {
    const { service, web } = await oneInstance();
    await web.killedUp();
    service.emulator.finishOperations();
    service.emulator.remove([...service.emulator.instances.keys()][0] ?? "");
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(2);
    await web.expectOne();
  });

  test("an instance that the service still returns with the status deleted", async () => {
    const { service, web } = await oneInstance({ behaviour: { softDelete: "deleted" } });
    await web.killedUp();
    service.emulator.finishOperations();
    const [id = ""] = service.emulator.instances.keys();
    service.emulator.edit(id, { status: "deleted" });
    expect(await web.up()).toBeUndefined();
    expect(web.inState().id).not.toBe(id);
  });

  test("a failure, and every machine derives the same next key, so that nothing is created twice", async () => {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create" });
    await web.killedUp();
    const first = await web.journalEntry();
    service.emulator.finishOperations();
    await web.killedUp({}, { pauses: 1 });
    expect((await web.journalEntry()).key).not.toBe(first.key);
    // Another machine knows what the engine saved: the first key.
    await web.writeEntry(first);
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(2);
    await web.expectOne();
  });
});

describe("the object of a killed creation, if an `up` that needs a different object is interrupted while it deletes the object,", () => {
  const DIFFERENT = { image: "debian-14" };

  async function interruptedDeletion(behaviour: Partial<Behaviour> = { deleteObject: 202 }) {
    const { service, web } = await oneInstance({ behaviour });
    await web.killedUp();
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 60_000;
    const said = await web.up({ ...DIFFERENT, __timeouts: { create: "20s" } });
    const [first] = service.emulator.instances.keys();
    expect(first).toBeDefined();
    return { service, web, first, said };
  }

  test("is not adopted by the next `up`, which finishes the deletion and creates a new object", async () => {
    const { service, web, first, said } = await interruptedDeletion();
    expect(said).toContain("timed out after 20 s");
    expect(await web.up()).toBeUndefined();
    service.emulator.finishOperations();
    expect(await web.expectOne()).not.toBe(first);
    expect(web.keys()).toBe(2);
  });

  test("is also not adopted after the deletion has been interrupted again", async () => {
    const { web, first } = await interruptedDeletion();
    expect(await web.up({ __timeouts: { create: "20s" } })).toContain("timed out after 20 s");
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).not.toBe(first);
  });

  test("is not adopted if the reply to the deletion was lost", async () => {
    const { service, web } = await oneInstance({ behaviour: { deleteObject: 202 } });
    await web.killedUp();
    service.emulator.finishOperations();
    const [first] = service.emulator.instances.keys();
    service.emulator.behaviour.operationMs = 60_000;
    const lost = service.emulator.fail({ method: "DELETE", kind: "lost-reply", times: 99 });
    expect(await web.up(DIFFERENT)).toContain("the reply was lost");
    lost.off();
    expect(await web.up()).toBeUndefined();
    service.emulator.finishOperations();
    expect(await web.expectOne()).not.toBe(first);
  });

  test("is adopted if the service turns out not to support the deletion that an earlier run has recorded", async () => {
    const { service, web } = await oneInstance({ behaviour: { deleteObject: 405 } });
    await web.killedUp();
    service.emulator.finishOperations();
    await web.journal.mark((await web.journalEntry()).key, "discarded");
    expect(await web.up()).toContain("doesn't support deleting instances");
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("is adopted if the service has rejected the deletion", async () => {
    const { web, first, said } = await interruptedDeletion({ deleteObject: 405 });
    expect(said).toContain("doesn't support deleting instances");
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(first);
  });
});

/** Returns an instance whose id is in the state, and that the service hides until its creation ends. */
async function hidden({ fails = false } = {}) {
  const behaviour = { operationMs: 60_000, resultLink: "early", instanceVisible: "when-done" } as const;
  const { service, web } = await oneInstance({ behaviour });
  if (fails) service.emulator.failNextOperation({ kind: "create" });
  await web.up({ __timeouts: { create: "5s" } });
  expect(web.inState().id).toMatch(/^ins-/);
  expect(service.emulator.instances.size).toBe(0);
  return { service, web };
}

describe("an instance that the service hides until its creation ends", () => {
  test("is kept by a refresh", async () => {
    const { service, web } = await hidden();
    const before = web.inState();
    await web.refresh();
    expect(web.inState()).toMatchObject({ id: before.id, state: before.state });
    service.emulator.finishOperations();
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("is deleted once it exists", async () => {
    const { service, web } = await hidden();
    expect(await web.destroy()).toBeUndefined();
    service.emulator.finishOperations();
    expect(service.emulator.instances.size).toBe(0);
    expect([...service.emulator.operations.values()].map(({ outcome }) => outcome)).toEqual(["done"]);
  });

  test("is removed by a refresh if its creation failed", async () => {
    const { service, web } = await hidden({ fails: true });
    service.emulator.finishOperations();
    await web.refresh();
    expect(web.saved).toBeUndefined();
  });

  test("is kept by a refresh if its operation can no longer be found, because it may still be created", async () => {
    const { service, web } = await hidden();
    const [operation] = service.emulator.operations.keys();
    service.emulator.remove(operation ?? "");
    const { id } = web.inState();
    await web.refresh();
    expect(web.inState().id).toBe(id);
  });
});

const LONG = { operationMs: 3_600_000 };
const SHORT = { __timeouts: { create: "5s" } };

/** Interrupts a creation without a reply or with a running operation, and damages its record in the state. */
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
  ["invalid JSON", "{"],
  ["a list", "[]"],
  ["null", "null"],
  ["a number", 5],
])("a recorded body that is %s", (_what, body) => {
  test("isn't sent, and the error says what to do with the object", async () => {
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
])("a damaged `%s` in the record of an interrupted creation isn't used", async (name, value) => {
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

describe("a retried creation that another machine has finished", () => {
  const SHORT = { __timeouts: { create: "5s" } };
  async function finishedElsewhere() {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    service.emulator.failNextOperation({ kind: "create" });
    for (const _ of ["first", "retry"]) {
      expect(await web.up(SHORT)).toContain("timed out");
      service.emulator.finishOperations();
    }
    service.emulator.behaviour.operationMs = 0;
    expect(await web.up({}, { onAnotherMachine: true })).toBeUndefined();
    return { service, web, id: web.inState().id };
  }

  test("is no change on the first machine", async () => {
    const { web, id } = await finishedElsewhere();
    const provider = await web.process();
    const { state, inputs } = web.inState();
    const checked = (await provider.check(inputs, web.news())).inputs;
    expect(await provider.diff(id, state, checked)).toMatchObject({ changes: false });
  });

  test("isn't deleted by the first machine before its replacement exists", async () => {
    const { service, web, id } = await finishedElsewhere();
    service.emulator.fail({ method: "POST", kind: "status", status: 422 });
    expect(await web.up({ image: "debian-99" }, { deleteBeforeReplace: false })).toContain("(422)");
    expect([...service.emulator.instances.keys()]).toEqual([id]);
  });
});
