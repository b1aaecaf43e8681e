import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { getProjects, Instance, Project, Provider } from "../../src";
import { readSettings } from "../../src/config/settings";
import { startEmulator } from "../../src/emulator";
import { type FaultName, type WithEmulatorOptions, withEmulator } from "../../src/testing";
import { programFolder } from "../harness/program";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { quoted, readMarkdown, tableRows } from "../readme/markdown";

const described = tableRows(readMarkdown("docs/testing.md"))
  .map(([name = ""]) => quoted(name).join())
  .filter((name) => /^[a-z-]+$/.test(name)) as FaultName[];

function temporaryFolder(): string {
  const dir = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-kit-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  return dir;
}

/** Puts a `pulumi` first on PATH that does nothing. Returns a function that reads the environments of its commands. */
function fakePulumi(): () => NodeJS.ProcessEnv[] {
  const dir = temporaryFolder();
  const log = path.join(dir, "environments.jsonl");
  const script = `#!${process.execPath}
    require("node:fs").appendFileSync(${JSON.stringify(log)}, JSON.stringify(process.env) + "\\n");
    if (process.argv[2] === "version") console.log("v3.270.0");`;
  writeFileSync(path.join(dir, "pulumi"), script, { mode: 0o755 });
  vi.stubEnv("PATH", [dir, process.env.PATH].join(path.delimiter));
  onTestFinished(() => void vi.unstubAllEnvs());
  const commands = () => readFileSync(log, "utf8").trim().split("\n").slice(1); // the first one is `pulumi version`
  return () => commands().map((line) => JSON.parse(line));
}

/** What a developer may have set for a real service. */
const developer = {
  CLOUDINFRA_ENDPOINT: "https://api.example.com",
  CLOUDINFRA_TOKEN: "t-developer",
  CLOUDINFRA_TOKEN_FILE: "/home/developer/token",
  CLOUDINFRA_TOKEN_COMMAND: "print-token",
  CLOUDINFRA_OIDC_ISSUER: "https://issuer.example.com",
  CLOUDINFRA_OIDC_SUBJECT: "github",
  CLOUDINFRA_OIDC_CLIENT_SECRET: "t-client",
  CLOUDINFRA_FORMER_ENDPOINTS: "https://old.example.com",
  CLOUDINFRA_JOURNAL_DIR: "/home/developer/journal",
  CLOUDINFRA_CA_FILE: "/home/developer/missing.pem",
  CLOUDINFRA_CONCURRENCY: "1",
};
/** The same in a stack's settings, or as the arguments of an explicit provider. */
const settingsElsewhere: Record<string, string> = {
  "cloudinfra:endpoint": "https://api.example.com",
  "cloudinfra:tokenFile": "/home/developer/token",
  "cloudinfra:journalDir": "/home/developer/journal",
};

describe("withEmulator", () => {
  it.each<[string, WithEmulatorOptions, Record<string, string>]>([
    ["the developer's environment", {}, developer],
    ["its option `env`", { env: developer }, {}],
    ["its option `config`", { config: settingsElsewhere }, {}],
  ])("sends all requests to the emulator regardless of %s", async (_, options, environment) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const environments = fakePulumi();
    await withEmulator({ program: temporaryFolder(), ...options }, async ({ emulator }) => {
      expect(environments()).not.toEqual([]);
      for (const env of environments())
        for (const provider of [
          {},
          { "cloudinfra:providerName": "eu" },
          { "cloudinfra:providerName": "eu", "cloudinfra:token": "t-program" },
        ]) {
          const configured: Record<string, string> = { ...settingsElsewhere, ...provider };
          const settings = readSettings((key) => configured[key], env);
          expect(settings.endpoint).toBe(emulator.endpoint);
          expect(settings.token).toMatchObject({ kind: "token", value: emulator.token });
          expect(settings).toMatchObject({ formerEndpoints: [], caFile: undefined });
          expect(settings.journalDir).toContain("pulumi-cloudinfra-test-");
          expect(JSON.stringify(env)).not.toMatch(/t-developer|t-client/);
        }
    });
  });

  it("passes on other settings in `env`, and drops those of the developer", async () => {
    vi.stubEnv("CLOUDINFRA_MAX_REQUESTS_PER_SECOND", "1");
    const environments = fakePulumi();
    const env = { CLOUDINFRA_CONCURRENCY: "2", OTHER: "yes" };
    await withEmulator({ program: temporaryFolder(), env }, async () => {
      for (const one of environments()) {
        expect(one).toMatchObject(env);
        expect(readSettings(() => undefined, one).maxRequestsPerSecond).toBeUndefined();
      }
    });
  });
});

