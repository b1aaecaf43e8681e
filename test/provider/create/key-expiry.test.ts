import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

describe("a key is good for 24 hours, less one for clocks that differ", () => {
  async function killedAgo(ms: number, behaviour: Partial<Behaviour> = {}, args: Properties = {}) {
    const { service, web } = await oneInstance({ behaviour });
    const entry = await web.killedBeforeTheAnswer(args);
    await web.note({ ...entry, at: Date.now() - ms });
    return { service, web };
  }

  test("until then the request is repeated", async () => {
    const { web } = await killedAgo(DAY_MS - HOUR_MS - 60_000);
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("after that nothing is sent or taken: the error lists what has that name, and says how to go on", async () => {
    const { service, web } = await killedAgo(DAY_MS - HOUR_MS + 60_000);
    const [id] = service.emulator.instances.keys();
    const said = await web.up();
    expect(said).toContain(`the service lists ${id} with the same name`);
    expect(said).toContain("recover --forget <urn>");
    expect(web.posts()).toHaveLength(1);
    expect(web.saved).toBeUndefined();
    expect(await web.entry(), "it stays noted until somebody has looked").toBeDefined();
    await web.forgetNoted();
    expect(await web.up()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(2);
  });

  test("the error lists what has that name in lower case, if the service normalizes names", async () => {
    const name = "Web-01";
    const { service, web } = await killedAgo(DAY_MS, { normalize: ["lower-case"] }, { name });
    const [id] = service.emulator.instances.keys();
    expect(await web.up({ name })).toContain(`the service lists ${id} with the same name`);
  });

  test("an operation that was noted is waited for however old it is", async () => {
    const { web } = await oneInstance();
    await web.killedUp();
    await web.note({ ...(await web.noted()), at: 0 });
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });
});

test("a replacement that was killed too long ago doesn't lead a person to delete or forget the instance of the state", async () => {
  const { service, web } = await oneInstance();
  await web.up();
  const { id } = web.there();
  await web.killedUp({ image: "debian-14" }, { deleteBeforeReplace: false });
  service.emulator.finishOperations();
  const { operation: _, ...entry } = await web.noted();
  await web.note({ ...entry, at: 1 });
  const other = [...service.emulator.instances.keys()].filter((one) => one !== id);
  const said = await web.up({ image: "debian-14" }, { deleteBeforeReplace: false });
  expect(said).toContain(`the service lists ${other} with the same name\n`);
  expect(said).toContain("recover --forget <urn>");
  expect(said).not.toContain("pulumi state delete");
});
