import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EngineEvent } from "../harness/engine";
import { Probe, secret } from "./fixtures/probe";
import type { FakeStackOptions } from "./stack";

const urn = "urn:pulumi:dev::probe::pulumi-nodejs:dynamic/probe:Probe::probe";

function open(options: Partial<FakeStackOptions> = {}): Probe {
  const probe = new Probe(options);
  onTestFinished(() => probe.dispose());
  return probe;
}

describe("configuration", () => {
  test("reaches the program and the provider, and is saved with the default provider, with marked secrets", async () => {
    const probe = open({ config: { "probe:endpoint": "http://one", token: { secret: "hush" } } });
    const { ok, outputs, output } = await probe.run("up");
    expect(ok, output).toBe(true);
    expect(outputs).toMatchObject({ endpoint: "http://one", token: "hush" });
    expect(output).toContain("[secret]");
    expect(output).not.toContain("hush");
    expect((await probe.resource("default"))?.inputs).toEqual({
      "probe:endpoint": "http://one",
      "probe:token": secret("hush"),
    });
  });

  test("is the stored one in destroy, and the current one in destroy with the program", async () => {
    const probe = open({ config: { endpoint: "http://one", token: { secret: "old" }, task: "tell" } });
    await probe.run("up");
    await probe.stack.setConfig("endpoint", "http://two");
    await probe.stack.setConfig("token", { secret: "new" });
    const stored = await probe.run("destroy");
    expect(stored.output).toContain("deleting made at http://one at http://one with old");
    const todays = await probe.run("destroy", { runProgram: true });
    expect(todays.output).toContain("deleting made at http://one at http://two with new");
  });

  test("updates only the default provider if it changes", async () => {
    const probe = open({ config: { endpoint: "http://one", token: "x" } });
    await probe.run("up");
    await probe.stack.setConfig("endpoint", "http://two");
    await probe.stack.removeConfig("token");
    const { changes } = await probe.run("up");
    expect(changes).toEqual({ same: 4 });
    expect((await probe.resource("default"))?.inputs).toEqual({ "probe:endpoint": "http://two" });
  });
});

describe("a TypeScript program with a component", () => {
  test("is created once, and the next up changes nothing", async () => {
    const probe = open({ config: { endpoint: "e" } });
    const first = await probe.run("up");
    expect(first.changes).toEqual({ create: 4 });
    expect(first.outputs).toEqual({ endpoint: "e", nested: { deep: ["made at e", "hush"] } });
    expect((await probe.run("preview")).changes).toEqual({ same: 4 });
    expect((await probe.resource("probe"))?.dependencies).toEqual([
      "urn:pulumi:dev::probe::probe:index:Group$pulumi-nodejs:dynamic/probe:Probe::group-inside",
    ]);
    expect((await probe.resource("probe"))?.customTimeouts).toEqual({ create: 5400, delete: 90 });
    expect((await probe.resource("group"))?.outputs).toEqual({ endpoint: "e" });
  });

  test("shows unknown values in a preview, and doesn't change the state", async () => {
    const probe = open();
    const { ok, output, outputs, steps } = await probe.run("preview");
    expect(ok).toBe(true);
    expect(output).toContain("endpoint: [unknown]");
    expect(outputs).toEqual({});
    expect(steps.map((step) => step.op)).toEqual(["create", "create", "create", "create"]);
    expect((await probe.stack.deployment()).resources).toEqual([]);
  });
});

describe("messages", () => {
  test("from a provider are diagnostics of its resource, and ephemeral ones appear only in the row", async () => {
    const probe = open({ config: { task: "log" } });
    const events: EngineEvent[] = [];
    const { diagnostics, output } = await probe.run("up", { onEvent: (event) => events.push(event) });
    const own = diagnostics.filter((diagnostic) => diagnostic.urn === urn);
    expect(own).toEqual([
      { severity: "info", message: "creating 42%", urn, ephemeral: true },
      { severity: "info", message: "", urn, ephemeral: true },
      { severity: "info", message: "created, and that stays", urn },
    ]);
    const [rows, below] = output.split("Diagnostics:");
    expect(rows).toContain("creating 42%");
    expect(below).not.toContain("42%");
    expect(below).toContain("created, and that stays");
    expect(events.filter((event) => event.kind === "diagnostic" && event.urn === urn)).toHaveLength(3);
  });

  test("printed by a provider belong to the stack", async () => {
    const probe = open({ config: { task: "print" } });
    const { diagnostics } = await probe.run("up");
    expect(diagnostics).toContainEqual({ severity: "info", message: "printed by the provider" });
  });
});

describe("the state", () => {
  test("can be exported and imported elsewhere, and the next up changes nothing", async () => {
    const one = open({ config: { endpoint: "e" } });
    await one.run("up");
    const other = open({ dir: one.folder.dir, config: { endpoint: "e" } });
    const secrets_providers = { type: "passphrase", state: { salt: "v1:x" } };
    await other.stack.import({ ...(await one.stack.deployment()), secrets_providers });
    expect((await other.run("up")).changes).toEqual({ same: 4 });
    expect((await other.stack.deployment()).secrets_providers).toEqual(secrets_providers);
  });

  test("is a checkpoint of version 3 that names its stack", async () => {
    const stateFile = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "fake-engine-state-")), "dev.json");
    onTestFinished(() => fs.rmSync(path.dirname(stateFile), { recursive: true }));
    const probe = open({ stateFile });
    await probe.run("up");
    const file = JSON.parse(fs.readFileSync(stateFile, "utf8"));
    expect(file).toMatchObject({ version: 3, checkpoint: { stack: "organization/probe/dev" } });
    expect(file.checkpoint.latest).toEqual(await probe.stack.deployment());
  });

  test("is rejected if its secrets are encrypted", async () => {
    const probe = open();
    const encrypted = {
      "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
      ciphertext: "v1:x",
    };
    const resource = { urn, custom: true, type: "t", inputs: { token: encrypted } };
    await expect(probe.stack.import({ resources: [resource] })).rejects.toThrow("--show-secrets");
  });

  test("is locked while a command runs", async () => {
    const probe = open();
    const first = probe.run("preview");
    await expect(probe.run("preview")).rejects.toThrow("locked");
    await first;
  });
});
