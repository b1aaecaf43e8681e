import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { FakeClock } from "../../polling/fake-clock";
import { oneInstance } from "../one-instance";
import type { Service } from "../service";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

describe("a key is valid for 24 hours, minus one hour for differing clocks:", () => {
  async function killedAgo(ms: number, behaviour: Partial<Behaviour> = {}, args: Properties = {}) {
    const { service, web } = await oneInstance({ behaviour });
    const entry = await web.killedBeforeReply(args);
    await web.writeEntry({ ...entry, at: Date.now() - ms });
    return { service, web };
  }

  test("until then, the request is resent", async () => {
    const { web } = await killedAgo(DAY_MS - HOUR_MS - 60_000);
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("after that, nothing is sent or adopted, and the error lists the objects with the same name and the next steps", async () => {
    const { service, web } = await killedAgo(DAY_MS - HOUR_MS + 60_000);
    const [id] = service.emulator.instances.keys();
    const said = await web.up();
    expect(said).toContain(`the service lists ${id} with the same name`);
    expect(said).toContain("recover --forget <urn>");
    expect(web.posts()).toHaveLength(1);
    expect(web.saved).toBeUndefined();
    expect(await web.entry(), "the entry stays until somebody forgets it").toBeDefined();
    await web.removeEntry();
    expect(await web.up()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(2);
  });

  test("after that, an operation that a killed resumption has recorded is still enough", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: HOUR_MS } });
    const outage = service.emulator.fail({ method: "POST", kind: "status", status: 503, times: 99 });
    await web.up({ __timeouts: { create: "5s" } });
    outage.off();
    await web.killedUp();
    const at = Date.now() - DAY_MS;
    await web.writeEntry({ ...(await web.journalEntry()), at });
    const saved = web.inState();
    web.saved = { ...saved, state: { ...saved.state, __pending: { ...Object(saved.state.__pending), at } } };
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 0;
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("the error also lists objects with the normalized name", async () => {
    const name = "Web-01";
    const { service, web } = await killedAgo(DAY_MS, { normalize: ["lower-case"] }, { name });
    const [id] = service.emulator.instances.keys();
    expect(await web.up({ name })).toContain(`the service lists ${id} with the same name`);
  });

  test("a recorded operation of any age is awaited", async () => {
    const { web } = await oneInstance();
    await web.killedUp();
    await web.writeEntry({ ...(await web.journalEntry()), at: 0 });
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });
});

test("the error about an expired replacement doesn't suggest deleting or forgetting the instance in the state", async () => {
  const { service, web } = await oneInstance();
  await web.up();
  const { id } = web.inState();
  await web.killedUp({ image: "debian-14" }, { deleteBeforeReplace: false });
  service.emulator.finishOperations();
  const { operation: _, ...entry } = await web.journalEntry();
  await web.writeEntry({ ...entry, at: Date.now() - DAY_MS });
  Object.assign(Object(service.emulator.instances.get(id)), { createdAt: Date.now() - 2 * DAY_MS });
  const other = [...service.emulator.instances.keys()].filter((one) => one !== id);
  const said = await web.up({ image: "debian-14" }, { deleteBeforeReplace: false });
  expect(said).toContain(`the service lists ${other} with the same name\n`);
  expect(said).toContain("recover --forget <urn>");
  expect(said).not.toContain("pulumi state delete");
});

describe("if the machine is suspended for longer than the key is valid before a POST is retried,", () => {
  async function suspendedUp(fault: Parameters<Service["emulator"]["fail"]>[0]) {
    onTestFinished(() => void vi.useRealTimers());
    const { service, web } = await oneInstance({ behaviour: { operationMs: 0 } });
    service.emulator.fail({ ...fault, method: "POST", path: "/v1/instances" });
    const clock = new FakeClock({ auto: true }); // like a monotonic clock, it doesn't advance while the machine is suspended
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms, signal) => {
      if (web.posts().length === 1 && !vi.isFakeTimers()) {
        vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * DAY_MS });
        await service.clock.advance(2 * DAY_MS);
      }
      return sleep(ms, signal);
    };
    return { service, web, said: await web.up({}, { clock }) };
  }

  test("an attempt without a reply isn't repeated, and the state records the creation", async () => {
    const { service, web, said } = await suspendedUp({ kind: "lost-reply" });
    const [id] = service.emulator.instances.keys();
    expect(said).toContain(`the outcome is unknown: the service lists ${id} with the same name`);
    expect(said).toContain("recover --forget <urn>");
    expect(said).not.toContain("Nothing was created");
    expect(web.posts()).toHaveLength(1);
    expect(web.inState().id).toMatch(/^operation\/key-/);
    expect(await web.up({}, { onAnotherMachine: true })).toContain("more than 23 hours ago");
    expect(service.emulator.instances.size).toBe(1);
  });

  test("a rejected attempt is repeated", async () => {
    const { web, said } = await suspendedUp({ kind: "status", status: 429 });
    expect(said).toBeUndefined();
    expect(web.posts()).toHaveLength(2);
    await web.expectOne();
  });
});
