import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import { LastMoment } from "../../polling/last-moment";
import { type OneInstance, oneInstance, URN } from "../one-instance";
import { instanceNews } from "../samples";
import { existingInstance, failureOf, type Service, startService } from "../service";

const FOREVER = { operationMs: 3_600_000 };
const SHORT = { __timeouts: { create: "5s" } };

async function checked(provider: HostProvider, olds: Properties, news: Properties): Promise<Properties> {
  const { inputs, failures } = await provider.check(olds, news);
  expect(failures).toEqual([]);
  return inputs;
}

const idsOf = ({ emulator }: Service): string[] => [...emulator.instances.keys()];

/** Two provider processes of one run. */
async function twoProcesses(service: Service): Promise<[HostProvider, HostProvider]> {
  const outside = { run: `127.0.0.1:${randomUUID()}` };
  const open = async () => (await service.newProviders({}, undefined, { outside })).instances;
  return [await open(), await open()];
}

describe("a replacement without a diff (--replace, taint)", () => {
  test("is settled by the next plain `up` if it was killed, and the old instance stays", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const { id } = web.inState();
    await web.killedUp({}, { targetReplace: true });
    service.emulator.finishOperations();
    expect(idsOf(service)).toHaveLength(2);
    expect(await web.up()).toBeUndefined();
    expect(idsOf(service)).toEqual([id]);
    expect(await web.expectOne()).toBe(id);
  });

  test("creates another instance, if the old one is deleted first and its creation was never confirmed", async () => {
    const { service, web } = await oneInstance();
    await web.up({}, { unconfirmed: true });
    const old = web.inState();
    const process = await web.process();
    const inputs = await checked(process, {}, web.news());
    await process.delete(old.id, old.state);
    const made = await process.create(inputs);
    expect(made.id).not.toBe(old.id);
    expect(idsOf(service)).toEqual([made.id]);
  });
});

test("the dependent of a resource that is deleted first is resumed after a kill, although it only had a diff", async () => {
  const { service, web } = await oneInstance();
  await web.up();
  const old = web.inState();
  const news = web.news({ image: "debian-14" });
  await (await web.process()).delete(old.id, old.state);
  const clock = new LastMoment();
  const cut = await web.process({ clock });
  await cut.diff(old.id, old.state, news);
  const creating = cut.create(await checked(cut, {}, news));
  await Promise.race([clock.reached, creating]);
  service.emulator.finishOperations();
  expect(await web.up({ image: "debian-14" }, { deleteBeforeReplace: true })).toBeUndefined();
  expect(idsOf(service)).toEqual([web.inState().id]);
  expect(web.keys()).toBe(2);
});

describe("the second attempt of a failed creation", () => {
  /** The first try timed out and failed later; the second one was accepted. */
  async function triedTwice(args: Properties = {}) {
    const { service, web } = await oneInstance({ behaviour: FOREVER });
    service.emulator.failNextOperation({ kind: "create" });
    await web.up({ ...SHORT, ...args });
    service.emulator.finishOperations();
    return { service, web };
  }

  async function killedAgain(web: OneInstance): Promise<void> {
    await web.killedUp({}, { pauses: 1 });
    expect(web.keys()).toBe(2);
  }

  test("is resumed after a kill, with any change of the program and any reply to its key", async () => {
    const { service, web } = await triedTwice();
    await killedAgain(web);
    Object.assign(service.emulator.behaviour, {
      keyReuseStatus: 409,
      keyReuseCode: "conflict",
      operationMs: 100,
    });
    service.emulator.finishOperations();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(idsOf(service)).toEqual([await web.expectOne()]);
    expect(service.emulator.instances.get(web.inState().id)?.fields.flavor).toBe("m1.large");
  });

  test("keeps the generated name if it is also interrupted", async () => {
    const { service, web } = await triedTwice({ name: undefined });
    await web.up({ ...SHORT, name: undefined });
    expect(web.keys()).toBe(2);
    service.emulator.finishOperations();
    expect(await web.up({ name: undefined })).toBeUndefined();
    const id = await web.expectOne();
    const bodies = web.posts().map(({ body }) => JSON.parse(String(body)).name);
    expect(new Set(bodies).size).toBe(1);
    expect(service.emulator.instances.get(id)?.fields.name).toBe(bodies[0]);
    expect(service.emulator.requests.some(({ method }) => method === "PUT")).toBe(false);
  });

  test("is deleted with its placeholder if it was killed", async () => {
    const { service, web } = await triedTwice();
    await killedAgain(web);
    service.emulator.finishOperations();
    expect(await web.destroy()).toBeUndefined();
    expect(idsOf(service)).toEqual([]);
  });
});

