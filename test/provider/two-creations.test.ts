import { describe, expect, test } from "vitest";
import { oneInstance, URN } from "./one-instance";

const SHORT = { __timeouts: { create: "5s" } };
const OTHER = { ...SHORT, image: "debian-14" };

describe("of two creations that were cut off,", () => {
  /** The state knows one, and the journal another, which began at some other time. */
  async function two(at: number) {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.up(SHORT);
    const first = web.there();
    await web.journal.remove(URN);
    web.saved = undefined;
    await web.killedUp(OTHER);
    const { operation, ...entry } = await web.noted();
    await web.journal.begin({ ...entry, at });
    if (operation) await web.journal.note(entry.urn, entry.key, { operation });
    web.saved = first;
    service.emulator.finishOperations();
    expect(service.emulator.instances.size).toBe(2);
    return { service, web };
  }

  test("the one on disk counts where it is the later one, and the other's object is deleted", async () => {
    const { service, web } = await two(Date.now() + 1_000);
    const [, id] = service.emulator.instances.keys();
    expect(await web.up(OTHER)).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(web.posts()).toHaveLength(2);
  });

  test("the one in the state counts where it is the later one; the other's object and note are gone", async () => {
    const { service, web } = await two(1);
    const [id] = service.emulator.instances.keys();
    expect(await web.up(SHORT)).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(web.posts()).toHaveLength(2);
  });

  test("neither is lost where the earlier one can't be settled yet", async () => {
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
