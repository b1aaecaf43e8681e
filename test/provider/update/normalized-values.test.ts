import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { OTHER_KEY } from "../samples";
import { existingInstance, failureOf, type Saved } from "../service";
import { type RacedService, startRaced } from "./raced-service";

async function refreshed(
  { newProviders }: RacedService,
  saved: Saved,
  state: Properties,
): Promise<Properties> {
  const { props } = await (await newProviders()).instances.read(saved.id, state);
  return { ...props };
}

type Fields = Readonly<Record<string, unknown>>;

const slug = (text: unknown): string => String(text).replaceAll(" ", "-");

/** Shows labels and names as slugs, and the full name of a flavor instead of its alias. */
const canonical = (now: Fields): object => ({
  ...now,
  name: slug(now.name),
  labels: Object.fromEntries(Object.entries(Object(now.labels)).map(([key, value]) => [key, slug(value)])),
  flavor: now.flavor === "large" ? "m1.large" : now.flavor,
});

test("label drift can be corrected at a service that shows other labels in lower case", async () => {
  const service = await startRaced({ behaviour: { normalize: ["lower-case"] } });
  const labels = { team: "Web", size: "3" };
  const saved = await existingInstance(service, { labels });
  service.emulator.edit(saved.id, { labels: { team: "Web", size: "4" } });
  const state = await refreshed(service, saved, saved.state);
  expect(state.labels).toEqual({ team: "Web", size: "4" });
  const { outs } = await service.updated(saved, { labels }, state);
  expect(outs.labels).toEqual(labels);
});

describe("changing the program from a flavor's id to its name", () => {
  async function withId() {
    const service = await startRaced({ behaviour: { normalize: ["ids"] } });
    const saved = await existingInstance(service);
    const id = Object(saved.state.__words).flavor;
    const { outs } = await service.updated(saved, { flavor: id }, saved.state);
    return { service, saved, id, outs };
  }

  test("sends no change if the name is known", async () => {
    const { service, saved, id, outs } = await withId();
    expect(await refreshed(service, saved, outs)).toMatchObject({ flavor: id });
    const next = await service.updated(saved, {}, outs);
    expect(next.outs).toMatchObject({ flavor: "m1.small", __words: { flavor: id } });
  });

  test("is an error if the name is unknown, which suggests checking the service before a replacement", async () => {
    const service = await startRaced({ behaviour: { normalize: ["ids"] } });
    const flavor = Object((await existingInstance(service)).state.__words).flavor;
    const saved = await existingInstance(service, { flavor, name: "other", __key: OTHER_KEY });
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.small" }));
    expect(message).toContain("did not change flavor");
    expect(message).toContain("possibly in a normalized form");
    expect(message).toContain('If it does, add `ignoreChanges: ["flavor"]`');
  });

  test("is an error if the service ignores the change to another one", async () => {
    const { service, saved, outs } = await withId();
    service.emulator.ignoreUpdatesOf("flavor");
    const error = await failureOf(service.updated(saved, { flavor: "m1.huge" }, outs));
    expect(error.message).toContain("did not change flavor");
  });

  test("is remembered if the PUT returns an operation", async () => {
    const { service, saved, outs } = await withId();
    service.emulator.behaviour.putReply = 202;
    const next = await service.updated(saved, { flavor: "m1.large" }, outs);
    expect((await refreshed(service, saved, next.outs)).flavor).toBe("m1.large");
  });
});

describe("a service that later returns the flavor in another form", () => {
  const number = (flavor: unknown): string => String(flavor).replace("m1.", "flv-");
  const forms: Readonly<Record<string, (flavor: unknown) => unknown>> = {
    name: (flavor) => flavor,
    id: number,
    object: (flavor) => ({ id: number(flavor), name: flavor }),
    link: (flavor) => `/v1/flavors/${flavor}`,
  };
  test.each([
    ["name", "object"],
    ["name", "link"],
    ["id", "name"],
    ["id", "object"],
    ["object", "id"],
    ["object", "link"],
    ["link", "name"],
    ["link", "object"],
  ])("causes no drift and no conflict: first the %s, then the %s", async (first, later) => {
    const spelling = (form: string) => (now: Readonly<Record<string, unknown>>) => ({
      ...now,
      flavor: forms[form]?.(now.flavor),
    });
    const { service, web } = await oneInstance({ behaviour: { spelling: spelling(first) } });
    expect(await web.up()).toBeUndefined();
    await web.refresh();
    service.emulator.behaviour.spelling = spelling(later);
    service.emulator.touch(web.inState().id);
    await web.refresh();
    expect(web.inState().inputs.flavor).toBe("m1.small");
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs.flavor).toBe("m1.large");
  });
});

