import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";

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

/** An instance under its own id in the state, which the service does not show before it is made. */
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

  test("is kept by a refresh if its operation can no longer be found: it may still be created", async () => {
    const { service, web } = await hidden();
    const [operation] = service.emulator.operations.keys();
    service.emulator.remove(operation ?? "");
    const { id } = web.inState();
    await web.refresh();
    expect(web.inState().id).toBe(id);
  });
});

describe("an interrupted creation whose operation can't be found", () => {
  async function purged() {
    const { service, web } = await oneInstance();
    await web.killedUp();
    service.emulator.finishOperations();
    const [operation = ""] = service.emulator.operations.keys();
    const [id = ""] = service.emulator.instances.keys();
    return { service, web, operation, id };
  }

  test("is not repeated with another key, and the error lists the objects with its name", async () => {
    const { service, web, operation, id } = await purged();
    service.emulator.remove(operation);
    const before = await web.journalEntry();
    const said = await web.up();
    expect(said).toContain(`the service no longer reports operation ${operation}`);
    expect(said).toContain(`the service lists ${id} with the same name`);
    expect(said).toContain("adopt it with the `import` option");
    expect(service.emulator.instances.size).toBe(1);
    expect(web.keys()).toBe(1);
    expect(await web.journalEntry()).toEqual({ ...before, resumedBy: expect.any(String) });
  });

  test("lists the replacement of an object, although it has the former object's id", async () => {
    const { service, web } = await oneInstance({ behaviour: { ids: "slug", idReuse: true } });
    await web.up({ name: "web" });
    const { id } = web.inState();
    service.emulator.remove(id);
    await service.clock.sleep(60_000);
    const entry = await web.killedBeforeReply({ name: "web", image: "debian-14" });
    service.emulator.finishOperations();
    await web.writeEntry({ ...entry, at: 1 });
    const said = await web.up({ name: "web", image: "debian-14" });
    expect(said).toContain(`the service lists ${id} with the same name`);
  });

  test.each([403, 404])(
    "is resumed once a token may read it, if an earlier token may not (%d)",
    async (status) => {
      const { service, web, id } = await purged();
      const hidden = ["/v1/operations/", "/v1/projects", "/v1/instances"].map((path) =>
        service.emulator.fail({ path, kind: "status", status, times: Number.POSITIVE_INFINITY }),
      );
      expect(await web.up()).toContain(String(status));
      for (const fault of hidden) fault.off();
      expect(await web.up()).toBeUndefined();
      expect(await web.expectOne()).toBe(id);
      expect(web.keys()).toBe(1);
    },
  );
});

describe("a creation that failed after its timeout, and whose next attempt fails, too,", () => {
  test("is retried with a new key by each further `up` until it succeeds", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    const fail = () => service.emulator.failNextOperation({ kind: "create" });
    fail();
    await web.up({ __timeouts: { create: "5s" } });
    expect(web.inState().id).toMatch(/^operation\//);
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 100;
    for (let attempts = 0; attempts < 2; attempts += 1) {
      fail();
      expect(await web.up()).toContain("capacity_exhausted");
    }
    expect(web.keys()).toBe(3);
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(4);
    await web.expectOne();
  });
});

test("an instance that a failed creation has left behind is replaced by the next `up`", async () => {
  const { service, web } = await oneInstance();
  service.emulator.failNextOperation({ kind: "create", leaveObject: true });
  expect(await web.up()).toMatch(/The state records instance \S+ as failed/);
  const { id } = web.inState();
  expect([...service.emulator.instances.keys()]).toEqual([id]);
  expect(await web.up()).toBeUndefined();
  expect(await web.expectOne()).not.toBe(id);
});

const SHORT = { __timeouts: { create: "5s" } };
const OTHER = { ...SHORT, image: "debian-14" };

describe("of two interrupted creations,", () => {
  /** The state knows one, and the journal another, which began at some other time. */
  async function two(at: number) {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.up(SHORT);
    const first = web.inState();
    await web.removeEntry();
    web.saved = undefined;
    await web.killedUp(OTHER);
    await web.writeEntry({ ...(await web.journalEntry()), replaces: String(first.inputs.__key), at });
    web.saved = first;
    service.emulator.finishOperations();
    expect(service.emulator.instances.size).toBe(2);
    return { service, web };
  }

  test("the one on disk is resumed if it is later, and the other one's object is deleted", async () => {
    const { service, web } = await two(Date.now() + 1_000);
    const [, id] = service.emulator.instances.keys();
    const { key } = await web.journalEntry();
    expect(await web.up(OTHER)).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(web.posts()).toHaveLength(2);
    expect(web.inState().inputs, "later machines go by the key in the state").toMatchObject({ __key: key });
  });

  test("the one in the state is resumed if it is later, and the other one's object and entry are removed", async () => {
    const { service, web } = await two(1);
    const [id] = service.emulator.instances.keys();
    const { __key } = web.inState().inputs;
    expect(await web.up(SHORT)).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(web.posts()).toHaveLength(2);
    expect(web.inState().inputs).toMatchObject({ __key });
  });

  test("those in the state and the journal count as one if they are the same creation under another key", async () => {
    const { service, web } = await oneInstance();
    service.emulator.fail({ method: "POST", kind: "status", status: 500, cached: true, times: 1 });
    const lost = service.emulator.fail({ method: "POST", kind: "lost-reply", times: 99, after: 1 });
    await web.up();
    lost.off();
    const [id] = service.emulator.instances.keys();
    expect(web.inState()).toMatchObject({ id: `operation/key-${(await web.journalEntry()).key}` });
    expect((await web.journalEntry()).key).not.toBe(web.inState().inputs.__key);
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(web.keys()).toBe(2);
  });

  test("neither is lost if the earlier one can't be settled yet", async () => {
    const { service, web } = await two(1);
    const [id] = service.emulator.instances.keys();
    const down = service.emulator.fail({ method: "DELETE", kind: "status", status: 403, times: 99 });
    expect(await web.up(SHORT)).toContain("(403)");
    expect(service.emulator.instances.size).toBe(2);
    down.off();
    expect(await web.up(SHORT)).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });
});
