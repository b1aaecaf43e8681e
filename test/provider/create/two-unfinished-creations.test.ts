import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";

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
