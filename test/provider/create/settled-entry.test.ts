import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { oneInstance, URN } from "../one-instance";
import { errorOf, existingInstance } from "../service";

describe("the journal entry of a creation that the state records is obsolete", () => {
  test("and diff removes it without a change", async () => {
    const { service, web } = await oneInstance();
    expect(await web.up({}, { unconfirmed: true })).toBeUndefined();
    const { id } = web.inState();
    expect(await web.entry()).toMatchObject({ id });
    expect(await web.up({}, { unconfirmed: true })).toBeUndefined();
    await web.expectOne();
    expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
  });

  const operation = { id: "op-1", url: "/v1/operations/op-1" };

  test.each([
    ["its key", { key: true }, false],
    ["its id", { id: true }, false],
    ["nothing in common", {}, true],
  ])("even if they have %s, and a diff comes before any check", async (_what, common, changes) => {
    const { web } = await oneInstance();
    await web.up();
    const { id, inputs, state } = web.inState();
    const key = "key" in common ? String(inputs.__key) : randomUUID();
    await web.journal.begin({
      urn: URN,
      key,
      resource: "id" in common ? String(inputs.__key) : key,
      replaces: String(inputs.__key),
      body: "{}",
      at: 1,
    });
    await web.journal.extend(key, { operation, id: "id" in common ? id : "ins-other" });
    const answer = await (await web.process()).diff(id, state, inputs);
    expect(answer).toMatchObject({ changes, replaces: [] });
  });

  const options = { replaceOnChanges: true };

  test("so a replacement creates a new object and deletes the old one", async () => {
    const { web } = await oneInstance();
    expect(await web.up({}, { unconfirmed: true })).toBeUndefined();
    const { id } = web.inState();
    expect(await web.up({ flavor: "m1.large" }, options)).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
  });

  test("so a replacement creates a new object even if the state has another key", async () => {
    const { service, web } = await oneInstance();
    service.emulator.fail({ method: "POST", kind: "status", status: 500, cached: true });
    expect(await web.up({}, { unconfirmed: true })).toBeUndefined();
    const { id, inputs } = web.inState();
    expect((await web.journalEntry()).key).not.toBe(inputs.__key);
    expect(await web.up({ flavor: "m1.large" }, options)).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
  });

  test("but after an interrupted `up`, --replace of a saved replacement fails and says to run `up` first", async () => {
    const { web } = await oneInstance();
    await web.up();
    await web.up({ image: "debian-14" }, { unconfirmed: true });
    const { id } = web.inState();
    const replaced = () => web.up({ image: "debian-14" }, { targetReplace: true });
    expect(await replaced()).toContain("Run `pulumi up`, then replace the resource");
    expect(await web.up({ image: "debian-14" })).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(await replaced()).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
  });

  test("so a replacement creates a new object even if the entry could not be removed", async () => {
    const { web } = await oneInstance();
    await web.up({}, { unconfirmed: true });
    const { id: _id, ...entry } = await web.journalEntry();
    const { id, inputs, state } = web.inState();
    const process = await web.process();
    const news = web.news({ flavor: "m1.large" });
    await process.diff(id, state, (await process.check(inputs, news)).inputs);
    await web.journal.begin(entry);
    const made = await process.create((await process.check({}, news)).inputs);
    expect(made.id).not.toBe(id);
    await process.delete(id, state);
    web.saved = { ...made, inputs: news, state: made.outs };
    await web.journal.remove(entry.key);
    await web.expectOne();
  });
});

test("the obsolete entry of an instance that was deleted outside of Pulumi doesn't prevent a new instance after a refresh", async () => {
  const { service, web } = await oneInstance();
  await web.up({}, { unconfirmed: true });
  const { id } = web.inState();
  expect(await web.entry()).toMatchObject({ id });
  service.emulator.remove(id);
  for (const one of service.emulator.operations.keys()) service.emulator.remove(one, "operation");
  await web.refresh();
  expect(await web.entry()).toBeUndefined();
  expect(await web.up()).toBeUndefined();
  await web.expectOne();
});

describe("the entry of a failed creation whose object the state records", () => {
  async function failed() {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    expect(await web.up()).toContain("as failed");
    const { id } = web.inState();
    expect(await web.entry()).toMatchObject({ id });
    return { emulator: service.emulator, web, id };
  }

  test("is removed together with the object", async () => {
    const { emulator, web } = await failed();
    expect(await web.destroy()).toBeUndefined();
    expect(await web.entry()).toBeUndefined();
    for (const one of emulator.operations.keys()) emulator.remove(one, "operation");
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("doesn't cause the deletion of an object that the user has removed from the state", async () => {
    const { emulator, web, id } = await failed();
    web.saved = undefined;
    await web.up();
    expect(emulator.instances.has(id)).toBe(true);
  });

  test("is removed by a refresh that doesn't find an object", async () => {
    const { emulator, web, id } = await failed();
    emulator.remove(id);
    await web.refresh();
    expect(await web.entry()).toBeUndefined();
  });

  test("doesn't protect the object if an error hook repeats the creation, because the engine hasn't saved it", async () => {
    const { service, web } = await oneInstance({ behaviour: { uniqueNames: true } });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    const process = await web.process();
    const { inputs } = await process.check({}, web.news());
    expect(await errorOf(process.create(inputs))).toBeDefined();
    const { id } = await process.create(inputs);
    expect([...service.emulator.instances.keys()]).toEqual([id]);
  });

  test("causes no warning if the object was a replacement, and the program no longer contains the resource", async () => {
    const { service, web } = await oneInstance();
    const other = await existingInstance(service, { name: "other", __urn: `${URN}-other` });
    await web.up({ name: undefined });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    await web.up({ name: undefined, image: "debian-14" });
    const process = await web.process();
    const { inputs } = await process.check(other.inputs, { ...other.inputs });
    await process.diff(other.id, other.state, inputs);
    for (const { id, state } of [...web.replaced, web.inState()]) await process.delete(id, state);
    expect([...service.emulator.instances.keys()]).toEqual([other.id]);
    expect(service.warnings).toEqual([]);
  });
});
