import { describe, expect, test } from "vitest";
import type { Properties } from "../../src/model/state";
import { InitializationError } from "../../src/provider/host";
import { isMarked, unmarked } from "./marked";
import {
  changed,
  existingInstance,
  failureOf,
  type Saved,
  type ServiceOptions,
  startService,
} from "./service";

const LOST = { kind: "reset", method: "PUT", times: 99 } as const;

/** An instance with a secret argument, and the inputs of a program that gives others in the clear. */
async function madePlain(secret: Properties, plain: Properties, options: ServiceOptions = {}) {
  const service = await startService(options);
  const saved = await existingInstance(service, { ...secret, __secrets: Object.keys(secret) });
  const before: Saved = { ...saved, state: unmarked(saved.state) };
  return { service, saved: before, news: changed(before, { ...plain, __secrets: undefined }) };
}

async function leftBy(work: Promise<unknown>): Promise<Properties> {
  const error = await failureOf(work);
  if (error instanceof InitializationError) return error.properties;
  throw error;
}

describe("the value of an argument that is no longer secret", () => {
  test.each<[string, Properties, Properties, string[]]>([
    ["a flavor", { flavor: "hush" }, { flavor: "m1.large" }, ["flavor"]],
    ["an address", { publicIp: "198.51.100.77" }, { publicIp: undefined }, ["ipAddress", "publicIp"]],
    ["a name", { name: "hush" }, { name: "web" }, ["name", "url"]],
    ["a label", { labels: { team: "a", deep: "hush" } }, { labels: { team: "a" } }, ["labels"]],
  ])("stays secret if the service may not have changed it: %s", async (_what, secret, plain, names) => {
    const { service, saved, news } = await madePlain(secret, plain);
    service.emulator.fail(LOST);
    const outs = await leftBy(service.instances.update(saved.id, saved.state, news));
    expect(outs.__sealed).toEqual(names);
    expect(names.filter((name) => !isMarked(outs[name]))).toEqual([]);
  });

  test("stays secret if the service does not change it, also through a refresh, until it is changed", async () => {
    const { service, saved, news } = await madePlain({ flavor: "hush" }, { flavor: "m1.large" });
    service.emulator.ignoreUpdatesOf("flavor");
    const outs = await leftBy(service.instances.update(saved.id, saved.state, news));
    expect(isMarked(outs.flavor)).toBe(true);

    const { instances } = await service.newProviders();
    const found = await instances.read(saved.id, unmarked(outs));
    const { props = {}, inputs = {} } = found;
    expect([props.flavor, inputs.flavor].map(isMarked)).toEqual([true, true]);
    service.emulator.refuseUpdatesOf("network", { detail: "hush can't be in that network" });
    const other = { ...news, network: "backend" };
    const { message } = await failureOf(instances.update(saved.id, unmarked(props), other));
    expect(message).toContain("[secret] can't be in that network");

    service.emulator.edit(saved.id, { flavor: "m1.large" });
    const { outs: last } = await instances.update(saved.id, unmarked(props), news);
    expect(last).toMatchObject({ flavor: "m1.large" });
    expect(last).not.toHaveProperty("__sealed");
  });

  test("stays secret in an output that repeats it after the update", async () => {
    const behaviour = { extraFields: { url: "https://example.com/hush-name" } };
    const { service, saved, news } = await madePlain({ name: "hush-name" }, { name: "web" }, { behaviour });
    let state = saved.state;
    for (const flavor of ["m1.small", "m1.large"]) {
      const { outs } = await service.instances.update(saved.id, state, { ...news, flavor });
      expect(outs.name).toBe("web");
      expect(isMarked(outs.url)).toBe(true);
      state = unmarked(outs);
    }
  });

  test.each(["hush-name-slug", "my-db-1"])(
    "stays secret in a URL that keeps a part of it: %s",
    async (slug) => {
      const spelling = (now: object): object => {
        const { flavor } = Object(now);
        return { ...now, url: `https://example.com/${flavor}/${slug}` };
      };
      const { service, saved, news } = await madePlain(
        { name: "Hush name" },
        { name: "web" },
        { behaviour: { spelling } },
      );
      let state = saved.state;
      for (const flavor of ["m1.medium", "m1.large"]) {
        const { outs } = await service.instances.update(saved.id, state, { ...news, flavor });
        expect(outs.url).toMatchObject({ value: expect.stringContaining(flavor) });
        state = unmarked(outs);
      }
    },
  );

  test("is in plaintext if the program sets the same value in plaintext", async () => {
    const same = { flavor: "m1.small", name: "web" };
    const { service, saved, news } = await madePlain(same, { ...same, network: "backend" });
    const { outs } = await service.instances.update(saved.id, saved.state, news);
    expect(outs).toMatchObject({ ...same, url: expect.any(String) });
    expect(outs).not.toHaveProperty("__sealed");
  });
});