describe.each([{ putReply: 202 }, { putReply: 204 }, { putReply: 204, revisionOf: "shown" }] as const)(
  "a value that is normalized for the first time, with %j,",
  (behaviour) => {
    test.each([{ labels: { role: "web", team: "Web shop" } }, { name: "Web shop" }, { flavor: "large" }])(
      "is neither a conflict nor drift: %j",
      async (change) => {
        const { web } = await oneInstance({ behaviour: { spelling: canonical, ...behaviour } });
        expect(await web.up({ labels: { role: "web" } })).toBeUndefined();
        expect(await web.up({ labels: { role: "web" }, ...change })).toBeUndefined();
        const more = { labels: { role: "web" }, ...change, network: "backend" };
        expect(await web.up(more)).toBeUndefined();
        await web.refresh();
        expect(web.inState().inputs).toMatchObject(more);
      },
    );
  },
);

test("a value that differs from its normalized form only in punctuation is recognized if the revision proves nothing", async () => {
  const { web } = await oneInstance({
    behaviour: { spelling: canonical, putReply: 202, revisionOf: "shown" },
  });
  expect(await web.up()).toBeUndefined();
  expect(await web.up({ name: "Web shop" })).toBeUndefined();
  await web.refresh();
  expect(web.inState().inputs.name).toBe("Web shop");
});

describe("a value that is normalized for the first time, if the revision proves nothing,", () => {
  async function set() {
    const service = await startRaced({
      behaviour: { spelling: canonical, putReply: 202, revisionOf: "shown" },
    });
    const saved = await existingInstance(service);
    const { outs } = await service.updated(saved, { flavor: "large" });
    const state = await refreshed(service, saved, outs);
    expect(state.flavor).toBe("m1.large"); // somebody else may have changed it
    return { service, saved, state };
  }

  test("converges if the service accepts it again after a refresh", async () => {
    const { service, saved, state } = await set();
    const { outs } = await service.updated(saved, { flavor: "large" }, state);
    expect(await refreshed(service, saved, outs)).toMatchObject({ flavor: "large" });
  });

  test("converges if each update has a new revision", async () => {
    const { service, saved, state } = await set();
    service.emulator.behaviour.revisionOf = "changes";
    service.emulator.behaviour.putReply = 204;
    service.after("PUT", () => service.emulator.touch(saved.id));
    const { outs } = await service.updated(saved, { flavor: "large" }, state);
    expect(await refreshed(service, saved, outs)).toMatchObject({ flavor: "large" });
  });

  test("is an error if the service ignores a change to another value", async () => {
    const { service, saved, state } = await set();
    service.emulator.ignoreUpdatesOf("flavor");
    const error = await failureOf(service.updated(saved, { flavor: "m1.huge" }, state));
    expect(error.message).toContain("did not change flavor");
  });
});

describe.each([200, 202, 204] as const)("a value that the service never returns, PUT %d,", (putReply) => {
  test("is set although the service returns null, and keeps converging", async () => {
    const spelling = (now: Fields): object => ({ ...now, network: null });
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up()).toBeUndefined();
    for (const network of ["backend", "front"]) {
      expect(await web.up({ network })).toBeUndefined();
      await web.refresh();
      expect(web.inState().inputs.network).toBe(network);
      expect(service.emulator.instances.get(web.inState().id)?.fields.network).toBe(network);
    }
  });

  test("may be an empty label", async () => {
    const spelling = (now: Fields): object => ({
      ...now,
      labels: Object.fromEntries(Object.entries(Object(now.labels)).filter(([, value]) => value !== "")),
    });
    const { web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up({ labels: { a: "1" } })).toBeUndefined();
    const labels = { a: "1", b: "" };
    expect(await web.up({ labels })).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs.labels).toEqual(labels);
  });
});

test("an address proves that it was assigned if the service never shows the mode", async () => {
  const spelling = (now: object) => ({ ...now, public_ip: null });
  const service = await startRaced({ behaviour: { spelling } });
  const saved = await existingInstance(service);
  const { outs } = await service.updated(saved, { publicIp: "auto" });
  expect(outs).toMatchObject({ publicIp: "auto", ipAddress: "203.0.113.1" });
  expect(await refreshed(service, saved, outs)).toMatchObject({ publicIp: "auto" });
});

test("an address that appears after the mode is not a conflict", async () => {
  const late = { is: true };
  const spelling = (now: { ip_address?: unknown }) => ({
    ...now,
    public_ip: late.is ? "auto" : now.ip_address,
  });
  const service = await startRaced({ behaviour: { spelling } });
  const saved = await existingInstance(service, { publicIp: "auto" });
  late.is = false;
  service.emulator.touch(saved.id);
  const { outs } = await service.updated(saved, { publicIp: "auto", flavor: "m1.large" });
  expect(await refreshed(service, saved, outs)).toMatchObject({ publicIp: "auto", flavor: "m1.large" });
});
