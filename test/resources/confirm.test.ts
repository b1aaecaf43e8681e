import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
import { type Journal, openJournal } from "../../src/journal/journal";
import { emptyFolder } from "../journal/folder";
import { type Run, registered } from "./registered";

const args: InstanceArgs = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };
const web = "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Instance::web";
const shop = "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Project::shop";

let dir: string;
let journal: Journal;
beforeEach(async () => {
  dir = emptyFolder();
  journal = openJournal({ endpoint: "https://api.example.com/v1", dir, warn: (text) => expect.fail(text) });
  for (const [urn, id, at] of [
    [web, "web-id", 1],
    [shop, "shop-id", 2],
  ] as const) {
    const key = `key of ${id}`; // what the engine has saved, which need not be the key that the program made
    await journal.begin({ urn, key, resource: key, body: "{}", at });
    await journal.extend(key, { id });
  }
  vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", dir);
});
afterEach(() => {
  vi.unstubAllEnvs();
  pulumi.runtime.setAllConfig({});
});

/** The entries that are left once the program's own work is done. */
async function left(program: () => unknown, run?: Run): Promise<string[]> {
  await registered(program, { outputs: (name) => ({ __key: `key of ${name}-id` }), ...run });
  // Nothing tells when a confirmation is over: the program doesn't wait for it either.
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

test("a resource's entry is removed once its id resolves, because the engine has saved it by then", async () => {
  expect(await left(both)).toEqual([]);
});

test("an entry of another object stays", async () => {
  await journal.begin({ urn: web, key: "key-2", resource: "key-2", body: "{}", at: 1 });
  await journal.extend("key-2", { id: "ins-other" });
  expect(await left(both)).toEqual([web]);
});

test("an entry stays in a preview, which saves nothing", async () => {
  expect(await left(both, { preview: true })).toEqual([web, shop]);
});

test("an entry stays if the program only reads the object", async () => {
  const look = (): unknown => [Project.get("shop", "shop-id"), Instance.get("web", "web-id")];
  expect(await left(look)).toEqual([web, shop]);
});

/** The entry of an instance that a provider process with this environment has created. */
async function begunWith(PULUMI_SKIP_CHECKPOINTS: string): Promise<void> {
  const env = { PULUMI_SKIP_CHECKPOINTS };
  const provider = openJournal({ endpoint: "https://api.example.com/v1", dir, env, warn: expect.fail });
  const key = "key of web-id";
  await journal.remove(key);
  await provider.begin({ urn: web, key, resource: key, body: "{}", at: 1 });
  await provider.extend(key, { id: "web-id" });
}

test.each(["true", "1", "True"])(
  "an entry stays if its provider has PULUMI_SKIP_CHECKPOINTS %s",
  async (value) => {
    await begunWith(value);
    expect(await left(both)).toEqual([web]);
  },
);

test.each(["false", "0", ""])(
  "an entry is removed if its provider has PULUMI_SKIP_CHECKPOINTS %j",
  async (value) => {
    await begunWith(value);
    expect(await left(both)).toEqual([]);
  },
);

test("the journal's folder comes from the stack before the environment, and is trimmed", async () => {
  vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", emptyFolder());
  pulumi.runtime.setAllConfig({ "cloudinfra:journalDir": ` ${dir}\n` });
  expect(await left(both)).toEqual([]);
});

test("a relative journalDir starts at the program's folder", async () => {
  vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", path.relative(process.cwd(), dir));
  expect(await left(both)).toEqual([]);
});

test("a program doesn't fail because of a journal that can't be used", async () => {
  vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", __filename);
  const rejected = vi.fn();
  process.on("unhandledRejection", rejected);
  expect(await left(both)).toEqual([web, shop]);
  process.off("unhandledRejection", rejected);
  expect(rejected).not.toHaveBeenCalled();
});
