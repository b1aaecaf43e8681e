import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Emulator, startEmulator } from "../../../src/emulator";
import { deadlineIn } from "../../../src/operations/deadline";
import type { Properties } from "../../../src/provider/host";
import { findInstances, findProjects } from "../../../src/provider/looks/lookups";
import { Memory } from "../../../src/provider/memory";
import { Sessions } from "../../../src/provider/session";
import { instanceNews, projectNews, UNKNOWN_TEXT } from "../samples";
import { changed, failureOf, madeInstance, type Saved, type Service, startService } from "../service";

/** A second service, for the time of a test. */
async function another(): Promise<Emulator> {
  const emulator = await startEmulator({ token: "token-of-eu", behaviour: { operationMs: 0 } });
  onTestFinished(() => emulator.stop());
  return emulator;
}

const settingsOf = ({ endpoint, token }: Emulator): object => ({ endpoint, token });

/** A service whose settings have profiles, too. */
async function startWith(profiles: (own: Emulator) => object): Promise<Service> {
  const service = await startService();
  const config = { profiles: JSON.stringify(profiles(service.emulator)) };
  const anew: Service["anew"] = (more = {}, clock) => service.anew({ ...config, ...more }, clock);
  return { ...service, anew, ...(await anew()) };
}

/** What the next `up` does with a resource whose arguments have changed. */
async function nextUp({ anew }: Service, saved: Saved, more: Properties) {
  const { instances } = await anew();
  const { inputs, failures } = await instances.check(saved.inputs, changed(saved, more));
  expect(failures).toEqual([]);
  const difference = await instances.diff(saved.id, saved.state, inputs);
  const update = () => instances.update(saved.id, saved.state, inputs);
  return { inputs, difference, update };
}

const writes = (emulator: Emulator): string[] =>
  emulator.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);

describe("a resource with a profile", () => {
  test("is made, read and deleted where the profile leads, and keeps its name in inputs and outputs", async () => {
    const eu = await another();
    const service = await startWith(() => ({ eu: settingsOf(eu) }));
    const project = eu.addProject().id;
    const saved = await madeInstance(service, { project, profile: "eu" });
    expect(eu.instances.has(saved.id)).toBe(true);
    expect(saved.inputs.profile).toBe("eu");
    expect(saved.state).toMatchObject({ profile: "eu", __endpoint: eu.endpoint });
    const { instances } = await service.anew();
    const read = await instances.read(saved.id, saved.state);
    expect(read).toMatchObject({ id: saved.id, props: { profile: "eu" }, inputs: { profile: "eu" } });
    await instances.delete(saved.id, saved.state);
    expect(eu.instances.size).toBe(0);
    expect(service.emulator.requests).toEqual([]);
    expect(
      eu.requests.some(({ method, body }) => method === "POST" && JSON.stringify(body).includes("profile")),
    ).toBe(false);
  });

  test("has nothing to do with those without: no profile is left in their state", async () => {
    const service = await startService();
    const saved = await madeInstance(service);
    expect(saved.inputs).not.toHaveProperty("profile");
    expect(saved.state).not.toHaveProperty("profile");
  });

  test("in a project of another profile is told so by the 404", async () => {
    const eu = await another();
    const service = await startWith(() => ({ eu: settingsOf(eu) }));
    const project = service.emulator.addProject().id;
    const { message } = await failureOf(madeInstance(service, { project, profile: "eu" }));
    expect(message).toContain(
      `hint: the profile "eu" sees no such project: an instance must have the profile of its project`,
    );
  });

  test("that there is not is an error when the service is needed, and none before", async () => {
    const service = await startWith((own) => ({ eu: settingsOf(own), us: settingsOf(own) }));
    const { inputs, failures } = await service.instances.check({}, instanceNews({ profile: "asia" }));
    expect(failures).toEqual([]);
    const { message } = await failureOf(service.instances.create(inputs));
    expect(message).toContain(`there is no profile "asia"; there are: "eu", "us"`);
  });

  test.each([
    [7, "profile: must be a text, but is a number"],
    ["", "profile: must not be empty"],
    [UNKNOWN_TEXT, "profile: must be known at once: a text, not an output of another resource"],
  ])("%j is refused", async (profile, reason) => {
    const service = await startService();
    const checks = [
      service.instances.check({}, instanceNews({ profile })),
      service.projects.check({}, projectNews({ profile })),
    ];
    for (const { failures } of await Promise.all(checks))
      expect(failures).toEqual([{ property: "", reason }]);
  });
});

describe("two resources with profiles whose settings a preview doesn't have", () => {
  const newsOf = (profile: string, __import?: string): Properties =>
    projectNews({ __urn: `${projectNews().__urn}-${profile}`, __key: randomUUID(), profile, __import });

  test("may import objects with the same id", async () => {
    const { projects } = await startService();
    for (const profile of ["eu", "us"])
      expect((await projects.check({}, newsOf(profile, "1"))).failures).toEqual([]);
    expect((await projects.check({}, { ...newsOf("us", "1"), __urn: "urn:other" })).failures).toHaveLength(1);
  });

  test("may have objects with the same id", async () => {
    const { projects } = await startService();
    for (const profile of ["eu", "us"]) {
      const news = newsOf(profile);
      const { inputs } = await projects.check(news, news);
      expect(await projects.diff("1", news, inputs)).toMatchObject({ changes: false });
    }
  });
});