test("an argument that an update of unknown outcome has made secret is secret in the outputs of a refresh", async () => {
  const service = await startService();
  const saved = await existingInstance(service, { labels: { team: "a" } });
  const before: Saved = { ...saved, state: unmarked(saved.state) };
  service.emulator.fail({ kind: "lost-reply", method: "PUT", times: 99 });
  const news = changed(before, { labels: { team: "a", deep: "hush" }, __secrets: ["labels"] });
  const outs = await leftBy(service.instances.update(saved.id, before.state, news));
  const found = await (await service.newProviders()).instances.read(saved.id, unmarked(outs));
  if (!("id" in found)) throw new Error("it no longer exists");
  expect(Object(unmarked(found.props).labels)).toEqual({ team: "a", deep: "hush" });
  expect([found.props.labels, found.inputs.labels].map(isMarked)).toEqual([true, true]);
});

test("an argument that becomes secret without another change is secret in all outputs after an update that sends nothing", async () => {
  const service = await startService();
  const saved = await existingInstance(service, { publicIp: "198.51.100.77" });
  const before = unmarked(saved.state);
  expect(before.ipAddress).toBe("198.51.100.77");
  const { instances } = await service.newProviders();
  const news = { ...saved.inputs, __secrets: ["publicIp"] };
  const { inputs } = await instances.check(saved.inputs, news);
  expect(await instances.diff(saved.id, before, inputs)).toMatchObject({ changes: true, replaces: [] });
  const { outs } = await instances.update(saved.id, before, inputs);
  expect(isMarked(outs.ipAddress)).toBe(true);
  expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
  await instances.check(saved.inputs, news);
  expect(await instances.diff(saved.id, unmarked(outs), inputs)).toMatchObject({ changes: false });
});

test("labels are secret as a whole, even if only another one becomes secret", async () => {
  const service = await startService();
  const labels = { team: "hush", tier: "open" };
  const { state } = await existingInstance(service, { labels, __secrets: ["labels"] });
  expect(isMarked(state.labels)).toBe(true);
});

test("an argument that became secret beside another change stays secret if `ignoreChanges` keeps it", async () => {
  const service = await startService();
  const saved = await existingInstance(service, { labels: { auth: "open-password" } });
  const { instances } = await service.newProviders();
  let { inputs, state } = { inputs: saved.inputs, state: unmarked(saved.state) };
  async function up(news: Properties): Promise<void> {
    const checked = (await instances.check(inputs, news)).inputs;
    await instances.diff(saved.id, state, checked);
    const { outs } = await instances.update(saved.id, state, checked);
    [inputs, state] = [checked, unmarked(outs)];
  }
  const labels = { auth: "hush-password" };
  await up({ ...saved.inputs, labels, __secrets: ["labels"] });
  // The engine gives what the state has for what is ignored.
  const ignoring = { ...saved.inputs, labels, __ignoreChanges: ["labels"] };
  await up({ ...ignoring, flavor: "m1.large" });
  service.emulator.refuseUpdatesOf("flavor", { detail: "not with hush-password" });
  const { message } = await failureOf(up({ ...ignoring, flavor: "m1.huge" }));
  expect(message).toContain("not with [secret]");
});
