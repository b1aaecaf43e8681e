import { spawnSync } from "node:child_process";
import { readdirSync, renameSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { systemDisk } from "../../src/journal/disk";
import { RunFacts } from "../../src/journal/run-facts";
import { emptyFolder } from "./folder";

const ENGINE = "127.0.0.1:4711";
const LIVE = { live: "instance ins-1" };

describe("what the provider processes of a run tell each other", () => {
  test("is known to all of them, and to no process of another run", async () => {
    const folder = emptyFolder();
    const [one, other, elsewhere] = [ENGINE, ENGINE, "127.0.0.1:4712"].map(
      (engine) => new RunFacts(systemDisk, () => folder, engine),
    );
    await one?.add(LIVE);
    expect(await other?.hasOther(LIVE)).toBe(true);
    expect(await one?.hasOther(LIVE)).toBe(false);
    expect(await one?.has(LIVE)).toBe(true);
    expect(await elsewhere?.has(LIVE)).toBe(false);
  });

  test("is taken back for all of them, and may be said again", async () => {
    const folder = emptyFolder();
    const [one, other] = [1, 2].map(() => new RunFacts(systemDisk, () => folder, ENGINE));
    await one?.add(LIVE);
    await one?.retract(LIVE);
    expect(await other?.has(LIVE)).toBe(false);
    await one?.add(LIVE);
    expect(await other?.has(LIVE)).toBe(true);
  });

  test("is known even if the journal's folder can't be used", async () => {
    const run = `127.0.0.1:${process.pid}`;
    const [one, other] = ["one", "other"].map(
      () => new RunFacts(systemDisk, () => path.join(process.execPath, "no folder"), run),
    );
    await one?.add(LIVE);
    expect(await other?.hasOther(LIVE)).toBe(true);
  });

  test("means nothing to a later run whose engine has the same address", async () => {
    const folder = emptyFolder();
    await new RunFacts(systemDisk, () => folder, ENGINE).add(LIVE);
    const name = readdirSync(folder)[0] ?? "";
    const { pid } = spawnSync(process.execPath, ["-e", ""]); // a process that has ended
    renameSync(path.join(folder, name), path.join(folder, name.replace(`.${process.pid}.`, `.${pid}.`)));
    expect(await new RunFacts(systemDisk, () => folder, ENGINE).has(LIVE)).toBe(false);
  });
});
