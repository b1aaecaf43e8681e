import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { FakeClock } from "../../polling/fake-clock";
import { oneInstance } from "../one-instance";
import { failureOf } from "../service";

const LONG = { __timeouts: { create: "1000h" } };

/** A process that creates or resumes an instance, and waits for its operation. Its CLI is killed, but it continues after `proceed`. */
async function outliving(args: Properties, { isResuming = false } = {}) {
  const { service, web } = await oneInstance({ behaviour: { operationMs: Number.MAX_SAFE_INTEGER } });
  const { emulator, journalDir } = service;
  if (isResuming) await web.killedUp(LONG);
  const clock = new FakeClock();
  const { instances: process } = await service.newProviders({ journalDir }, clock);
  const { inputs } = await process.check({}, web.news({ ...args, ...LONG }));
  let hasEnded = false;
  const created = failureOf(process.create(inputs)).finally(() => {
    hasEnded = true;
  });
  while (clock.sleeping === 0) await new Promise((resolve) => setImmediate(resolve));
  emulator.finishOperations();
  emulator.behaviour.operationMs = 0;
  const proceed = async (): Promise<Error> => {
    while (!hasEnded) await clock.advance(1_000);
    return created;
  };
  return { emulator, web, proceed };
}

describe("a process that outlives its killed CLI", () => {
  test.each<[string, Properties]>([
    ["address", { publicIp: "auto" }],
    ["label", { labels: { env: "test" } }],
  ])("doesn't restore the %s that the next `up` has removed", async (_, args) => {
    const { emulator, web, proceed } = await outliving(args);
    expect(await web.up(LONG)).toBeUndefined();
    const id = await web.expectOne();
    const before = { ...emulator.instances.get(id)?.fields };
    expect((await proceed()).message).toContain("another process has resumed the creation");
    expect(emulator.instances.get(id)?.fields).toEqual(before);
  });

  test("doesn't delete the object that the next `up` has adopted", async () => {
    const { emulator, web, proceed } = await outliving({ image: "debian-14" }, { isResuming: true });
    expect(await web.up(LONG)).toBeUndefined();
    const id = await web.expectOne();
    expect((await proceed()).message).toContain("another process has resumed the creation");
    expect([...emulator.instances.keys()]).toEqual([id]);
  });
});
