import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
import type { UnfinishedEntry } from "../../src/journal/entry";
import { type Journal, openJournal } from "../../src/journal/journal";
import { recordRegistration, warnOfUnfinished } from "../../src/resources/dynamic-resource";
import { afterRun } from "../../src/resources/sdk";
import { emptyFolder } from "../journal/folder";
import { type Run, registered } from "./registered";

const args: InstanceArgs = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };
const urnOf = (type: string, name: string): string =>
  `urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:${type}::${name}`;
const at = Date.UTC(2026, 10, 22, 11, 30, 5);
const endpoint = "https://api.example.com/v1";
const web: UnfinishedEntry = { urn: urnOf("Instance", "web"), endpoint, at, id: "ins-1" };
const api: UnfinishedEntry = {
  urn: urnOf("Instance", "api"),
  endpoint,
  at,
  operation: { id: "op-7", url: "https://api.example.com/v1/operations/op-7" },
};
const shop: UnfinishedEntry = { urn: urnOf("Project", "shop"), endpoint, at };

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

  test("causes a warning without ids if the name is secret, because services may derive ids from names", async () => {
    const secrets = ["name"];
    const operation = { id: "create-hunter2", url: "https://api.example.com/v1/operations/create-hunter2" };
    const [warning = ""] = await warnings(() => {}, [
      { ...web, id: "hunter2", secrets },
      { ...api, operation, secrets },
    ]);
    expect(warning).toContain('  instance "web", started 2026-11-22T11:30:05Z');
    expect(warning).toContain('  instance "api", started 2026-11-22T11:30:05Z');
    expect(warning).not.toContain("hunter2");
  });

  test("causes a warning if a resource has an object with the same id at another endpoint", async () => {
    const program = () => new Instance("server", args);
    const at = (endpoint: string): Run => ({ outputs: () => ({ __endpoint: endpoint }) });
    const entry = { ...web, id: "server-id" };
    expect(await warnings(program, [entry], at(endpoint))).toEqual([]);
    expect(await warnings(program, [entry], at("https://eu.example.com/v1"))).toHaveLength(1);
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
    const limit = new AbortController();
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
    onTestFinished(() => timeout.mockRestore());
    const happened = ended(null, () => {
      queueMicrotask(() => limit.abort());
      return new Promise(() => {});
    });
    expect(await happened).toEqual(["the engine has ended its work", "work", "the program ends"]);
    expect(timeout).toHaveBeenCalledWith(10_000);
  });
});

