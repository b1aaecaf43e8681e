import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { startEmulator } from "../../src/emulator";
import { openJournal } from "../../src/journal/journal";
import { isAllWithCli } from "../harness/describe-on-engines";
import { programFolder } from "../harness/program";
import { isolatedEnvironment, pulumiOnPath } from "../harness/pulumi-environment";

/** Runs `up` of two stacks concurrently, with inline programs. Prints the outputs of both as JSON. */
const HOST = `
  const { LocalWorkspace } = require("@pulumi/pulumi/automation");
  const { getProjectsOutput } = require("pulumi-cloudinfra");
  const { endpoint, token } = JSON.parse(process.argv[2]);
  const program = async () => {
    const project = new Project("shop", { region: "eu-1" });
    getProjectsOutput({ dependsOn: project }).apply(() => {
      new Instance("late", { project: project.id, image: "u", flavor: "s", network: "n" });
    });
  };
  const up = async (stackName) => {
    const stack = await LocalWorkspace.createStack({ stackName, projectName: "scenario", program });
    await stack.setAllConfig({
      "cloudinfra:endpoint": { value: endpoint },
      "cloudinfra:token": { value: token, secret: true },
    });
    const { stdout } = await stack.up({ color: "never", suppressProgress: true });
    return stdout;
  };
  Promise.all(["one", "two"].map(up)).then((outputs) => console.log(JSON.stringify(outputs)));
`;

describe("inline programs of two stacks in one process", () => {
  it.skipIf(pulumiOnPath() === undefined || !isAllWithCli)(
    "can use results of functions, and warn only about interrupted creations of their own stack",
    async () => {
      const emulator = await startEmulator({ behaviour: { operationMs: 100 } });
      onTestFinished(() => emulator.stop());
      const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-inline-"));
      onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
      const { dir, remove } = programFolder(HOST);
      onTestFinished(remove);
      rmSync(path.join(dir, "Pulumi.yaml")); // Inline programs have no Pulumi.yaml.
      const journal = openJournal({
        endpoint: emulator.endpoint,
        dir: path.join(root, "journal"),
        cwd: dir,
        env: isolatedEnvironment(root),
        warn: (message) => expect.fail(message),
      });
      const urn = "urn:pulumi:one::scenario::pulumi-nodejs:dynamic/cloudinfra:Instance::web";
      const key = randomUUID();
      await journal.begin({ urn, key, resource: key, body: "{}", at: Date.now() });

      const settings = JSON.stringify({ endpoint: emulator.endpoint, token: emulator.token });
      const { stdout } = await promisify(execFile)(process.execPath, ["index.js", settings], {
        cwd: dir,
        env: {
          ...process.env,
          ...isolatedEnvironment(root),
          CLOUDINFRA_JOURNAL_DIR: path.join(root, "journal"),
        },
      });
      const [one = "", two = ""]: string[] = JSON.parse(stdout);
      expect(one).toMatch(/no longer declares its resource:\s+instance "web", which may not exist/);
      expect(two).not.toContain("no longer declares");
      expect(emulator.instances.size).toBe(2);
    },
  );
});
