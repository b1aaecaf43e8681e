import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Behaviour, startEmulator } from "../../src/emulator";
import { REPOSITORY } from "../harness/modules";
import { emptyFolder } from "../journal/folder";

/** Set PROBE_KILLS=50 for the full campaign. */
const KILLS = Number(process.env.PROBE_KILLS ?? 4);
/** The requests of `probe --create --new-project` in the emulator, more or less. */
const REQUESTS = 100;
/** Repeats the moments of an earlier campaign. */
const SEED = Number(process.env.PROBE_SEED ?? Date.now() % 1_000_000);

const SERVICES: readonly Partial<Behaviour>[] = [
  {},
  { instanceVisible: "when-done", deleteObject: 202, projectPost: 202 },
  { ids: "counter", idReuse: true, getObject: 404, resultLink: "missing" },
  { operationKeptPolls: 1, uniqueNames: true, putReply: 202 },
];

/** A signal to send when a request with this number arrives, or shortly after it. */
interface Kill {
  readonly at: number;
  readonly signal: NodeJS.Signals;
  readonly delayMs?: number;
}

/** A service, and the probe's command against it. */
async function service(behaviour: Partial<Behaviour>) {
  let onRequest: () => void = () => {};
  const emulator = await startEmulator({
    behaviour: { operationMs: 50, ...behaviour },
    onRequest: () => onRequest(),
  });
  onTestFinished(() => emulator.stop());
  const project = emulator.addProject({ name: "shop" }).id;
  emulator.addInstance({ project, name: "web", image: "debian-13", flavor: "small", network: "n1" });
  const cwd = emptyFolder();
  const env = {
    CLOUDINFRA_ENDPOINT: emulator.endpoint,
    CLOUDINFRA_TOKEN: emulator.token,
    CLOUDINFRA_JOURNAL_DIR: path.join(cwd, "journal"),
  };
  /** Runs the command, and sends it a signal at its nth request. */
  const run = async (args: readonly string[], kill?: Kill) => {
    const main = path.join(REPOSITORY, "dist/cli/main.js");
    const child = spawn(process.execPath, [main, "probe", ...args], { cwd, env });
    onTestFinished(() => void child.kill("SIGKILL"));
    let requests = 0;
    onRequest = () => {
      if (kill === undefined || ++requests !== kill.at) return;
      if (kill.delayMs === undefined) child.kill(kill.signal);
      else setTimeout(() => child.kill(kill.signal), kill.delayMs);
    };
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    return { stdout, stderr, code };
  };
  const names = () =>
    [...emulator.projects.values(), ...emulator.instances.values()].map(({ fields }) => fields.name);
  return { emulator, run, names };
}

const CREATE = ["--create", "--new-project", "--region", "eu-1", "--yes"];

/** Returns a number from 0 to 1 that looks random. */
const random = (of: string): number =>
  Number.parseInt(hash("sha256", `${SEED} ${of}`).slice(0, 8), 16) / 2 ** 32;

describe("`probe --create`", () => {
  test.each(Array.from({ length: KILLS }, (_, i) => i))(
    `leaves nothing at the service if it is killed and \`probe --clean\` follows (kill %i, PROBE_SEED=${SEED})`,
    async (i) => {
      const { run, names } = await service(SERVICES[i % SERVICES.length] ?? {});
      // The reads before the first creation need no cleaning.
      const at = 16 + Math.floor(random(`request ${i}`) * (REQUESTS - 16));
      await run(CREATE, { at, signal: "SIGKILL", delayMs: 20 * random(`delay ${i}`) });
      const { code, stderr } = await run(["--clean"]);
      expect({ code, stderr: stderr.replace(/Deleted .*|Nothing to clean up.*/, "").trim() }).toEqual({
        code: 0,
        stderr: "",
      });
      expect(names()).toEqual(["shop", "web"]);
      expect((await run(["--clean"])).stderr).toContain("Nothing to clean up");
    },
    120_000,
  );

  test("deletes what it has created after Ctrl-C, and says so", async () => {
    const { run, names } = await service({});
    const { code, stderr } = await run(CREATE, { at: 25, signal: "SIGINT" });
    expect(code).toBe(1);
    expect(stderr).toContain("Interrupted.");
    expect(stderr).toContain("Deleted everything that the probe had created.");
    expect(names()).toEqual(["shop", "web"]);
    expect((await run(["--clean"])).stderr).toContain("Nothing to clean up");
  });

  test("names what remains if it can't delete it, still prints the report, and exits with 1", async () => {
    const { run, emulator, names } = await service({});
    const fault = emulator.fail({
      kind: "status",
      status: 403,
      method: "DELETE",
      times: Number.POSITIVE_INFINITY,
    });
    const { code, stdout, stderr } = await run([...CREATE, "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ works: true });
    expect(stderr).toMatch(/these objects may remain: instance ins-\w+, instance ins-\w+, project prj-\w+\n/);
    expect(stderr).toContain("hint: Fix the cause, and run `npx pulumi-cloudinfra probe --clean`");
    fault.off();
    await run(["--clean"]);
    expect(names()).toEqual(["shop", "web"]);
  });

  test("creates nothing if it can't write the profile", async () => {
    const { run, emulator } = await service({});
    const { code, stderr } = await run([...CREATE, "--out", "missing/service.json"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("can't write") });
    expect(emulator.requests).toEqual([]);
  });

  test("uses the settings that the service requires, and reports them", async () => {
    const { run, names } = await service({ revision: "body", revisionField: "row_rev" });
    const { code, stdout } = await run(CREATE);
    expect(code).toBe(0);
    expect(stdout).toContain("pulumi config set cloudinfra:revisionField row_rev");
    expect(stdout).toContain("An outdated If-Match is rejected (412)");
    expect(names()).toEqual(["shop", "web"]);
  });

  test("creates nothing while an earlier probe isn't cleaned up", async () => {
    const { run, emulator } = await service({});
    await run(CREATE, { at: 22, signal: "SIGKILL" });
    emulator.clearRequests();
    const { code, stderr } = await run(CREATE);
    expect(code).toBe(1);
    expect(stderr).toContain("npx pulumi-cloudinfra probe --clean");
    expect(emulator.requests.filter(({ method }) => method !== "GET")).toEqual([]);
    await run(["--clean"]);
  });

  test.each([
    [["--create", "--yes"], "--create requires either --project or --new-project"],
    [["--create", "--new-project", "--yes"], "--new-project requires --region"],
    [["--create", "--project", "prj-1"], "--create requires --yes if there is no terminal"],
    [["--create", "--project", "prj-1", "--region", "eu-1", "--yes"], "--region requires --new-project"],
    [["--project", "prj-1"], "--project requires --create"],
    [["--yes"], "--yes requires --create"],
    [["--clean", "--json"], "--clean can't be used with --json"],
    [["--create", "--clean"], "can't be used together"],
  ])("rejects %j as a usage error", async (args, message) => {
    const { run, emulator } = await service({});
    const { code, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(emulator.requests).toEqual([]);
  });
});