describe("the journal entry of a creation", () => {
  const webUrn = urnOf("Instance", "web");
  const shopUrn = urnOf("Project", "shop");

  let dir: string;
  let journal: Journal;
  beforeEach(async () => {
    dir = emptyFolder();
    journal = openJournal({ endpoint: "https://api.example.com/v1", dir, warn: (text) => expect.fail(text) });
    for (const [urn, id, at] of [
      [webUrn, "web-id", 1],
      [shopUrn, "shop-id", 2],
    ] as const) {
      const key = `key of ${id}`; // the key that the engine has saved, which can differ from the program's
      await journal.begin({ urn, key, resource: key, body: "{}", at });
      await journal.extend(key, { id });
    }
    vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", dir);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    pulumi.runtime.setAllConfig({});
  });

  /** Returns the URNs of the entries that remain after the program has ended. */
  async function left(program: () => unknown, run?: Run): Promise<string[]> {
    await registered(program, { outputs: (name) => ({ __key: `key of ${name}-id` }), ...run });
    // A confirmation doesn't report its end, because the program doesn't wait for it.
    const urnsLeft = async (): Promise<string[]> => (await journal.list()).map(({ urn }) => urn).sort();
    let before = await urnsLeft();
    for (let unchanged = 0; unchanged < 50; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = await urnsLeft();
      unchanged = now.length === before.length ? unchanged + 1 : 0;
      before = now;
    }
    return before;
  }

  const both = (): unknown => [new Project("shop", { region: "eu-1" }), new Instance("web", args)];

  test("is removed once the id of its resource resolves, if there is no engine", async () => {
    expect(await left(both)).toEqual([]);
  });

  describe("while an engine runs", () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
    afterEach(() => void vi.useRealTimers());

    /** Declares both resources. Then the engine returns success, or a few seconds pass, after which the engine runs or has ended. */
    const then = (end: "success" | "alive" | "dead") => async (): Promise<void> => {
      const monitor = Object(pulumi.runtime.getMonitor());
      const dead = end === "dead" ? new Error("no connection") : undefined;
      monitor.waitForReady = (_: number, answer: (error?: Error) => void) => answer(dead);
      monitor.signalAndWaitForShutdown = (_: unknown, answer: (error: Error | null) => void) =>
        answer(end === "success" ? null : new Error("canceled"));
      afterRun(async () => {});
      both();
      await pulumi.runtime.disconnect(true).catch(() => {});
      if (end !== "success") await vi.advanceTimersByTimeAsync(5_000);
    };

    test("is kept if the engine ends after it has returned the id, because it may not have saved the object", async () => {
      expect(await left(then("dead"))).toEqual([webUrn, shopUrn]);
    });

    test.each(["success", "alive"] as const)(
      "is removed as soon as the engine has certainly saved the object: %s",
      async (end) => {
        expect(await left(then(end))).toEqual([]);
      },
    );
  });

  test("is kept if it is for another object", async () => {
    await journal.begin({ urn: webUrn, key: "key-2", resource: "key-2", body: "{}", at: 1 });
    await journal.extend("key-2", { id: "ins-other" });
    expect(await left(both)).toEqual([webUrn]);
  });

  test("is kept in a preview, which saves nothing", async () => {
    expect(await left(both, { preview: true })).toEqual([webUrn, shopUrn]);
  });

  test("is kept if the program only reads the object", async () => {
    const look = (): unknown => [Project.get("shop", "shop-id"), Instance.get("web", "web-id")];
    expect(await left(look)).toEqual([webUrn, shopUrn]);
  });

  /** Writes the entry of an instance that a provider process with this environment has created. */
  async function begunWith(PULUMI_SKIP_CHECKPOINTS: string): Promise<void> {
    const env = { PULUMI_SKIP_CHECKPOINTS };
    const provider = openJournal({ endpoint: "https://api.example.com/v1", dir, env, warn: expect.fail });
    const key = "key of web-id";
    await journal.remove(key);
    await provider.begin({ urn: webUrn, key, resource: key, body: "{}", at: 1 });
    await provider.extend(key, { id: "web-id" });
  }

  test.each(["true", "1", "True"])(
    "is kept if its provider has PULUMI_SKIP_CHECKPOINTS %s",
    async (value) => {
      await begunWith(value);
      expect(await left(both)).toEqual([webUrn]);
    },
  );

  test.each(["false", "0", ""])(
    "is removed if its provider has PULUMI_SKIP_CHECKPOINTS %j",
    async (value) => {
      await begunWith(value);
      expect(await left(both)).toEqual([]);
    },
  );

  test("is found in the folder of the stack, which takes precedence over the environment and is trimmed", async () => {
    vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", emptyFolder());
    pulumi.runtime.setAllConfig({ "cloudinfra:journalDir": ` ${dir}\n` });
    expect(await left(both)).toEqual([]);
  });

  test("is found in a journalDir that is relative to the program's folder", async () => {
    vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", path.relative(process.cwd(), dir));
    expect(await left(both)).toEqual([]);
  });

  test("doesn't make the program fail if the journal can't be used", async () => {
    vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", __filename);
    const rejected = vi.fn();
    process.on("unhandledRejection", rejected);
    expect(await left(both)).toEqual([webUrn, shopUrn]);
    process.off("unhandledRejection", rejected);
    expect(rejected).not.toHaveBeenCalled();
  });
});
