import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { openJournal } from "../../src/journal/journal";
import {
  creating,
  ENDPOINT,
  exported,
  hiddenSecret,
  INSTANCE,
  instanceInputs,
  KEY,
  OTHER_KEY,
  PROJECT,
  projectInputs,
  resource,
  STACK_URN,
  secret,
  TOKEN,
  urnOf,
} from "./exports";
import { machine } from "./run-recover";

const WEB = urnOf(INSTANCE, "web");
const SSH_KEY = "ssh-ed25519 AAAAnever-to-be-seen me";
const web = creating(resource(INSTANCE, "web", instanceInputs({ sshKeys: secret([SSH_KEY]) })));
const killed = exported({ pending: [web, creating(resource(PROJECT, "p", projectInputs()))] });
const CLEAR = `pulumi refresh --yes --skip-preview --clear-pending-creates --target ${STACK_URN}`;

describe("recover", () => {
  it("writes an entry for each interrupted creation where the provider looks for it, and prints the next step", async () => {
    const { dir, journal, write, recover, files } = machine();
    const { code, stdout, stderr } = await recover(["--file", write(killed)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain('Interrupted creation of instance "web": wrote a journal entry');
    expect(stdout).toContain('Interrupted creation of project "p": wrote a journal entry');
    expect(stdout).toContain(CLEAR);
    expect(await journal.read({ urn: WEB })).toMatchObject({
      key: KEY,
      backend: dir,
      endpoint: ENDPOINT,
      recovered: true,
    });
    expect(await journal.read({ urn: urnOf(PROJECT, "p") })).toMatchObject({ key: OTHER_KEY });
    expect(files()).toHaveLength(2);
  });

  it("prints neither tokens nor arguments, and stores secret arguments only in the entry", async () => {
    const { journal, write, recover } = machine();
    const { stdout, stderr } = await recover(["--file", write(killed)]);
    expect(stdout + stderr).not.toMatch(/never-to-be-seen/);
    expect(stdout + stderr).not.toMatch(/ubuntu|prj-1/);
    const entries = JSON.stringify(await journal.list());
    expect(entries).toContain(SSH_KEY);
    expect(entries).not.toContain(TOKEN);
  });

  it("does the same when it runs again, and keeps an entry that holds more", async () => {
    const { journal, write, recover } = machine();
    const file = write(killed);
    await recover(["--file", file]);
    const operation = { id: "op-1", url: `${ENDPOINT}/operations/op-1` };
    await journal.extend(KEY, { operation });
    const before = await journal.list();
    const again = await recover(["--file", file]);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("already has a journal entry") });
    expect(await journal.list()).toEqual(before);
    expect(before.find(({ urn }) => urn === WEB)).toMatchObject({ operation });
  });

  it("moves the entry to the stack's new name, because another stack may have the former one", async () => {
    const { journal, write, recover } = machine();
    const former = WEB.replace("pulumi:dev", "pulumi:former");
    await journal.begin({ urn: former, key: KEY, resource: KEY, body: "{}", at: 1 });
    expect(await recover(["--file", write(killed)])).toMatchObject({ code: 0 });
    expect(await journal.read({ urn: former })).toBeUndefined();
    expect(await journal.read({ urn: WEB })).toMatchObject({ key: KEY, at: 1 });
  });

  it("never replaces the entry of another creation of the same resource", async () => {
    const { journal, write, recover } = machine();
    await journal.begin({ urn: WEB, key: OTHER_KEY, resource: OTHER_KEY, body: "{}", at: 1 });
    const { code, stdout } = await recover(["--file", write(killed)]);
    expect(code).toBe(0);
    expect(stdout).toContain("another creation of this resource comes first");
    expect(await journal.read({ urn: WEB })).toMatchObject({ key: OTHER_KEY, at: 1 });
  });

  it("writes nothing with --dry-run", async () => {
    const { write, recover, files } = machine();
    const { code, stdout } = await recover(["--dry-run", "--file", write(killed)]);
    expect(code).toBe(0);
    expect(stdout).toContain('instance "web": would write a journal entry');
    expect(files()).toEqual([]);
  });

  it("keeps a damaged journal entry in its place with --dry-run, and warns about it", async () => {
    const { dir, journal, write, recover } = machine();
    const names = (): string[] => readdirSync(dir, { recursive: true, encoding: "utf8" }).sort();
    await journal.begin({ urn: WEB, key: KEY, resource: KEY, body: "{}", at: 1 });
    const file = write(killed);
    const entry = path.join(dir, names().find((name) => name.endsWith(".jsonl")) ?? "");
    writeFileSync(entry, '{"urn":');
    const before = names();
    const { stdout, stderr } = await recover(["--dry-run", "--file", file]);
    expect(stdout).toContain('instance "web": would write a journal entry');
    expect(stderr).toContain(entry);
    expect(names()).toEqual(before);
    expect(readFileSync(entry, "utf8")).toBe('{"urn":');
  });

  it("prints one line if there is nothing to recover, with and without an endpoint", async () => {
    const { write, recover, files } = machine();
    const nothing = { code: 0, stdout: "Nothing to recover.\n", stderr: "" };
    expect(await recover(["--file", write(exported())])).toEqual(nothing);
    expect(await recover(["--file", write(exported({ settings: undefined }))])).toEqual(nothing);
    expect(files()).toEqual([]);
  });

  it("recovers nothing if the state holds the key, but prints how to clear Pulumi's list", async () => {
    const { write, recover, files } = machine();
    const made = resource(INSTANCE, "web", instanceInputs(), { id: "ins-1" });
    const { code, stdout } = await recover([
      "--file",
      write(exported({ resources: [made], pending: [web] })),
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Nothing to recover\.\n/);
    expect(stdout).toContain(CLEAR);
    expect(files()).toEqual([]);
  });

  it("fails if a creation can't be resumed, and writes entries for the others", async () => {
    const { journal, write, recover } = machine();
    const keyless = creating(resource(INSTANCE, "old", instanceInputs({ __key: undefined })));
    const { code, stdout } = await recover(["--file", write(exported({ pending: [keyless, web] }))]);
    expect(code).toBe(1);
    expect(stdout).toContain("instance \"old\": can't be resumed, because the state doesn't contain its key");
    expect(await journal.list()).toMatchObject([{ urn: WEB }]);
  });

  it("fails if the journal can't be written", async () => {
    const { write, recover } = machine();
    const { code, stdout, stderr } = await recover(["--file", write(killed)], {
      env: { CLOUDINFRA_JOURNAL_DIR: "Pulumi.yaml/journal" },
    });
    expect(code).toBe(1);
    expect(stdout).toContain("the journal entry can't be written");
    expect(stderr).toContain("can't be used");
  });

  it("prefers the journal and the service of the last `up` to those of the environment", async () => {
    const { journal, write, recover, files } = machine();
    const env = { CLOUDINFRA_ENDPOINT: "https://other.example.com", CLOUDINFRA_JOURNAL_DIR: "elsewhere" };
    const settings = { "cloudinfra:journalDir": "state/pulumi-cloudinfra/journal" };
    await recover(["--file", write(exported({ pending: [web], settings }))], { env });
    expect(await journal.read({ urn: WEB })).toMatchObject({ endpoint: ENDPOINT });
    await recover(["--file", write(exported({ pending: [web], settings: undefined }))], { env });
    expect(files()).toContainEqual(expect.stringMatching(/^elsewhere/));
  });

  describe("for the next `up`", () => {
    const before = { "cloudinfra:journalDir": "before" };
    const present = { "cloudinfra:endpoint": "https://new.example.com", "cloudinfra:journalDir": "present" };
    const named = { CLOUDINFRA_JOURNAL_DIR: "of-environment" };

    const removed = { ...present, "cloudinfra:journalDir": undefined };
    const withoutAddress = { "cloudinfra:endpoint": undefined, ...before };
    const fromEnvironment = { ...named, CLOUDINFRA_ENDPOINT: ENDPOINT };
    it.each([
      ["that has been set since", {}, present, named, /^present/],
      ["that has been changed since", before, present, named, /^present/],
      ["of the environment, after the setting was removed", before, removed, named, /^of-environment/],
      [
        "of the environment, if the configuration never had an address",
        withoutAddress,
        { "cloudinfra:token": TOKEN },
        fromEnvironment,
        /^of-environment/,
      ],
      ["that the stack was last used with, if it has no configuration here", before, {}, named, /^before/],
    ])("writes entries into the folder %s", async (_, settings, config, env, folder) => {
      const { write, recover, files } = machine();
      const file = write(exported({ pending: [web], settings }));
      const texts = Object.fromEntries(Object.entries(config).map(([name, value]) => [name, { value }]));
      const pulumi = `
        const text = require("node:fs").readFileSync(${JSON.stringify(file)}, "utf8");
        process.stdout.write(process.argv[2] === "config" ? ${JSON.stringify(JSON.stringify(texts))} : text);`;
      expect(await recover([], { pulumi, env })).toMatchObject({ code: 0, stderr: "" });
      expect(files()).toEqual([expect.stringMatching(folder)]);
    });
  });

  it("writes the entries of an explicit provider into the folder of the present configuration", async () => {
    const provider = {
      ...{ urn: urnOf("pulumi:providers:pulumi-nodejs", "eu"), id: "eu", custom: true },
      type: "pulumi:providers:pulumi-nodejs",
      inputs: {
        "cloudinfra:endpoint": ENDPOINT,
        "cloudinfra:providerName": "eu",
        "cloudinfra:journalDir": "before",
      },
    };
    const ofProvider = creating({
      ...resource(INSTANCE, "web", instanceInputs()),
      provider: `${provider.urn}::eu`,
    });
    const { write, recover, files } = machine();
    const file = write(exported({ resources: [provider], pending: [ofProvider], settings: undefined }));
    const pulumi = `
      const text = require("node:fs").readFileSync(${JSON.stringify(file)}, "utf8");
      process.stdout.write(process.argv[2] === "config" ? '{"cloudinfra:journalDir":{"value":"present"}}' : text);`;
    expect(await recover([], { pulumi })).toMatchObject({ code: 0, stderr: "" });
    expect(files()).toEqual([expect.stringMatching(/^present/)]);
  });

  it("writes each entry for the service of the resource's own provider", async () => {
    const { dir, journal, write, recover } = machine();
    const provider = (name: string, host: string): Record<string, unknown> => ({
      ...{ urn: urnOf("pulumi:providers:pulumi-nodejs", name), id: name, custom: true },
      type: "pulumi:providers:pulumi-nodejs",
      inputs: {
        "cloudinfra:endpoint": `https://${host}.example.com`,
        ...(!name.startsWith("default") && { "cloudinfra:providerName": name }),
      },
    });
    const through = (name: string, resource: Record<string, unknown>) =>
      creating({ ...resource, provider: `${urnOf("pulumi:providers:pulumi-nodejs", name)}::${name}` });
    const resources = [
      provider("eu", "eu"),
      provider("default_3_249_0", "api"),
      provider("default", "other"),
    ];
    const pending = [
      through("eu", resource(INSTANCE, "web", instanceInputs())),
      through("default_3_249_0", resource(PROJECT, "p", projectInputs())),
    ];
    const file = write(exported({ resources, pending, settings: undefined }));
    expect(await recover(["--file", file])).toMatchObject({ code: 0, stderr: "" });
    const env = { XDG_STATE_HOME: `${dir}/state`, PULUMI_HOME: `${dir}/pulumi` };
    const ofEu = openJournal({ endpoint: "https://eu.example.com/v1", cwd: dir, env, warn: console.error });
    expect(await ofEu.list()).toMatchObject([{ urn: WEB, provider: "eu" }]);
    const [noted] = await journal.list();
    expect(noted).toMatchObject({ urn: urnOf(PROJECT, "p") });
    expect(noted).not.toHaveProperty("provider");
    expect(await recover(["--file", file, "--forget", WEB])).toMatchObject({ code: 0 });
    expect(await ofEu.list()).toEqual([]);
    const moved = await recover(["--file", file, "--endpoint", ENDPOINT]);
    expect(moved, "an explicit provider keeps the address that it has").toMatchObject({ code: 0 });
    expect(await ofEu.list()).toMatchObject([{ urn: WEB }]);
  });

  it("keeps the address of an explicit provider whose name is like that of a default provider", async () => {
    const { journal, write, recover } = machine();
    const provider = {
      ...{ urn: urnOf("pulumi:providers:pulumi-nodejs", "default_eu"), id: "eu", custom: true },
      type: "pulumi:providers:pulumi-nodejs",
      inputs: { "cloudinfra:endpoint": ENDPOINT, "cloudinfra:providerName": "default_eu" },
    };
    const ofProvider = resource(INSTANCE, "web", instanceInputs(), { provider: `${provider.urn}::eu` });
    const file = write(
      exported({ resources: [provider], pending: [creating(ofProvider)], settings: undefined }),
    );
    await recover(["--file", file, "--endpoint", "https://new.example.com"]);
    expect(await journal.list()).toMatchObject([{ urn: WEB, provider: "default_eu" }]);
  });

  it("prefers the address of --endpoint, and requires it if no other is known", async () => {
    const { journal, write, recover } = machine();
    const unknown = write(exported({ pending: [web], settings: undefined }));
    const { code, stderr } = await recover(["--file", unknown]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("--endpoint") });
    const moved = exported({
      pending: [web],
      settings: { "cloudinfra:endpoint": "https://old.example.com" },
    });
    await recover(["--file", write(moved), "--endpoint", "https://api.example.com/v1/"]);
    expect(await journal.read({ urn: WEB })).toMatchObject({ key: KEY });
  });

  it("names the option if --endpoint is not an address", async () => {
    const { write, recover } = machine();
    const { code, stderr } = await recover(["--file", write(killed), "--endpoint", "htps:/x"]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("the option --endpoint must be a URL that begins with https://"),
    });
    expect(stderr).not.toContain("cloudinfra:endpoint");
  });

  it("reports entries of this stack for resources that the state doesn't hold, and keeps them", async () => {
    const { journal, write, recover } = machine();
    const gone = urnOf(INSTANCE, "gone");
    const ofOtherStack = gone.replace("pulumi:dev", "pulumi:prod");
    for (const urn of [gone, ofOtherStack])
      await journal.begin({ urn, key: KEY, resource: KEY, body: "{}", at: 1 });
    const { code, stdout } = await recover(["--file", write(exported())]);
    expect(code).toBe(0);
    expect(stdout).toContain(`recover --forget ${gone}`);
    expect(stdout).not.toContain(ofOtherStack);
    expect(await journal.list()).toHaveLength(2);
  });

  it("reports which objects of entries the stack has, because `pulumi stack --show-ids` doesn't show them all", async () => {
    const { journal, write, recover } = machine();
    await journal.begin({ urn: WEB, key: KEY, resource: KEY, body: "{}", at: 1 });
    const id = "ins-live\u001b[2J";
    await journal.extend(KEY, { id });
    const rows = [id, "ins-old"].map((id) => resource(INSTANCE, "web", instanceInputs(), { id }));
    const { code, stdout } = await recover(["--file", write(exported({ resources: rows }))]);
    expect(code).toBe(0);
    expect(stdout).toContain("the object ins-live, which the stack manages. Keep the object.");
    expect(stdout).not.toContain("--forget");
  });

  it("doesn't treat an object at the endpoint of another provider as the object of an entry", async () => {
    const { journal, write, recover } = machine();
    await journal.begin({ urn: urnOf(INSTANCE, "gone"), key: KEY, resource: KEY, body: "{}", at: 1 });
    await journal.extend(KEY, { id: "1" });
    const provider = {
      ...resource("pulumi:providers:pulumi-nodejs", "eu", {
        "cloudinfra:endpoint": "https://eu.example.com",
      }),
      id: "e0",
    };
    const stateAt = (endpoint?: string) =>
      exported({
        resources: [
          provider,
          resource(INSTANCE, "web", instanceInputs({ __key: OTHER_KEY }), {
            id: "1",
            outputs: { __key: OTHER_KEY, __endpoint: endpoint },
          }),
        ],
      });
    const elsewhere = await recover(["--file", write(stateAt("https://eu.example.com/v1"))]);
    expect(elsewhere.stdout).toContain("Journal entry for a resource that isn't in the state (object 1).");
    // The service may have moved since the state was saved.
    for (const endpoint of [ENDPOINT, "https://old.example.com/v1", undefined]) {
      const { stdout } = await recover(["--file", write(stateAt(endpoint))]);
      expect(stdout).toContain("the object 1, which the stack manages. Keep the object.");
    }
  });

  it("reports no entries of other stacks if the state is empty", async () => {
    const { journal, write, recover } = machine();
    await journal.begin({ urn: WEB, key: KEY, resource: KEY, body: "{}", at: 1 });
    const empty = write({ version: 3, deployment: { manifest: {} } });
    const { code, stdout } = await recover(["--file", empty, "--endpoint", ENDPOINT]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringContaining("--forget") });
  });
});

