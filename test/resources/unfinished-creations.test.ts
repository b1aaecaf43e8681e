import * as pulumi from "@pulumi/pulumi";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
import type { UnfinishedEntry } from "../../src/journal/entry";
import { afterRun } from "../../src/resources/sdk";
import { recordRegistration, warnOfUnfinished } from "../../src/resources/unfinished-creations";
import { type Run, registered } from "./registered";

const args: InstanceArgs = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };
const urnOf = (type: string, name: string): string =>
  `urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:${type}::${name}`;
const at = Date.UTC(2026, 10, 22, 11, 30, 5);
const web: UnfinishedEntry = { urn: urnOf("Instance", "web"), at, id: "ins-1" };
const api: UnfinishedEntry = {
  urn: urnOf("Instance", "api"),
  at,
  operation: { id: "op-7", url: "https://api.example.com/v1/operations/op-7" },
};
const shop: UnfinishedEntry = { urn: urnOf("Project", "shop"), at };

beforeEach(() => {
  vi.spyOn(pulumi.log, "warn").mockResolvedValue();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** What a program that registers these resources is warned of. */
async function warnings(
  program: () => unknown,
  entries: readonly UnfinishedEntry[],
  run?: Run,
): Promise<string[]> {
  await registered(program, run);
  await warnOfUnfinished(async () => entries);
  return vi.mocked(pulumi.log.warn).mock.calls.map(([message]) => message);
}

describe("an interrupted creation whose resource the program no longer declares", () => {
  test("causes a warning that describes the creation and the possible next steps", async () => {
    const [warning, ...more] = await warnings(() => {}, [web, api, shop]);
    expect(more).toEqual([]);
    expect(warning).toBe(
      [
        "cloudinfra: 3 interrupted creations of the stack dev are unfinished, and the program no longer declares their resources:",
        `  instance "web" with the id ins-1, started 2026-11-22T11:30:05Z`,
        `    ${web.urn}`,
        `  instance "api" with the operation op-7, started 2026-11-22T11:30:05Z`,
        `    ${api.urn}`,
        `  project "shop", which may not exist, started 2026-11-22T11:30:05Z`,
        `    ${shop.urn}`,
        "To let Pulumi manage an object, declare its resource again and run `pulumi up`.",
        "Otherwise, delete the object in the service, unless you removed it from the stack on purpose or `npx pulumi-cloudinfra recover` reports that the stack manages it. Then run `npx pulumi-cloudinfra recover --forget <urn>`.",
      ].join("\n"),
    );
  });

  test("causes no warning if the resource is declared, even under another URN", async () => {
    const program = () => [
      new Instance("web", args),
      new Project("store", { region: "eu-1" }, { aliases: [{ name: "shop" }] }),
    ];
    expect(await warnings(program, [web])).toEqual([]);
    // The provider has moved the entry of the former URN if it has settled it.
    const [warning = ""] = await warnings(program, [web, api, shop]);
    expect(warning).toContain('instance "api"');
    expect(warning).toContain('"shop"');
    expect(warning).not.toContain('"web"');
  });

  test("causes no warning if another resource of the same type has its object", async () => {
    const program = () => new Instance("server", args);
    const outputs = { ...web, id: "server-id" };
    expect(await warnings(program, [outputs])).toEqual([]);
    expect(await warnings(() => new Project("server", { region: "eu-1" }), [outputs])).toHaveLength(1);
  });

  test("causes a warning even if another run in the same process declared the resource", async () => {
    await warnings(() => new Instance("web", args), [web]);
    const [warning] = await warnings(() => {}, [web]);
    expect(warning).toContain('instance "web"');
  });
});

test("a resource that the engine could not register is treated as not declared", async () => {
  await pulumi.runtime.setMocks({ call: () => ({}), newResource: () => ({ id: "", state: {} }) });
  const urn = pulumi.output(Promise.reject<string>(new Error("not registered")));
  pulumi.recover(urn, () => ""); // or the run would end with an unhandled rejection
  await recordRegistration({ urn, id: urn });
  await warnOfUnfinished(async () => [web]);
  expect(pulumi.log.warn).toHaveBeenCalledOnce();
});

describe("work after a run", () => {
  /** Ends a program whose engine answers the end of the registrations in this way. Returns what happened, in order. */
  async function ended(error: Error | null, ...works: (() => Promise<void>)[]): Promise<string[]> {
    const happened: string[] = [];
    await pulumi.runtime.setMocks({ call: () => ({}), newResource: () => ({ id: "", state: {} }) });
    Object.assign(Object(pulumi.runtime.getMonitor()), {
      signalAndWaitForShutdown: (_: unknown, callback: (error: Error | null) => void) => {
        happened.push("the engine has ended its work");
        callback(error);
      },
    });
    for (const work of works) {
      afterRun(() => {
        happened.push("work");
        return work();
      });
    }
    await pulumi.runtime.disconnect(true).catch((failure: Error) => happened.push(failure.message));
    happened.push("the program ends");
    return happened;
  }
  const nothing = async (): Promise<void> => {};

  test("starts after all work of the engine and ends before the program", async () => {
    const expected = ["the engine has ended its work", "work", "the program ends"];
    expect(await ended(null, nothing)).toEqual(expected);
  });

  test("runs once, even if several resources request it", async () => {
    expect(await ended(null, nothing, nothing)).toHaveLength(3);
  });

  test("is skipped if the engine fails", async () => {
    expect(await ended(new Error("unavailable"), nothing)).not.toContain("work");
  });

  test("doesn't make the program fail if it fails", async () => {
    const failing = () => Promise.reject(new Error("no disk"));
    expect(await ended(null, failing)).toEqual(["the engine has ended its work", "work", "the program ends"]);
  });

  test("doesn't keep the program running if it never ends", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const happened = ended(null, () => {
      queueMicrotask(() => vi.advanceTimersByTime(10_000));
      return new Promise(() => {});
    });
    expect(await happened).toEqual(["the engine has ended its work", "work", "the program ends"]);
  });
});
