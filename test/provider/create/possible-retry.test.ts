import path from "node:path";
import { describe, expect, test } from "vitest";
import { type Journal, openJournal } from "../../../src/journal/journal";
import { nextKey } from "../../../src/model/idempotency-key";
import type { Pending } from "../../../src/model/pending";
import { unmarked } from "../marked";
import { type OneInstance, oneInstance, URN } from "../one-instance";
import type { Service } from "../service";

const ELSEWHERE = { onAnotherMachine: true };

/** A creation that timed out; `recover` can't tell whether it failed, and whether the `up` that was killed then has sent the next key. */
async function timedOut({ fails }: { fails: boolean }) {
  const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
  if (fails) service.emulator.failNextOperation({ kind: "create" });
  await web.up({ __timeouts: { create: "5s" } });
  const sent = web.posts()[0]?.body ?? "";
  if (fails) {
    service.emulator.finishOperations();
    await web.killedUp({}, { pauses: 1 });
    expect(web.keys()).toBe(2);
  }
  service.emulator.finishOperations();
  service.emulator.behaviour.operationMs = 100;
  return { service, web, elsewhere: await recovered(service, web, sent) };
}

/** What `recover` writes on another machine. */
async function recovered(
  { emulator, journalDir }: Service,
  web: OneInstance,
  body: string,
): Promise<Journal> {
  const { inputs, state } = web.inState();
  const { key = "", at = 0 } = Object(state.__pending) as Pending;
  const journal = openJournal({
    endpoint: emulator.endpoint,
    dir: path.join(journalDir, "of-another-machine"),
    warn: (message) => expect.fail(message),
  });
  const resource = String(inputs.__key);
  await journal.begin({
    urn: URN,
    key: nextKey(key),
    resource,
    replaces: resource,
    body,
    at,
    recovered: true,
  });
  return journal;
}

describe("the retry of a creation that another machine may have sent", () => {
  test("is resumed with its original arguments if the creation has failed", async () => {
    const { service, web, elsewhere } = await timedOut({ fails: true });
    Object.assign(service.emulator.behaviour, { keyReuseStatus: 409, keyReuseCode: "conflict" });
    expect(await web.up({ flavor: "m1.large" }, ELSEWHERE)).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([web.inState().id]);
    expect(service.emulator.instances.get(web.inState().id)?.fields.flavor).toBe("m1.large");
    expect(await elsewhere.list()).toEqual([]);
  });

  test("is not sent if the creation has succeeded, and its instance is adopted", async () => {
    const { service, web, elsewhere } = await timedOut({ fails: false });
    const [id] = service.emulator.instances.keys();
    expect(await web.up({}, ELSEWHERE)).toBeUndefined();
    expect(web.inState().id).toBe(id);
    expect(web.keys()).toBe(1);
    expect(service.emulator.instances.size).toBe(1);
    expect(await elsewhere.list()).toEqual([]);
  });

  test.each([
    { fails: false, keys: 1 },
    { fails: true, keys: 2 },
  ])("is sent by `destroy` only if the creation has failed: $fails", async ({ fails, keys }) => {
    const { service, web, elsewhere } = await timedOut({ fails });
    service.emulator.behaviour.uniqueNames = true;
    const { id, state } = web.inState();
    await (await web.process(ELSEWHERE)).delete(id, state);
    expect([...service.emulator.instances.keys()]).toEqual([]);
    expect(web.keys()).toBe(keys);
    expect(await elsewhere.list()).toEqual([]);
  });

  test("is finished by `destroy` if the retry has replaced an instance of the creation", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    const timeouts = { __timeouts: { create: "5s", delete: "20s" } };
    await web.up(timeouts);
    const before = web.inState();
    service.emulator.finishOperations();
    await web.up({ ...timeouts, image: "debian-14" });
    expect(web.keys()).toBe(2);
    // The command was killed before the engine saved the retry.
    web.saved = before;
    await recovered(service, web, web.posts().at(-1)?.body ?? "");
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 100;
    await (await web.process(ELSEWHERE)).delete(before.id, before.state);
    expect([...service.emulator.instances.keys()]).toEqual([]);
  });

  test("is not sent after a refresh has found the instance", async () => {
    const { service, web, elsewhere } = await timedOut({ fails: false });
    const [retry] = await elsewhere.list();
    if (retry === undefined) throw new Error("nothing is recorded");
    await web.journal.begin(retry);
    await web.refresh();
    expect(await web.up()).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([web.inState().id]);
    expect(web.keys()).toBe(1);
  });

  test("is forgotten with the deletion of an instance that a refresh has found", async () => {
    const { service, web, elsewhere } = await timedOut({ fails: false });
    const { instances } = await service.newProviders({
      journalDir: path.join(service.journalDir, "of-another-machine"),
    });
    const { id, state } = web.inState();
    const found = await instances.read(id, state);
    await instances.delete(String(found.id), unmarked(found.props));
    expect([...service.emulator.instances.keys()]).toEqual([]);
    expect(await elsewhere.list()).toEqual([]);
  });

  test("creates nothing once its key has expired", async () => {
    const { service, web, elsewhere } = await timedOut({ fails: true });
    const [entry] = await elsewhere.list();
    if (entry === undefined) throw new Error("nothing is noted");
    await elsewhere.remove(entry.key);
    await elsewhere.begin({ ...entry, at: Date.now() - 24 * 3_600_000 });
    expect(await web.up({}, ELSEWHERE)).toContain("interrupted more than 23 hours ago");
    expect(service.emulator.instances.size).toBe(1);
    expect(await elsewhere.list()).toHaveLength(1);
  });
});
