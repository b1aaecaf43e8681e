import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Sessions } from "../../src/provider/context";
import { findProjects } from "../../src/provider/functions";
import { ResourceTracker } from "../../src/provider/resource-tracker";
import { oneInstance } from "./one-instance";
import { instanceNews, UNKNOWN_TEXT } from "./samples";
import { failureOf, startService } from "./service";

const NAMED = { providerName: "eu" };

test("an instance whose project has another provider fails with a hint that names the provider", async () => {
  const service = await startService({ config: NAMED });
  const { message } = await failureOf(service.instances.create(instanceNews({ project: "prj-1" })));
  expect(message).toContain(
    'hint: Check the `project` property. The instance and its project must use the same provider ("eu")',
  );
});

describe("a creation that began with another provider", () => {
  const SHORT = { __timeouts: { create: "5s", update: "5s" } };
  const cutOff = { behaviour: { operationMs: 3_600_000 } };

  test("is not resumed from the journal: the check fails, in previews too", async () => {
    const { service, web } = await oneInstance(cutOff);
    await web.killedUp();
    const { instances } = await service.newProviders(NAMED);
    const posts = web.posts().length;
    for (const __key of [randomUUID(), UNKNOWN_TEXT]) {
      const { failures } = await instances.check({}, { ...web.news(), __key });
      expect(failures).toEqual([
        expect.objectContaining({ reason: expect.stringContaining("with the default provider") }),
      ]);
      expect(failures[0]?.reason).toContain('the resource now uses the provider "eu"');
      expect(failures[0]?.reason).not.toContain("--endpoint");
    }
    expect(web.posts()).toHaveLength(posts);
    service.emulator.finishOperations();
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test.each([undefined, "early"] as const)(
    "is not resumed from the state (result link: %s)",
    async (resultLink) => {
      const { service, web } = await oneInstance({
        behaviour: { ...cutOff.behaviour, ...(resultLink && { resultLink }) },
      });
      expect(await web.up(SHORT)).toContain("timed out after");
      const { id, state, inputs } = web.inState();
      const asked = service.emulator.requests.length;
      const { instances } = await service.newProviders(NAMED);
      const { message } = await failureOf(instances.update(id, state, inputs));
      expect(message).toContain(
        'the default provider started the creation of this instance, but the resource now uses the provider "eu"',
      );
      expect(service.emulator.requests).toHaveLength(asked);
      service.emulator.finishOperations();
      expect(await web.up(SHORT)).toBeUndefined();
      await web.expectOne();
    },
  );
});

describe("the process of an explicit provider", () => {
  const stack = (texts: Readonly<Record<string, string>>) => (key: string) =>
    texts[key.replace("cloudinfra:", "")];
  const texts = { endpoint: "https://api.example.com", token: "t-0" };

  test("keeps its session as long as the settings stay the same", () => {
    const sessions = new Sessions({});
    sessions.configure(stack(texts));
    const own = sessions.open();
    sessions.configure(stack({ ...texts }));
    expect(sessions.open()).toBe(own);
    sessions.configure(stack({ ...texts, token: "t-2" }));
    expect(sessions.open()).not.toBe(own);
  });

  test("distinguishes objects with the same id at different endpoints", () => {
    const tracker = new ResourceTracker();
    const here = { endpoint: "https://eu", kind: "instance", id: "1" } as const;
    const there = { ...here, endpoint: "https://us" };
    tracker.recordCreated("urn:a", here, "key");
    expect([here, there].map((object) => tracker.liveOwner(object)?.urn)).toEqual(["urn:a", undefined]);
    tracker.recordDeleted(there);
    expect([here, there].map((object) => tracker.wasDeleted(object))).toEqual([false, true]);
    tracker.recordCheckBeforeCreate("urn:a");
    expect(tracker.liveOwner(here)).toBeUndefined();
  });

  test("names the provider in an error about its endpoint, in functions too", async () => {
    const sessions = new Sessions({});
    const setting = stack({ ...texts, ...NAMED, endpoint: "eu.example.com" });
    sessions.configure(setting);
    expect(() => sessions.open()).toThrow('the endpoint of the provider "eu" must be a URL');
    await expect(findProjects(setting, sessions)).rejects.toThrow('the endpoint of the provider "eu"');
  });
});
