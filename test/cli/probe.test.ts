import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startEmulator } from "../../src/emulator";
import { emptyFolder } from "../journal/folder";
import { runCli } from "./run-cli";

/** An emulator, and the probe of it in an empty folder. */
async function probe() {
  const emulator = await startEmulator();
  onTestFinished(() => emulator.stop());
  const dir = emptyFolder();
  const env = { CLOUDINFRA_ENDPOINT: emulator.endpoint, CLOUDINFRA_TOKEN: emulator.token, PATH: "" };
  const run = (args: readonly string[] = [], more: Record<string, string> = {}) =>
    runCli(dir, ["probe", ...args], { ...env, ...more });
  return { dir, emulator, run };
}

describe("`probe`", () => {
  it("prints a table, and needs neither Pulumi nor a program if the environment has the settings", async () => {
    const { run, emulator } = await probe();
    const { code, stdout, stderr } = await run();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Service: ${emulator.endpoint}`);
    expect(stdout).toMatch(/✓ Token +The service accepts the token/);
  });

  it("prints JSON with the verdict of each point", async () => {
    const { run, emulator } = await probe();
    const report = JSON.parse((await run(["--json"])).stdout);
    expect(report).toMatchObject({ service: emulator.endpoint, works: true, settings: {} });
    expect(report.points[0]).toMatchObject({ point: "address", verdict: "works", consequence: null });
  });

  it("writes a profile, and overwrites one only with --force", async () => {
    const { run, dir } = await probe();
    const file = path.join(dir, "service.json");
    expect((await run(["--out", "service.json"])).code).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      version: 1,
      behaviour: { emptyItems: "list" },
    });
    writeFileSync(file, "mine");
    const again = await run(["--out", "service.json"]);
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toContain("service.json already exists");
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect((await run(["--out", "service.json", "--force"])).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain('"version": 1');
  });

  it("exits with 1 if the token is rejected or a setting is missing, and with 2 for a usage error", async () => {
    const { run } = await probe();
    const rejected = await run([], { CLOUDINFRA_TOKEN: "t-wrong-token" });
    expect(rejected.code).toBe(1);
    expect(rejected.stdout).toContain("✗ Token");
    const missing = await run([], { CLOUDINFRA_ENDPOINT: "" });
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain(
      "the required setting cloudinfra:endpoint (the address of the service) is not set",
    );
    expect((await run(["--ouput", "x"])).code).toBe(2);
  });

  it("contains neither the token nor control characters, even if replies contain them", async () => {
    const { run, emulator, dir } = await probe();
    emulator.addInstance({ public_ip: "auto" });
    const lock = "lock\u001b[2J';$(reboot)";
    const fields = { [`x-${emulator.token}`]: 1, wan: "198.51.100.7", [lock]: "r1" };
    emulator.behaviour = {
      ...{ ...emulator.behaviour, revision: "none", unshown: ["ip_address"] },
      extraFields: fields,
    };
    const { stdout } = await run(["--out", "service.json"]);
    const json = (await run(["--json"])).stdout;
    for (const text of [stdout, json, readFileSync(path.join(dir, "service.json"), "utf8")]) {
      expect(text).not.toContain(emulator.token);
      expect(text).not.toContain("\u001b");
    }
    expect(stdout).toContain("Other fields");
    expect(stdout).toContain("cloudinfra:revisionField 'lock'\\'';$(reboot)'");
  });

  it("exits with 1 and a hint if the service can't be reached", async () => {
    const { run, emulator } = await probe();
    await emulator.pause();
    const { code, stdout, stderr } = await run(["--json"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const [{ observation, consequence }] = JSON.parse(stdout).points;
    expect(observation).toContain("The service can't be reached: connect ECONNREFUSED");
    expect(consequence).toContain("Make sure that `cloudinfra:endpoint`");
  });
});