describe("another name for the same place", () => {
  test.each([
    ["eu", "europe"],
    [undefined, "eu"],
    ["eu", undefined],
  ])("(%s → %s) is taken into the state by an update that asks for no change", async (before, after) => {
    const service = await startWith((own) => ({ eu: settingsOf(own), europe: settingsOf(own) }));
    const saved = await madeInstance(service, before === undefined ? {} : { profile: before });
    const made = writes(service.emulator).length;
    const { inputs, difference, update } = await nextUp(service, saved, { profile: after });
    expect(difference).toEqual({ changes: undefined, replaces: [], deleteBeforeReplace: true });
    expect(inputs).toEqual(changed(saved, { profile: after })); // nothing hidden is shown beside it
    const { outs } = await update();
    expect(outs).toEqual(
      changed({ ...saved, inputs: { ...saved.state } }, { profile: after, __provider: undefined }),
    );
    expect(writes(service.emulator)).toHaveLength(made);
  });

  test("may come with a change", async () => {
    const service = await startWith((own) => ({ eu: settingsOf(own), europe: settingsOf(own) }));
    const saved = await madeInstance(service, { profile: "eu" });
    const { update } = await nextUp(service, saved, { profile: "europe", flavor: "m1.large" });
    expect((await update()).outs).toMatchObject({ profile: "europe", flavor: "m1.large" });
  });
});

describe("a profile that leads elsewhere than where the object is", () => {
  test.each(["another profile", "the same one, set otherwise"])(
    "is an error, and nothing is made anew, changed or deleted: %s",
    async (which) => {
      const [eu, us] = [await another(), await another()];
      const service = await startWith(() => ({ eu: settingsOf(eu), us: settingsOf(us) }));
      const saved = await madeInstance(service, { project: eu.addProject().id, profile: "eu" });
      const asked = eu.requests.length;
      const moved = { profiles: JSON.stringify({ eu: settingsOf(us) }) };
      const next = which === "another profile" ? service : { ...service, anew: () => service.anew(moved) };
      const profile = which === "another profile" ? "us" : "eu";
      const { difference, update } = await nextUp(next, saved, { profile, flavor: "m1.large" });
      expect(difference.replaces).toEqual([]);
      const { message } = await failureOf(update());
      expect(message).toContain(
        `instance ${saved.id} was recorded at ${eu.endpoint}, but the endpoint of the profile "${profile}" is ${us.endpoint}`,
      );
      expect(message).toContain("Give the resource the profile that leads there");
      expect([eu.requests.length, us.requests.length]).toEqual([asked, 0]);
    },
  );
});

describe("a process", () => {
  const stack = (texts: Readonly<Record<string, string>>) => (key: string) =>
    texts[key.replace("cloudinfra:", "")];
  const texts = {
    ...{ endpoint: "https://api.example.com", token: "t-0" },
    profiles: JSON.stringify({ eu: { endpoint: "https://eu.example.com", token: "t-1" } }),
  };

  test("has one session for each profile, and the others stay where one is set otherwise", () => {
    const sessions = new Sessions({});
    sessions.configure(stack(texts));
    const [own, eu] = [sessions.open(), sessions.open("eu")];
    expect(eu).not.toBe(own);
    expect(eu.client.endpoint).toBe("https://eu.example.com/v1");
    expect([sessions.open(), sessions.open("eu")]).toEqual([own, eu]);
    sessions.configure(stack({ ...texts, token: "t-2" }));
    expect(sessions.open("eu")).toBe(eu);
    expect(sessions.open()).not.toBe(own);
  });

  test("knows one service's ids from another's: what lives here is not spared there", () => {
    const memory = new Memory();
    const here = { endpoint: "https://eu", kind: "instance", id: "1" } as const;
    const there = { ...here, endpoint: "https://us" };
    memory.made("urn:a", here, "key");
    expect([here, there].map((object) => memory.liveAs(object)?.urn)).toEqual(["urn:a", undefined]);
    memory.deleted(there);
    expect([here, there].map((object) => memory.isGone(object))).toEqual([false, true]);
    memory.toBeCreated("urn:a");
    expect(memory.liveAs(here)).toBeUndefined();
  });

  test("says of a profile's endpoint whose it is", () => {
    const sessions = new Sessions({});
    const profiles = JSON.stringify({ eu: { endpoint: "eu.example.com", token: "t-1" } });
    sessions.configure(stack({ ...texts, profiles }));
    expect(() => sessions.open("eu")).toThrow(`the endpoint of the profile "eu" is not a URL`);
  });
});

test("the functions ask where their profile leads, and tell the service nothing of it", async () => {
  const [own, eu] = [await another(), await another()];
  eu.addInstance({ project: eu.addProject({ name: "there", region: "eu" }).id, name: "web" });
  const texts = { ...settingsOf(own), profiles: JSON.stringify({ eu: settingsOf(eu) }) };
  const setting = (key: string) => Object.entries(texts).find(([name]) => `cloudinfra:${name}` === key)?.[1];
  const sessions = new Sessions({});
  expect(await findInstances(setting, { profile: "eu" }, sessions)).toHaveLength(1);
  expect(await findProjects(setting, { profile: "eu" }, sessions)).toMatchObject([{ name: "there" }]);
  expect(await findProjects(setting, {}, sessions)).toEqual([]);
  expect(eu.requests.map(({ query }) => query).join()).not.toContain("profile");
  await expect(findProjects(setting, { profile: "us" }, sessions)).rejects.toThrow(
    `listing projects failed: there is no profile "us"; there are: "eu"`,
  );
  const { client, clock } = sessions.open("eu");
  expect(await client.projects.list({ deadline: deadlineIn(1000, clock) })).toHaveLength(1);
});
