import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { InitializationError } from "../../../src/provider/host";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import { failureOf, type Service } from "../service";

const SMALL = { flavor: "m1.small", __timeouts: { update: "10s" } };
const LARGE = { ...SMALL, flavor: "m1.large" };

const flavors = ({ emulator }: Service) =>
  [...emulator.instances.values()].map(({ fields }) => fields.flavor);
const puts = ({ emulator }: Service) => emulator.requests.filter(({ method }) => method === "PUT").length;

describe("an update that the service accepts with a bare 202 and doesn't apply in time", () => {
  async function timedOut(behaviour: Partial<Behaviour> = {}) {
    const { service, web } = await oneInstance({ behaviour });
    await web.up(SMALL);
    Object.assign(service.emulator.behaviour, {
      putReply: 202,
      acceptedReply: "bare",
      operationMs: 3_600_000,
    });
    expect(await web.up(LARGE)).toContain("did not change flavor");
    expect(web.inState().state).toMatchObject({ __pending: { asked: { flavor: "m1.large" } } });
    return { service, web };
  }

  test.each([{}, { normalize: ["upper-case"] as const }])(
    "is reverted if it is applied later and the program is reverted: %j",
    async (behaviour) => {
      const { service, web } = await timedOut(behaviour);
      service.emulator.finishOperations();
      expect(flavors(service)).toEqual(["m1.large"]);
      service.emulator.behaviour.putReply = 200;
      expect(await web.up(SMALL)).toBeUndefined();
      expect(flavors(service)).toEqual(["m1.small"]);
      await web.expectOne();
    },
  );

  test("is a conflict if it is applied later and the service shows ids, because somebody else may have set another flavor", async () => {
    const { service, web } = await timedOut({ normalize: ["ids"] });
    service.emulator.finishOperations();
    service.emulator.behaviour.putReply = 200;
    expect(await web.up(SMALL)).toContain("another client changed flavor");
    await web.refresh();
    expect(await web.up(SMALL)).toBeUndefined();
    expect(flavors(service)).toEqual(["m1.small"]);
    await web.expectOne();
  });

  test.each(["at once", "after a refresh"])(
    "is reverted if the program is reverted before the service applies it: %s",
    async (when) => {
      const { service, web } = await timedOut();
      if (when === "after a refresh") await web.refresh();
      const before = puts(service);
      service.emulator.behaviour.putReply = 200;
      expect(await web.up(SMALL)).toBeUndefined();
      expect(puts(service)).toBe(before + 1);
      await web.expectOne();
    },
  );

  test("is reverted even if somebody else changes the instance before that", async () => {
    const { service, web } = await timedOut();
    const before = puts(service);
    service.emulator.behaviour.putReply = 200;
    service.emulator.touch(web.inState().id);
    expect(await web.up(SMALL)).toBeUndefined();
    expect(puts(service)).toBe(before + 1);
  });

  test("is not resent if the service has applied it by then", async () => {
    const { service, web } = await timedOut();
    service.emulator.finishOperations();
    const before = puts(service);
    expect(await web.up(LARGE)).toBeUndefined();
    expect(puts(service)).toBe(before);
    await web.expectOne();
  });
});

test.each([
  { putReply: 204, lagIn: "reads", lagMs: 40_000 },
  { putReply: 202, lagIn: "reads", lagMs: 40_000 },
  { putReply: 204, lagIn: "lists", lagMs: 40_000, getObject: 405 },
] as const)(
  "an update that becomes visible too late to count as applied is reverted if the program is reverted: %j",
  async (behaviour) => {
    const { service, web } = await oneInstance();
    await web.up(LARGE);
    await service.clock.sleep(60_000);
    Object.assign(service.emulator.behaviour, behaviour);
    const huge = { flavor: "m1.huge" };
    expect(await web.up(huge)).toContain("did not change flavor");
    await service.clock.sleep(60_000);
    expect(await web.up(LARGE)).toContain("did not change flavor"); // shows as late
    expect(flavors(service)).toEqual(["m1.large"]);
    await service.clock.sleep(60_000);
    expect(await web.up(LARGE)).toBeUndefined();
    await web.expectOne();
  },
);