describe("recover --json", () => {
  it("prints the creations, the stray entries and the command that clears Pulumi's list", async () => {
    const { journal, write, recover } = machine();
    const gone = urnOf(INSTANCE, "gone");
    await journal.begin({ urn: gone, key: OTHER_KEY, resource: OTHER_KEY, body: "{}", at: 1 });
    const file = write(exported({ pending: [web] }));
    const { code, stdout, stderr } = await recover(["--json", "--file", file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      dryRun: false,
      creations: [{ kind: "instance", name: "web", urn: WEB, status: "written" }],
      strayEntries: [{ urn: gone, status: "resource-not-in-state" }],
      clearCommand: expect.stringContaining("pulumi refresh"),
    });
  });

  it("prints an empty result if there is nothing to recover", async () => {
    const { write, recover } = machine();
    const { stdout } = await recover(["--json", "--file", write(exported())]);
    expect(JSON.parse(stdout)).toEqual({
      dryRun: false,
      creations: [],
      strayEntries: [],
      clearCommand: null,
    });
  });

  it("prints with --forget what it removed", async () => {
    const { write, recover } = machine();
    const file = write(killed);
    await recover(["--file", file]);
    const { stdout } = await recover(["--json", "--file", file, "--forget", WEB]);
    expect(JSON.parse(stdout)).toEqual({
      dryRun: false,
      urn: WEB,
      entries: 1,
      abandoned: 0,
      clearCommand: expect.stringContaining("pulumi refresh"),
    });
  });
});