describe("an instance whose creation has just ended, while lists lag behind,", () => {
  const LAG = { ...FOREVER, getObject: 405, lagMs: 8_000 } as const;

  test("doesn't count as deleted in a refresh", async () => {
    const { service, web } = await oneInstance({ behaviour: LAG });
    await web.up(SHORT);
    service.emulator.finishOperations();
    await web.refresh();
    expect(web.inState().id).toBe(idsOf(service)[0]);
  });

  test("doesn't count as deleted in an update", async () => {
    const { service, web } = await oneInstance({ behaviour: { ...LAG, resultLink: "early" } });
    await web.up(SHORT);
    service.emulator.finishOperations();
    expect(await web.up()).toBeUndefined();
    expect(idsOf(service)).toEqual([web.inState().id]);
  });
});

test("two new resources never resume the same creation", async () => {
  const { service, web } = await oneInstance();
  await web.killedUp();
  service.emulator.finishOperations();
  const process = await web.process();
  const old = await checked(
    process,
    {},
    web.news({ __urn: URN.replace("::web", "::old"), __aliasUrns: [URN] }),
  );
  const fresh = await checked(process, {}, web.news());
  const made = await Promise.all([process.create(old), process.create(fresh)]);
  expect(new Set(made.map(({ id }) => id)).size).toBe(2);
  expect(idsOf(service)).toHaveLength(2);
});

test("an id that the service assigns again is not deleted by the process that had managed its first object", async () => {
  const service = await startService({ behaviour: { ids: "slug", idReuse: true } });
  const old = await existingInstance(service);
  service.emulator.remove(old.id);
  const [one, other] = await twoProcesses(service);
  const news = instanceNews({ project: old.inputs.project, image: "debian-14", __key: randomUUID() });
  await one.diff(old.id, old.state, await checked(one, old.inputs, news));
  const made = await one.create(await checked(one, {}, news));
  expect(made.id).toBe(old.id);
  await other.delete(old.id, old.state);
  expect(idsOf(service)).toEqual([made.id]);
});

describe("an instance that `import` names", () => {
  async function foreign() {
    const service = await startService();
    const project = service.emulator.addProject().id;
    const args = { project, name: "legacy", image: "ubuntu-24", flavor: "m1.small", network: "net-1" };
    const { id } = service.emulator.addInstance(args);
    const news = (name: string): Properties =>
      instanceNews({
        ...args,
        sshKeys: undefined,
        labels: undefined,
        publicIp: undefined,
        __import: id,
        __key: randomUUID(),
        __urn: URN.replace("::web", `::${name}`),
      });
    return { service, id, news };
  }

  test("is adopted by only one resource if two name it, and the preview of the other one fails", async () => {
    const { service, id, news } = await foreign();
    const { instances } = await service.newProviders();
    const inputs = await checked(instances, {}, news("a"));
    const other = await instances.check({}, news("b"));
    expect(other.failures?.map(({ reason }) => reason).join()).toContain("already managed by");
    expect((await instances.create(inputs)).id).toBe(id);
  });

  test("is not shared with the resource that already manages it, even if that is checked later", async () => {
    const { service, id, news } = await foreign();
    const first = (await service.newProviders()).instances;
    const inputs = await checked(first, {}, news("a"));
    const { outs } = await first.create(inputs);
    const { instances } = await service.newProviders();
    await instances.create(await checked(instances, {}, news("b")));
    const again = await checked(instances, inputs, news("a"));
    expect((await failureOf(instances.diff(id, outs, again))).message).toContain("already managed by");
  });

  test("is not reported as replaced if another process has adopted it again", async () => {
    const { service, id, news } = await foreign();
    const first = (await service.newProviders()).instances;
    const { outs } = await first.create(await checked(first, {}, news("a")));
    const [one, other] = await twoProcesses(service);
    expect((await one.create(await checked(one, {}, news("a")))).id).toBe(id);
    expect((await failureOf(other.delete(id, outs))).message).toContain("was not replaced");
    expect(idsOf(service)).toEqual([id]);
  });

  test("is replaced by another one if another process has deleted it first", async () => {
    const { service, id, news } = await foreign();
    const first = (await service.newProviders()).instances;
    const { outs } = await first.create(await checked(first, {}, news("a")));
    const [one, other] = await twoProcesses(service);
    const inputs = await checked(one, {}, news("a"));
    await other.delete(id, outs);
    const made = await one.create(inputs);
    expect(made.id).not.toBe(id);
    expect(idsOf(service)).toEqual([made.id]);
  });
});
