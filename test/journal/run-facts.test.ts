import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, renameSync, utimesSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Files } from "../../src/journal/disk";
import { RunFacts } from "../../src/journal/run-facts";
import { emptyFolder } from "./folder";

const ENGINE = "127.0.0.1:4711";
const LIVE = { live: "instance ins-1" };

/** Where the files are: all processes of a user share it. */
let folder: string;
beforeEach(() => {
  vi.stubEnv("TMPDIR", emptyFolder());
  folder = path.join(os.tmpdir(), `pulumi-cloudinfra-${os.userInfo().uid}`);
  return () => vi.unstubAllEnvs();
});
const facts = (run = ENGINE, journal = emptyFolder()) => new RunFacts(new Files(), () => journal, run);

describe("a fact of a run", () => {
  test("is visible to all processes of the run, but not to other runs", async () => {
    const [one, other, elsewhere] = [facts(), facts(), facts("127.0.0.1:4712")];
    await one.add(LIVE);
    expect(await other.hasOther(LIVE)).toBe(true);
    expect(await one.hasOther(LIVE)).toBe(false);
    expect(await one.has(LIVE)).toBe(true);
    expect(await elsewhere.has(LIVE)).toBe(false);
  });

  test("can be retracted for all processes, and added again", async () => {
    const [one, other] = [facts(), facts()];
    await one.add(LIVE);
    expect(await one.hasOther(LIVE)).toBe(false);
    await one.retract(LIVE);
    expect(await other.has(LIVE)).toBe(false);
    await one.add(LIVE);
    expect(await other.has(LIVE)).toBe(true);
  });

  test("is shared even if the temporary folder can't be used", async () => {
    const journal = emptyFolder();
    vi.stubEnv("TMPDIR", path.join(process.execPath, "no folder"));
    await facts(ENGINE, journal).add(LIVE);
    expect(await facts(ENGINE, journal).hasOther(LIVE)).toBe(true);
  });

  test("is shared in a container whose user has no name", async () => {
    vi.spyOn(os, "userInfo").mockImplementation(() => {
      throw new Error("uv_os_get_passwd returned ENOENT");
    });
    await facts().add(LIVE);
    expect(await facts().hasOther(LIVE)).toBe(true);
    vi.restoreAllMocks();
  });

  test("is not read from a temporary folder to which other users can write", async () => {
    await facts().add(LIVE);
    chmodSync(folder, 0o777);
    expect(await facts().has(LIVE)).toBe(false);
  });

  /** Makes the only file that of a process which has ended, and which this one or another one had started. */
  function ended({ byOther }: { byOther: boolean }): void {
    const name = readdirSync(folder)[0] ?? "";
    const { pid } = spawnSync(process.execPath, ["-e", ""]);
    const [prefix, , lineage, ...rest] = name.split(".");
    renameSync(
      path.join(folder, name),
      path.join(folder, [prefix, pid, byOther ? pid : lineage, ...rest].join(".")),
    );
  }

  test("remains visible if its process has ended but the engine is running", async () => {
    await facts().add(LIVE);
    ended({ byOther: false });
    expect(await facts().has(LIVE)).toBe(true);
  });

  test("is not visible to a later run whose engine has the same address", async () => {
    await facts().add(LIVE);
    ended({ byOther: true });
    expect(await facts().has(LIVE)).toBe(false);
  });

  test("is removed after a day", async () => {
    await facts().add(LIVE);
    const file = path.join(folder, readdirSync(folder)[0] ?? "");
    utimesSync(file, 0, 0);
    await facts("127.0.0.1:4713").add(LIVE);
    expect(existsSync(file)).toBe(false);
  });
});