describe.runIf(pulumiOnPath())("withEmulator with the CLI", () => {
  it("leaves no file behind if the program is below its project file, which moves the configuration of stacks", async () => {
    const dir = temporaryFolder();
    const program = path.join(dir, "app");
    for (const folder of ["app", "stacks"]) mkdirSync(path.join(dir, folder));
    writeFileSync(path.join(dir, "Pulumi.yaml"), "name: x\nruntime: nodejs\nstackConfigDir: stacks\n");
    const before = readdirSync(dir, { recursive: true });
    const during = await withEmulator({ program, config: { a: "b" } }, async () =>
      readdirSync(path.join(dir, "stacks")),
    );
    expect(during).toEqual([expect.stringMatching(/^Pulumi\.test-/)]);
    expect(readdirSync(dir, { recursive: true })).toEqual(before);
  });

  it("runs a program in a folder, and injects each documented fault", async () => {
    const source = 'const p = new Project("p", { region: "r" }); exports.id = p.id;';
    const { dir, remove, write } = programFolder(source);
    onTestFinished(remove);
    const before = readdirSync(dir);
    const instance = (flavor: string) =>
      `${source} new Instance("i", { project: p.id, image: "i", flavor: "${flavor}", network: "n" });`;
    const ids = await withEmulator(
      { program: dir, config: { a: "b" } },
      async ({ stack, emulator, fault }) => {
        const { outputs } = await stack.up();
        expect(outputs.id?.value).toBe([...emulator.projects.keys()][0]);
        expect(described.length).toBe(5);
        for (const name of described) {
          write(instance(name)); // a change for each
          const handle = fault(name);
          const up = stack.up({ color: "never" });
          if (name === "concurrent-change") await expect(up).rejects.toThrow("revision_conflict");
          else await up;
          if (name === "concurrent-change") await stack.refresh();
          expect(handle.used, name).toBeGreaterThan(0);
        }
        return [...emulator.instances.keys()];
      },
    );
    expect(ids).toHaveLength(1);
    expect(readdirSync(dir)).toEqual(before);
  });

  it("sends no request elsewhere, regardless of the environment, Pulumi.yaml and explicit providers", async () => {
    const real = await startEmulator({ token: "t-developer" });
    onTestFinished(() => real.stop());
    const home = temporaryFolder();
    for (const [name, value] of Object.entries({ ...developer, CLOUDINFRA_ENDPOINT: real.endpoint }))
      vi.stubEnv(name, value);
    vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", path.join(home, "of-environment"));
    onTestFinished(() => void vi.unstubAllEnvs());
    const { dir, remove } = programFolder(`
      const args = { image: "i", flavor: "s", network: "n" };
      const { getProjects } = require("pulumi-cloudinfra");
      exports.projects = getProjects().then((all) => all.length);
      for (const [name, provider] of Object.entries({
        none: undefined,
        token: new Provider("token", { token: "t-developer" }),
        both: new Provider("both", { endpoint: "${real.endpoint}", token: "t-developer" }),
      })) {
        const project = new Project(name, { region: "r" }, { provider });
        new Instance(name, { ...args, project: project.id }, { provider });
      }`);
    onTestFinished(remove);
    const setting = (key: string, value: string) => `  cloudinfra:${key}:\n    value: ${value}\n`;
    const config = [
      setting("endpoint", real.endpoint),
      setting("token", "t-developer"),
      setting("journalDir", path.join(home, "of-project")),
    ];
    const yaml = path.join(dir, "Pulumi.yaml");
    writeFileSync(yaml, `${readFileSync(yaml, "utf8")}config:\n${config.join("")}`);
    const options = { program: dir, config: { "cloudinfra:endpoint": real.endpoint } };
    await withEmulator(options, async ({ stack, emulator }) => {
      await stack.up();
      expect([emulator.projects.size, emulator.instances.size]).toEqual([3, 3]);
      expect(new Set(emulator.requests.map(({ headers }) => headers.authorization))).toEqual(new Set(["ok"]));
    });
    expect(real.requests).toEqual([]);
    expect(readdirSync(home)).toEqual([]);
  });

  it("runs an inline program", async () => {
    const real = await startEmulator({ token: "t-developer" });
    onTestFinished(() => real.stop());
    const home = temporaryFolder();
    vi.stubEnv("CLOUDINFRA_ENDPOINT", real.endpoint);
    vi.stubEnv("CLOUDINFRA_TOKEN", "t-developer");
    vi.stubEnv("CLOUDINFRA_JOURNAL_DIR", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const automation = () => readdirSync(os.tmpdir()).filter((name) => name.startsWith("automation-"));
    const before = automation();
    const program = async () => {
      const flavor = new pulumi.Config().require("flavor");
      const project = new Project("shop", { region: "eu-1" }, { provider: new Provider("eu") });
      const web = new Instance("web", { project: project.id, image: "i", flavor, network: "n" });
      return { id: web.id, projects: (await getProjects()).length };
    };
    await withEmulator({ program, config: { flavor: "small" } }, async ({ stack, emulator, fault }) => {
      const lost = fault("lost-reply");
      const { outputs } = await stack.up();
      expect(lost.used).toBe(1);
      expect(outputs.id?.value).toBe([...emulator.instances.keys()][0]);
      expect(outputs.projects?.value).toBe(0);
      await stack.up({ expectNoChanges: true });
      expect((await stack.outputs()).projects?.value).toBe(1);
      await stack.destroy();
      expect(emulator.instances.size + emulator.projects.size).toBe(0);
    });
    expect(real.requests).toEqual([]);
    expect(readdirSync(home)).toEqual([]);
    expect(automation()).toEqual(before);
  });
});