describe("an update whose outcome is unknown", () => {
  async function unanswered(
    behaviour: Partial<Behaviour> = {},
    news: Properties = LARGE,
    before: Properties = {},
  ) {
    const { service, web } = await oneInstance({ behaviour });
    await web.up({ ...SMALL, ...before });
    const fault = service.emulator.fail({
      method: "PUT",
      kind: "lost-reply",
      times: Number.POSITIVE_INFINITY,
    });
    const outage = service.emulator.fail({
      method: "GET",
      kind: "status",
      when: () => puts(service) > 0,
      times: Number.POSITIVE_INFINITY,
    });
    expect(await web.up(news)).toContain("Run `pulumi up` again");
    fault.off();
    outage.off();
    expect(web.inState().state).toMatchObject({ flavor: "m1.small", __pending: { isUnsure: true } });
    return { service, web };
  }

  test("is in the state even if an error hook repeats it and the repetition definitely fails", async () => {
    const { service, web } = await oneInstance();
    await web.up(SMALL);
    const { id, inputs: before, state } = web.inState();
    const process = await web.process();
    const { inputs } = await process.check(before, web.news({ ...LARGE, __timeouts: { update: "5s" } }));
    await process.diff(id, state, inputs);
    const lost = service.emulator.fail({
      method: "PUT",
      kind: "lost-reply",
      times: Number.POSITIVE_INFINITY,
    });
    await failureOf(process.update(id, state, inputs));
    lost.off();
    const rejected = service.emulator.fail({ kind: "status", status: 403, times: Number.POSITIVE_INFINITY });
    const error = await failureOf(process.update(id, state, inputs));
    rejected.off();
    if (!(error instanceof InitializationError)) throw error;
    const next = await web.process();
    const small = (await next.check(before, web.news(SMALL))).inputs;
    expect(await next.diff(id, error.properties, small)).toMatchObject({ changes: true });
    await next.update(id, error.properties, small);
    expect(flavors(service)).toEqual(["m1.small"]);
  });

  test("is reverted if it was applied and the program is reverted", async () => {
    const { service, web } = await unanswered();
    expect(flavors(service)).toEqual(["m1.large"]);
    expect(await web.up(SMALL)).toBeUndefined();
    expect(flavors(service)).toEqual(["m1.small"]);
    await web.expectOne();
  });

  test("is recognized if it was applied and the program is unchanged", async () => {
    const { service, web } = await unanswered();
    const before = puts(service);
    expect(await web.up(LARGE)).toBeUndefined();
    expect(puts(service)).toBe(before);
    await web.expectOne();
  });

  test("is recognized by its requested address, although the instance also has a private one", async () => {
    const auto = { ...SMALL, publicIp: "auto" };
    const behaviour = { ipField: "public_ip" as const, extraFields: { private_ip: "10.0.0.5" } };
    const { service, web } = await unanswered(behaviour, auto);
    expect(await web.up(auto)).toBeUndefined();
    await web.expectOne();
    expect(web.inState().state.ipAddress).toBe(service.emulator.instances.get(web.inState().id)?.address);
  });

  describe("and that a refresh has seen", () => {
    const more = { ...SMALL, publicIp: "auto", labels: { team: "a" } };

    test.each([{}, { absentValues: "null" as const }])(
      "counts as applied, and nothing is left to do: %j",
      async (behaviour) => {
        const { service, web } = await unanswered(behaviour, more);
        await web.refresh();
        expect(web.inState().state).toMatchObject(more);
        await web.expectOne();
        const before = service.emulator.requests.length;
        expect(await web.up(more)).toBeUndefined();
        expect(service.emulator.requests).toHaveLength(before);
      },
    );

    test("is reverted if the program is reverted, including properties that weren't set before", async () => {
      const { service, web } = await unanswered({}, more);
      await web.refresh();
      expect(await web.up(SMALL)).toBeUndefined();
      const [instance] = service.emulator.instances.values();
      expect(instance?.fields).toMatchObject({ labels: {} });
      expect(instance?.fields.public_ip).toBeUndefined();
      await web.expectOne();
    });

    test.each(["refresh", "up"])(
      "doesn't hide that somebody has removed a label since: %s",
      async (command) => {
        const labels = { team: "a", owner: "us" };
        const { service, web } = await unanswered({}, { ...SMALL, labels }, { labels: { team: "a" } });
        service.emulator.edit(web.inState().id, { labels: { owner: "us" } });
        if (command === "refresh") {
          await web.refresh();
          expect(web.inState().inputs).toMatchObject({ labels: { owner: "us" } });
          expect(web.inState().inputs.labels).not.toHaveProperty("team");
        } else expect(await web.up({ ...LARGE, labels })).toContain("another client changed labels.team");
      },
    );

    test("is resent once if the service doesn't show it, and then nothing is left to do", async () => {
      const spelling = ({ ssh_keys, ...now }: Readonly<Record<string, unknown>>): object => now;
      const { service, web } = await unanswered({ spelling }, { ...SMALL, sshKeys: [SSH_KEY] });
      await web.refresh();
      expect(web.inState().state).toMatchObject({ __pending: { asked: { sshKeys: [SSH_KEY] } } });
      const before = puts(service);
      expect(await web.up({ ...SMALL, sshKeys: [SSH_KEY] })).toBeUndefined();
      expect(puts(service)).toBe(before + 1);
      await web.refresh();
      await web.expectOne();
      expect(await web.up({ ...SMALL, sshKeys: [SSH_KEY] })).toBeUndefined();
      expect(puts(service)).toBe(before + 1);
    });
  });

  describe("and that is reverted", () => {
    const there = ({ emulator }: Service): Properties | undefined =>
      [...emulator.instances.values()][0]?.fields;
    const auto = { ...SMALL, publicIp: "auto" };

    test("keeps the address that the instance had before", async () => {
      const { service, web } = await oneInstance({ behaviour: { ipField: "public_ip" } });
      await web.up(SMALL);
      service.emulator.edit(web.inState().id, { public_ip: "203.0.113.99" });
      await web.refresh();
      const rejected = service.emulator.fail({
        method: "PUT",
        kind: "status",
        times: Number.POSITIVE_INFINITY,
      });
      expect(await web.up(auto)).toContain("Run `pulumi up` again");
      rejected.off();
      expect(await web.up(SMALL)).toBeUndefined();
      expect(there(service)).toHaveProperty("public_ip", "203.0.113.99");
    });

    test("keeps the address that the instance has been assigned again", async () => {
      const { service, web } = await unanswered({ ipField: "public_ip" }, SMALL, auto);
      expect(await web.up(auto)).toBeUndefined();
      await web.refresh();
      expect(web.inState()).toMatchObject({
        inputs: { publicIp: "auto" },
        state: { ipAddress: service.emulator.instances.get(web.inState().id)?.address },
      });
      await web.expectOne();
    });

    test("is reverted once the service has applied the change that it accepts with a bare 202", async () => {
      const { service, web } = await unanswered({}, SMALL, auto);
      Object.assign(service.emulator.behaviour, { putReply: 202, acceptedReply: "bare" });
      expect(await web.up(auto)).toBeUndefined();
      expect(there(service)).toMatchObject({ public_ip: "auto" });
      await web.expectOne();
    });

    test("is reverted even if the reply to the reversion is also lost", async () => {
      const { service, web } = await unanswered({}, SMALL, auto);
      const lost = service.emulator.fail({ method: "PUT", kind: "reset", times: Number.POSITIVE_INFINITY });
      expect(await web.up(auto)).toContain("Run `pulumi up` again");
      lost.off();
      expect(await web.up(auto)).toBeUndefined();
      expect(there(service)).toMatchObject({ public_ip: "auto" });
      await web.expectOne();
    });

    test("removes its address and its labels, and keeps all others", async () => {
      const labels = { team: "a", tier: "b", env: "c" };
      const { service, web } = await unanswered({ ipField: "public_ip" }, { ...auto, labels });
      service.emulator.edit(web.inState().id, { labels: { team: "a", env: "theirs", owner: "us" } });
      expect(await web.up(SMALL)).toBeUndefined();
      expect(there(service)).not.toHaveProperty("public_ip");
      expect(there(service)?.labels).toEqual({ env: "theirs", owner: "us" });
      await web.expectOne();
    });

    test("removes all its labels if the program has others", async () => {
      const before = { labels: { owner: "us" } };
      const { service, web } = await unanswered({}, { ...SMALL, labels: { team: "a", tier: "b" } }, before);
      service.emulator.edit(web.inState().id, { labels: { owner: "us", team: "a", theirs: "x" } });
      expect(await web.up({ ...SMALL, ...before })).toBeUndefined();
      expect(there(service)?.labels).toEqual({ owner: "us", theirs: "x" });
    });
  });

  test("doesn't prove that an id stands for the requested name", async () => {
    const { service, web } = await unanswered({ normalize: ["ids"] });
    service.emulator.edit(web.inState().id, { flavor: "theirs" });
    expect(await web.up(LARGE)).toContain("another client changed flavor");
    expect(await web.up(SMALL)).toContain("another client changed flavor");
    expect(flavors(service)).toEqual(["theirs"]);
  });

  test.each(["up", "refresh"])("is resent if somebody has removed its values: %s", async (first) => {
    const news = { ...LARGE, publicIp: "auto" };
    const { service, web } = await unanswered({}, news);
    const { emulator } = service;
    emulator.edit(web.inState().id, { public_ip: undefined });
    if (first === "refresh") await web.refresh();
    await web.up(news);
    await web.refresh();
    expect(await web.up(news)).toBeUndefined();
    expect(emulator.instances.get(web.inState().id)?.fields).toMatchObject({ public_ip: "auto" });
    await web.expectOne();
  });
});

test("an update without an operation isn't confirmed by a slow earlier update with another value", async () => {
  const { service, web } = await oneInstance({ behaviour: { putReply: 202, acceptedReply: "bare" } });
  await web.up({ name: "web" });
  service.emulator.behaviour.operationMs = 60_000;
  expect(await web.up({ name: "front", __timeouts: { update: "5s" } })).toBeDefined();
  await service.clock.sleep(30_000);
  expect(await web.up({ name: undefined, __timeouts: { update: "5m" } })).toBeUndefined();
  const { id, state } = web.inState();
  expect(service.emulator.instances.get(id)?.fields.name).toBe(state.name);
});
