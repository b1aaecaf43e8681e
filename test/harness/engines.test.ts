import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, it } from "vitest";
import { changesOf, expectOk } from "./assertions";
import { describeOnEngines } from "./describe-on-engines";
import type { Engine, EngineEvent, Stack } from "./engine";
import { type ProgramFolder, programFolder } from "./program";
import { inClear, stateOf, statesOf } from "./state";
import { reportEngines } from "./which-engines";

const TYPE = "pulumi-nodejs:dynamic/harness:Thing";
const urnOf = (name: string): string => `urn:pulumi:dev::harness::${TYPE}::${name}`;

/** A provider without a service. A change of `size` is an update, a change of `kind` a replacement, and `size: "bad"` an error. */
const PROVIDER = `
const grpc = require(require.resolve("@grpc/grpc-js", { paths: [require.resolve("@pulumi/pulumi")] }));
const { EngineClient } = require("@pulumi/pulumi/proto/engine_grpc_pb.js");
const { LogRequest } = require("@pulumi/pulumi/proto/engine_pb.js");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const whisper = (urn, message) => new Promise((resolve) => {
  const client = new EngineClient(process.argv.at(-1), grpc.credentials.createInsecure());
  const request = new LogRequest();
  request.setSeverity(1); request.setUrn(urn); request.setMessage(message); request.setEphemeral(true);
  client.log(request, () => { client.close(); resolve(); });
});
let made = 0, configuration = {};
exports.thing = {
  configure: async ({ config }) => { configuration = config.rawConfig; },
  check: async (olds, news) => ({ inputs: news }),
  diff: async (id, olds, news) => {
    const differing = ["size", "kind"].filter((key) => olds[key] !== news[key]);
    return differing.length ? { changes: undefined, replaces: differing.filter((key) => key === "kind") } : { changes: false };
  },
  create: async (inputs) => {
    if (inputs.size === "bad") throw new Error("refused\\n  size: no such size");
    await whisper(inputs.__urn, "creating 42%");
    await sleep(inputs.ms ?? 0);
    return { id: "thing-" + ++made + "-" + process.pid, outs: { ...inputs, state: "made", configuration, backend: process.env.PULUMI_BACKEND_URL } };
  },
  read: async (id, props) => ({ id, props: { ...props, state: "seen" } }),
  update: async (id, olds, news) => ({ outs: { ...news, state: "updated" } }),
  delete: async () => {},
};`;

const PRELUDE = `
const pulumi = require("@pulumi/pulumi");
const __provider = "exports.handler=()=>require(process.cwd()+'/provider.js').thing";
class Thing extends pulumi.CustomResource {
  constructor(name, args, opts) {
    const outputs = { state: undefined, configuration: undefined, backend: undefined };
    super("${TYPE}", name, { ...outputs, ...args, __provider, __urn: pulumi.createUrn(name, "${TYPE}") }, opts);
  }
}
class Provider extends pulumi.ProviderResource {
  constructor(name, args) { super("pulumi-nodejs", name, args); }
}`;

