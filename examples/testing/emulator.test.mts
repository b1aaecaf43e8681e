import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { LocalWorkspace, type Stack } from "@pulumi/pulumi/automation/index.js";
import { type Emulator, startEmulator } from "pulumi-cloudinfra/emulator";

const program = import.meta.dirname;

let temporary: string;
let emulator: Emulator;
let stack: Stack;

before(async () => {
  temporary = await mkdtemp(path.join(os.tmpdir(), "shop-"));
  emulator = await startEmulator({ behaviour: { operationMs: 100 } });
  stack = await LocalWorkspace.createStack(
    { stackName: "test", workDir: program },
    {
      envVars: {
        PULUMI_BACKEND_URL: pathToFileURL(temporary).href, // the state, in a folder that goes with the test
        PULUMI_CONFIG_PASSPHRASE: "test",
        CLOUDINFRA_ENDPOINT: emulator.endpoint,
        CLOUDINFRA_TOKEN: emulator.token,
        CLOUDINFRA_JOURNAL_DIR: path.join(temporary, "journal"),
      },
    },
  );
});

after(async () => {
  await emulator.stop();
  await rm(path.join(program, "Pulumi.test.yaml"), { force: true });
  await rm(temporary, { recursive: true, force: true });
});

test("`up` makes the shop, and nothing twice where a reply is lost", async () => {
  const lost = emulator.fail({ kind: "lost-reply", method: "POST", path: "/v1/instances" });
  const { outputs } = await stack.up();
  assert.equal(lost.used, 1);
  assert.equal(emulator.instances.size, 2);
  const addresses = [...emulator.instances.values()].map((instance) => instance.address);
  assert.ok(addresses.includes(outputs.address?.value));
});

test("a further `up` has nothing to do", async () => {
  await stack.preview({ expectNoChanges: true });
});

test("`destroy` takes everything down", async () => {
  await stack.destroy();
  assert.equal(emulator.instances.size + emulator.projects.size, 0);
});