describe("recover --forget", () => {
  it("removes the entry, and prints how to clear Pulumi's list", async () => {
    const { journal, write, recover } = machine();
    const file = write(killed);
    await recover(["--file", file]);
    const told = await recover(["--file", file, "--forget", WEB, "--dry-run"]);
    expect(told).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Would remove the journal entry for ${WEB}.`),
    });
    expect(await journal.list()).toHaveLength(2);
    const done = await recover(["--file", file, "--forget", WEB]);
    expect(done).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Removed the journal entry for ${WEB}.`),
    });
    expect(done.stdout).toContain(CLEAR);
    expect(done.stdout).toContain("Clear the list, or the next `recover` finds the creation again");
    expect((await journal.list()).map(({ urn }) => urn)).toEqual([urnOf(PROJECT, "p")]);
  });

  it("gives up all creations that the state records, because each failed `up` may have added one", async () => {
    const { journal, write, recover } = machine();
    const row = (key: string) => ({
      ...resource(INSTANCE, "web", instanceInputs({ __key: KEY }), { id: `operation/key-${key}` }),
      outputs: { __key: KEY, __pending: secret({ key }) },
    });
    const file = write(exported({ resources: [row(KEY), row(OTHER_KEY)] }));
    const told = await recover(["--file", file, "--forget", WEB, "--dry-run"]);
    expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining("Would give up the creation") });
    expect(await journal.isMarked(KEY, "given-up")).toBe(false);
    // The state still records them when the command runs again.
    for (const _ of [1, 2]) {
      const done = await recover(["--file", file, "--forget", WEB]);
      expect(done).toMatchObject({
        code: 0,
        stderr: "",
        stdout: expect.stringContaining("Gave up the creation"),
      });
      expect([
        await journal.isMarked(KEY, "given-up"),
        await journal.isMarked(OTHER_KEY, "given-up"),
      ]).toEqual([true, true]);
    }
  });

  it("prints how to clear Pulumi's list if this machine has no entry of the creation", async () => {
    const { write, recover } = machine();
    const { code, stdout } = await recover(["--file", write(killed), "--forget", WEB]);
    expect(code).toBe(0);
    expect(stdout).toContain(`No journal entry for ${WEB}.`);
    expect(stdout).toContain(CLEAR);
  });

  it("prints how to clear Pulumi's list if the state holds the creation too, and later runs don't revive it", async () => {
    const { write, recover } = machine();
    const pending = [creating(resource(INSTANCE, "web", instanceInputs()))];
    const placeholder = {
      ...resource(INSTANCE, "web", instanceInputs({ __key: KEY }), { id: "operation/op-1" }),
      outputs: { __key: KEY, __pending: secret({ key: KEY }) },
    };
    const before = write(exported({ resources: [placeholder], pending }));
    const { stdout } = await recover(["--file", before, "--forget", WEB]);
    expect(stdout).toContain(CLEAR);
    const inputs = instanceInputs({ __key: OTHER_KEY });
    const next = { ...resource(INSTANCE, "web", inputs, { id: "ins-2" }), outputs: { __key: OTHER_KEY } };
    const later = await recover(["--file", write(exported({ resources: [next], pending }))]);
    expect(later).toMatchObject({ code: 0, stdout: expect.not.stringContaining("wrote a journal entry") });
  });

  it("fails if there is no such entry", async () => {
    const { write, recover } = machine();
    const { code, stderr } = await recover(["--file", write(killed), "--forget", "urn:x"]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("no creation to forget for urn:x\n"),
    });
    expect(stderr).toContain("--stack <organization>/<project>/<stack>");
  });

  it("says that the state of another stack was not read", async () => {
    const { journal, write, recover } = machine();
    const urn = WEB.replace("::", "-other::");
    await journal.begin({ urn, key: KEY, resource: KEY, body: "{}", at: 1 });
    const { code, stdout } = await recover(["--file", write(killed), "--forget", urn]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("belongs to a different stack, whose state was not read"),
    });
  });

  it("removes both entries of a resource: for its creation and for its replacement", async () => {
    const { journal, write, recover } = machine();
    const entry = { urn: WEB, key: KEY, resource: KEY, body: "{}", at: 1 };
    await journal.begin(entry);
    await journal.begin({ ...entry, key: OTHER_KEY, resource: OTHER_KEY, replaces: KEY });
    const { code, stdout, stderr } = await recover(["--file", write(exported()), "--forget", WEB]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Removed 2 journal entries for ${WEB}.`);
    expect(await journal.list()).toEqual([]);
  });
});

describe("recover --forget after the endpoint has changed", () => {
  const FORMER = "https://old.example.com/v1";

  /** Creates a machine with an entry at the present endpoint and one at the former. */
  async function withTwoEntries() {
    const { dir, journal, ...more } = machine();
    const env = { XDG_STATE_HOME: `${dir}/state`, PULUMI_HOME: `${dir}/pulumi` };
    const former = openJournal({ endpoint: FORMER, cwd: dir, env, warn: console.error });
    const entry = { urn: WEB, key: KEY, resource: KEY, body: "{}", at: 1 };
    await former.begin(entry);
    await journal.begin({ ...entry, key: OTHER_KEY, resource: OTHER_KEY });
    return { journal, former, ...more };
  }

  it.each([
    ["the state has another address", exported()],
    ["the state is empty", exported({ settings: undefined })],
  ])("removes the entries at all addresses: %s", async (_, state) => {
    const { journal, write, recover } = await withTwoEntries();
    expect(await recover(["--file", write(state), "--forget", WEB])).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("Removed 2 journal entries"),
    });
    expect(await journal.listEverywhere()).toEqual([]);
  });

  it("removes an entry that `recover` has rewritten for the present address, and the former one", async () => {
    const { journal, former, write, recover } = await withTwoEntries();
    const [entry] = await former.list();
    await journal.remove(OTHER_KEY);
    if (entry !== undefined) await journal.begin(entry);
    expect(await journal.listEverywhere()).toHaveLength(2);
    expect(await recover(["--file", write(exported()), "--forget", WEB])).toMatchObject({ code: 0 });
    expect(await journal.listEverywhere()).toEqual([]);
  });

  it("leaves no entry at the former address if --endpoint names another one", async () => {
    const { dir, journal, write, recover } = machine();
    const env = { XDG_STATE_HOME: `${dir}/state`, PULUMI_HOME: `${dir}/pulumi` };
    const former = openJournal({ endpoint: FORMER, cwd: dir, env, warn: console.error });
    const file = write(exported({ pending: [web], settings: { "cloudinfra:endpoint": FORMER } }));
    expect(await recover(["--file", file])).toMatchObject({ code: 0 });
    expect(await former.list()).toHaveLength(1);
    expect(await recover(["--file", file, "--endpoint", ENDPOINT])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("already has a journal entry"),
    });
    expect(await former.list()).toEqual([]);
    expect(await journal.list()).toMatchObject([{ urn: WEB, key: KEY }]);
  });

  it("removes only the entry at the address that --endpoint names", async () => {
    const { journal, former, write, recover } = await withTwoEntries();
    const args = ["--file", write(exported()), "--forget", WEB, "--endpoint", "https://old.example.com/"];
    expect(await recover(args)).toMatchObject({ code: 0, stderr: "" });
    expect(await former.list()).toEqual([]);
    expect(await journal.list()).toHaveLength(1);
  });
});

describe("the stack's export", () => {
  it("is read from standard input with --file -", async () => {
    const { journal, recover } = machine();
    expect(await recover(["--file", "-"], { stdin: JSON.stringify(killed) })).toMatchObject({ code: 0 });
    expect(await journal.list()).toHaveLength(2);
  });

  it("comes from the `pulumi` on the PATH, for the given stack, with secrets and without prompts", async () => {
    const { dir, journal, write, recover } = machine();
    const pulumi = `
      const command = process.argv.slice(2).join(" ");
      const isExport = command === "stack export --non-interactive --color never --show-secrets --stack prod";
      if (!isExport && command !== "config --non-interactive --color never --json --show-secrets --stack prod") throw new Error(command);
      process.stdout.write(isExport ? require("node:fs").readFileSync(${JSON.stringify(write(killed))}) : "{}");`;
    const { code, stdout, stderr } = await recover(["--stack", "prod", "-C", dir], { pulumi });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout, "the printed command is for the same stack").toContain(
      `${CLEAR} --stack prod --cwd ${dir}\n`,
    );
    expect(await journal.list()).toHaveLength(2);
  });

  it.each([
    ["no stack selected; please use `pulumi stack select` to choose one", "Specify the stack with --stack"],
    ["no stack named 'nope' found", "pulumi stack ls"],
    ["passphrase must be set with PULUMI_CONFIG_PASSPHRASE", "Set PULUMI_CONFIG_PASSPHRASE or"],
    ["failed to decrypt: incorrect passphrase", "the passphrase of this stack"],
    ["no Pulumi.yaml project file found (searching upwards from /app)", "--cwd"],
    ["PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions", "pulumi login"],
  ])("gets a hint if Pulumi fails with `%s`", async (words, hint) => {
    const pulumi = `console.error(${JSON.stringify(`error: ${words}`)}); process.exitCode = 1;`;
    const { code, stdout, stderr } = await machine().recover([], { pulumi });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.replace("pulumi config", "pulumi stack export"), "whichever fails first").toContain(
      `recover failed: \`pulumi stack export\` failed: ${words}\n  code config_invalid\n  hint: `,
    );
    expect(stderr).toContain(hint);
  });

  it("is required: no `pulumi`, no file, a damaged file and encrypted secrets are errors", async () => {
    const { write, recover } = machine();
    const failing = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await recover(args);
      expect(code).toBe(1);
      expect(stderr).not.toMatch(/^\s+at /m);
      return stderr;
    };
    expect(await failing()).toContain("`pulumi` was not found on the PATH");
    expect(await failing("--file", "nowhere.json")).toContain("nowhere.json");
    expect(await failing("--file", "Pulumi.yaml")).toContain("not valid JSON");
    const hidden = creating(resource(INSTANCE, "web", instanceInputs({ sshKeys: hiddenSecret })));
    expect(await failing("--file", write(exported({ pending: [hidden] })))).toContain("--show-secrets");
  });
});

describe("recover's command line", () => {
  it("has help", async () => {
    const { code, stdout } = await machine().recover(["--help"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("--dry-run") });
  });

  it.each([
    [["--colour"], "--colour"],
    [["prod"], "too many arguments"],
    [["--stack="], "invalid value '' for option '-s, --stack <name>': must not be empty"],
    [
      ["--stack", "dev", "--file", "x"],
      "option '--file <path>' cannot be used with option '-s, --stack <name>'",
    ],
  ])("rejects %j with exit code 2", async (args, words) => {
    const { code, stderr } = await machine().recover(args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
  });
});
