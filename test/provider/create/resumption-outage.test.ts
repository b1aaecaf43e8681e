import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance, URN } from "../one-instance";
import type { Service } from "../service";

// The first `up` after an interruption fails because of an outage. The state then contains the unfinished creation.

const SHORT = { __timeouts: { create: "5s", update: "5s", delete: "5s" } };
const paths = { operations: /^\/v1\/operations\//, instances: /^\/v1\/instances/ };

const idsOf = ({ emulator }: Service): string[] => [...emulator.instances.keys()];

function outageOf({ emulator }: Service, path: keyof typeof paths) {
  const times = Number.POSITIVE_INFINITY;
  return emulator.fail({ method: "GET", path: paths[path], kind: "status", status: 503, times });
}

const outages = Object.keys(paths) as (keyof typeof paths)[];

describe.each(outages)("after an outage of %s", (path) => {
  test.each([
    ["the engine was told about", {}],
    ["`recover` has found", { recovered: true, isLate: true, id: undefined, operation: undefined }],
  ])("an object that %s is left alone if the program needs another image", async (_which, entry) => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 100 } });
    await web.up({}, { unconfirmed: true });
    const { id } = web.inState();
    web.saved = undefined; // the user has released the object
    await web.writeEntry({ ...(await web.journalEntry()), ...entry });
    const outage = outageOf(service, path);
    expect(await web.up({ image: "debian-14", ...SHORT })).toContain("Run `pulumi up` again");
    outage.off();
    await web.refresh();
    expect(await web.up({ image: "debian-14" })).toBeUndefined();
    expect(idsOf(service)).toEqual([id, web.inState().id]);
    expect(service.warnings.join()).toContain(id);
  });

  test("an object that another resource has imported isn't recorded for the resource that created it", async () => {
    const { service, web } = await oneInstance();
    await web.killedBeforeReply({ name: "web" });
    service.emulator.finishOperations();
    const [id = ""] = idsOf(service);
    const process = await web.process();
    const news: Properties = web.news({ name: "web", __urn: URN.replace("::web", "::site"), __import: id });
    await process.create((await process.check({}, news)).inputs);
    const outage = outageOf(service, path);
    await web.up({ name: "web", ...SHORT });
    outage.off();
    await web.refresh();
    expect(web.inState().id).not.toBe(id);
    await web.destroy();
    expect(idsOf(service)).toContain(id);
  });
});

test("an object whose deletion has started isn't adopted after an outage", async () => {
  const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
  await web.up(SHORT);
  service.emulator.finishOperations();
  Object.assign(service.emulator.behaviour, { deleteObject: 202, operationMs: 600_000 });
  expect(await web.up({ image: "debian-14", ...SHORT })).toContain("operation_timeout");
  const outage = outageOf(service, "instances");
  await web.up({ image: "debian-14", ...SHORT });
  outage.off();
  expect(await web.up(SHORT)).toContain("operation_timeout");
});

test("a creation that was given up isn't resumed by a refresh", async () => {
  const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
  await web.up(SHORT);
  await web.giveUp();
  service.emulator.finishOperations();
  const [id] = idsOf(service);
  await web.refresh();
  expect(web.inState().id).not.toBe(id);
});