describeOnEngines("an engine", (engine: Engine) => {
  let folder: ProgramFolder;
  let stack: Stack;

  beforeEach(async () => {
    folder = programFolder("", { name: "harness", prelude: PRELUDE });
    writeFileSync(path.join(folder.dir, "provider.js"), PROVIDER);
    stack = await engine.open({
      dir: folder.dir,
      project: "harness",
      stack: "dev",
      config: { "a:open": "1", "a:shut": { secret: "hush" } },
    });
    return async () => {
      await stack.dispose();
      folder.remove();
    };
  });

  it("reports the steps and changes of a preview and an up", async () => {
    folder.write(`new Thing("one", { size: "s", kind: "k" }); new Thing("two", { size: "s", kind: "k" });`);
    const preview = expectOk(await stack.run("preview"));
    expect(preview.changes).toEqual({ create: 3 }); // including the stack itself
    expect((await stack.deployment()).resources ?? []).toEqual([]);

    const up = expectOk(await stack.run("up"));
    expect(up.changes).toEqual({ create: 3 });
    expect(opsOf(up.steps)).toEqual(["create one", "create two"]);
    expect(stateOf(await stack.deployment(), "one")).toMatchObject({
      type: TYPE,
      outputs: { size: "s", state: "made" },
    });

    folder.write(
      `new Thing("one", { size: "m", kind: "k" }); new Thing("two", { size: "s", kind: "other" });`,
    );
    const change = expectOk(await stack.run("up"));
    expect(change.changes).toEqual({ same: 1, update: 1, replace: 1 });
    expect(opsOf(change.steps)).toEqual([
      "create-replacement two",
      "delete-replaced two",
      "replace two",
      "update one",
    ]);
    expect(change.steps.find(({ op }) => op === "update")).toMatchObject({
      urn: urnOf("one"),
      type: TYPE,
      diffs: ["size"],
    });
    expect(change.steps.find(({ op }) => op === "replace")).toMatchObject({ replaces: ["kind"] });
    expect(changesOf(expectOk(await stack.run("up")))).toEqual({});
  });

  it("returns a failed command as a result, with the error on its resource and output without colors", async () => {
    folder.write(`new Thing("good", { size: "s" }); new Thing("wrong", { size: "bad" });`);
    const result = await stack.run("up", { continueOnError: true });
    expect(result.ok).toBe(false);
    expect(result.diagnostics).toContainEqual({
      severity: "error",
      urn: urnOf("wrong"),
      message: "refused\n  size: no such size",
    });
    expect(result.output).toContain("size: no such size");
    expect(result.output).not.toContain("\u001b");
    expect(statesOf(await stack.deployment(), "wrong")).toEqual([]);
    expect(stateOf(await stack.deployment(), "good").outputs).toMatchObject({ state: "made" });
  });

  it("reports each event as it occurs, including ephemeral status messages", async () => {
    folder.write(`new Thing("one", { size: "s" });`);
    const events: EngineEvent[] = [];
    const result = expectOk(await stack.run("up", { onEvent: (event) => events.push(event) }));
    const own = events.filter((event) => event.urn === urnOf("one")).map((event) => event.kind);
    expect(own).toEqual(["step-started", "diagnostic", "step-done"]);
    expect(result.diagnostics).toContainEqual({
      severity: "info",
      urn: urnOf("one"),
      message: "creating 42%",
      ephemeral: true,
    });
  });

  it("passes the configuration to the program, and returns outputs and state with secrets in plaintext", async () => {
    await stack.setConfig("a:late", { secret: "also hush" });
    await stack.removeConfig("a:open");
    folder.write(`const config = new pulumi.Config("a");
      exports.shut = config.requireSecret("shut"); exports.late = config.requireSecret("late");
      exports.open = config.get("open") ?? "none"; exports.list = [1, { deep: true }];
      new Thing("one", { size: config.requireSecret("shut") });`);
    const up = expectOk(await stack.run("up"));
    expect(up.outputs).toEqual({ shut: "hush", late: "also hush", open: "none", list: [1, { deep: true }] });
    expect(up.output).not.toContain("hush");
    expect((await stack.run("up", { showSecrets: true })).output).toContain("also hush");
    expect(inClear(stateOf(await stack.deployment(), "one").inputs)).toMatchObject({ size: "hush" });
  });

  it("refreshes, imports a state, previews a destroy and destroys", async () => {
    folder.write(`new Thing("one", { size: "s" });`);
    expectOk(await stack.run("up"));
    const made = await stack.deployment();
    expect(changesOf(expectOk(await stack.run("refresh")))).toEqual({});
    expect(stateOf(await stack.deployment(), "one").outputs).toMatchObject({ state: "seen" });

    await stack.import(made);
    expect(stateOf(await stack.deployment(), "one").outputs).toMatchObject({ state: "made" });

    expect((await stack.run("destroy", { previewOnly: true })).changes).toEqual({ delete: 2 });
    expect(statesOf(await stack.deployment(), "one")).toHaveLength(1);
    expect(expectOk(await stack.run("destroy")).changes).toEqual({ delete: 2 });
    expect((await stack.deployment()).resources ?? []).toEqual([]);
  });

  it("changes only the targeted resources", async () => {
    folder.write(`new Thing("one", { size: "s" }); new Thing("two", { size: "s" });`);
    expectOk(await stack.run("up"));
    const before = stateOf(await stack.deployment(), "two").id;
    folder.write(`new Thing("one", { size: "m" }); new Thing("two", { size: "m" });`);
    expectOk(await stack.run("up", { target: [urnOf("one")] }));
    expect(stateOf(await stack.deployment(), "two").inputs).toMatchObject({ size: "s" });

    const replaced = expectOk(await stack.run("up", { targetReplace: [urnOf("two")] }));
    expect(opsOf(replaced.steps)).toContain("replace two");
    expect(stateOf(await stack.deployment(), "two").id).not.toBe(before);
  });

  it("starts a process with its own configuration for each provider version and each explicit provider", async () => {
    await stack.removeConfig("a:open");
    await stack.removeConfig("a:shut");
    folder.write(`const eu = new Provider("eu", { "a:region": "eu", "a:token": pulumi.secret("hush") });
      new Thing("old", {}, { version: "1.0.0" }); new Thing("new", {}, { version: "2.0.0" });
      new Thing("far", {}, { provider: eu });`);
    const up = expectOk(await stack.run("up"));
    expect(up.changes).toEqual({ create: 5 });
    const deployment = await stack.deployment();
    const made = ["old", "new", "far"].map((name) => stateOf(deployment, name));
    expect(made.map(({ outputs }) => inClear(outputs?.configuration))).toEqual([
      { version: "1.0.0" },
      { version: "2.0.0" },
      { "a:region": "eu", "a:token": "hush" },
    ]);
    expect(new Set(made.map(({ id }) => id?.split("-").at(-1))).size).toBe(3);
    expect(inClear(stateOf(deployment, "eu").inputs)).toEqual({ "a:region": "eu", "a:token": "hush" });
    expect(changesOf(expectOk(await stack.run("up")))).toEqual({});
  });

  it("replaces a tainted resource once", async () => {
    folder.write(`new Thing("one", {}); new Thing("two", {});`);
    expectOk(await stack.run("up"));
    await stack.taint(urnOf("one"), urnOf("two"));
    await stack.untaint(urnOf("two"));
    expect(changesOf(expectOk(await stack.run("up")))).toEqual({ replace: 1 });
    expect(changesOf(expectOk(await stack.run("up")))).toEqual({});
    await expect(stack.taint(urnOf("three"))).rejects.toThrow("No such resource");
  });

  it("protects, renames and deletes resources in the state", async () => {
    folder.write(`new Thing("one", {}); new Thing("two", {});`);
    expectOk(await stack.run("up"));
    const { id } = stateOf(await stack.deployment(), "one");
    await stack.protect(urnOf("one"));
    await expect(stack.deleteState(urnOf("one"))).rejects.toThrow("it is protected");
    await stack.unprotect(urnOf("one"));
    await stack.renameState(urnOf("one"), "first");
    await stack.deleteState(urnOf("two"));
    const deployment = await stack.deployment();
    expect(stateOf(deployment, "first").id).toBe(id);
    expect([...statesOf(deployment, "one"), ...statesOf(deployment, "two")]).toEqual([]);
  });

  it("moves resources to another stack in the same backend", async () => {
    folder.write(`new Thing("one", {});`);
    expectOk(await stack.run("up"));
    const moved = stateOf(await stack.deployment(), "one");
    const other = await engine.open({
      ...{ dir: folder.dir, project: "harness", stack: "other" },
      backendUrl: stack.backendUrl,
    });
    try {
      await stack.moveState([urnOf("one")], { project: "harness", stack: "other" });
      expect(statesOf(await stack.deployment(), "one")).toEqual([]);
      expect(stateOf(await other.deployment(), "one").id).toBe(moved.id);
      expect(changesOf(expectOk(await other.run("up")))).toEqual({});
    } finally {
      await other.dispose();
    }
  });

  it("renames the stack, which changes URNs but no inputs", async () => {
    folder.write(`new Thing("one", { size: pulumi.getStack() });`);
    expectOk(await stack.run("up"));
    await stack.rename("prod");
    const { urn, inputs } = stateOf(await stack.deployment(), "one");
    expect(urn).toBe(urnOf("one").replace(":dev:", ":prod:"));
    expect(inputs).toMatchObject({ __urn: urnOf("one"), size: "dev" });
    const up = expectOk(await stack.run("up"));
    expect(changesOf(up)).toEqual({ update: 1 });
    expect(stateOf(await stack.deployment(), "one").inputs).toMatchObject({ __urn: urn, size: "prod" });
  });

  it("opens a stack of the same name in the same folder with another backend", async () => {
    folder.write(`exports.backend = process.env.PULUMI_BACKEND_URL; new Thing("one", {});`);
    const other = await engine.open({ dir: folder.dir, project: "harness", stack: "dev" });
    try {
      for (const opened of [stack, other]) {
        expect(expectOk(await opened.run("up")).outputs).toEqual({ backend: opened.backendUrl });
        const { outputs } = stateOf(await opened.deployment(), "one");
        expect(outputs).toMatchObject({ backend: opened.backendUrl });
      }
      expect(other.backendUrl).not.toBe(stack.backendUrl);
    } finally {
      await other.dispose();
    }
  });

  it("writes the state only at the end of the command with PULUMI_SKIP_CHECKPOINTS", async () => {
    folder.write(`const one = new Thing("one", {}); new Thing("two", { ms: 1500 }, { dependsOn: one });`);
    const file = path.join(fileURLToPath(stack.backendUrl), ".pulumi/stacks/harness/dev.json");
    const written: boolean[] = [];
    for (const env of [{}, { PULUMI_SKIP_CHECKPOINTS: "1" }]) {
      expectOk(await stack.run("destroy"));
      const onEvent = (event: EngineEvent): void => {
        if (event.kind !== "diagnostic" || !event.ephemeral || event.urn !== urnOf("two")) return;
        written.push(readFileSync(file, "utf8").includes(urnOf("one")));
      };
      expectOk(await stack.run("up", { env, onEvent }));
      expect(statesOf(await stack.deployment(), "one")).toHaveLength(1);
    }
    expect(written).toEqual([true, false]);
  });

  it("finishes running operations after an interruption, and starts no others", async () => {
    folder.write(
      `const one = new Thing("one", { size: "s", ms: 1500 }); new Thing("two", { size: one.state });`,
    );
    const interruption = new AbortController();
    const result = await stack.run("up", {
      signal: interruption.signal,
      onEvent: (event) => {
        if (event.kind === "diagnostic" && event.ephemeral) interruption.abort();
      },
    });
    expect(result.ok).toBe(false);
    const after = await stack.deployment();
    expect(stateOf(after, "one").outputs).toMatchObject({ state: "made" });
    expect(statesOf(after, "two")).toEqual([]);
    expect(after.pending_operations ?? []).toEqual([]);
  });
});

it("prints a warning if the real CLI is missing", () => {
  const said: string[] = [];
  reportEngines((line) => said.push(line), "/nowhere");
  expect(said).toEqual([expect.stringContaining("No `pulumi` on PATH")]);
});

/** The steps of the program's resources, sorted, because the order of independent resources varies. */
function opsOf(steps: readonly { op: string; type: string; name: string }[]): string[] {
  return steps
    .filter(({ op, type }) => type === TYPE && op !== "same")
    .map(({ op, name }) => `${op} ${name}`)
    .sort();
}
