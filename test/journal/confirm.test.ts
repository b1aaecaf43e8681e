import { readdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { confirm } from "../../src/journal/confirm";
import { openJournal } from "../../src/journal/journal";
import { prefixOf } from "../../src/journal/place";
import { diskWith, failingDisk } from "./disks";
import { begun, ENDPOINT, emptyFolder, OPERATION, opened, URN } from "./folder";

/** The journal of a creation that ended with this object. */
async function created(id = "ins-1") {
  const there = opened();
  await there.journal.begin(begun());
  await there.journal.note(URN, "key-1", { operation: OPERATION });
  await there.journal.note(URN, "key-1", { id });
  return there;
}

describe("once the state has a resource, the program", () => {
  test("removes the entry that is about this very object", async () => {
    const { dir, cwd, files } = await created("ins-1");
    await confirm(URN, "ins-1", { dir, cwd });
    expect(files()).toEqual([]);
  });

  test("does so whatever the endpoint, which it does not know", async () => {
    const { dir, cwd, files } = await created("ins-1");
    const other = opened({ dir, cwd, endpoint: "https://api.example.org/v1" }).journal;
    await other.begin(begun());
    await other.note(URN, "key-1", { id: "ins-1" });
    await confirm(URN, "ins-1", { dir, cwd });
    expect(files()).toEqual([]);
  });

  test("leaves the entry of another object: of a replacement that was cut off, or of a placeholder", async () => {
    const { journal, dir, cwd } = await created("ins-2");
    await confirm(URN, "ins-1", { dir, cwd });
    await confirm(URN, "operation/op-1", { dir, cwd });
    expect(await journal.read(URN)).toMatchObject({ id: "ins-2" });
  });

  test("leaves an entry whose object is not known yet", async () => {
    const { journal, dir, cwd } = opened();
    await journal.begin(begun());
    await confirm(URN, "ins-1", { dir, cwd });
    expect(await journal.read(URN)).toMatchObject({ key: "key-1" });
  });

  test("leaves entries of other resources and other folders", async () => {
    const { dir, cwd, files } = await created();
    await confirm(`${URN}-2`, "ins-1", { dir, cwd });
    await confirm(URN, "ins-1", { dir, cwd: "/elsewhere" });
    expect(files()).toHaveLength(1);
  });

  test("reads none of the others', however many they are", async () => {
    const { dir, cwd } = await created();
    const read: unknown[] = [];
    const disk = diskWith((name, args) => void (name === "readFile" && read.push(args[0])));
    await confirm(`${URN}-2`, "ins-1", { dir, cwd, disk });
    expect(read).toEqual([]);
  });

  test("leaves what is damaged to the provider, which says so", async () => {
    const { dir, cwd, files } = await created();
    writeFileSync(files()[0] ?? "", "{");
    await confirm(URN, "ins-1", { dir, cwd });
    expect(files()).toHaveLength(1);
  });

  test("finds the journal where the provider does", async () => {
    const env = { XDG_STATE_HOME: emptyFolder() };
    const warn = (): void => {};
    const journal = openJournal({ endpoint: ENDPOINT, env, warn });
    await journal.begin(begun());
    await journal.note(URN, "key-1", { id: "ins-1" });
    await confirm(URN, "ins-1", { env });
    expect(await journal.read(URN)).toBeUndefined();
  });

  test("confirms a hundred at once, each its own", async () => {
    const { journal, dir, cwd, files } = opened();
    const urns = Array.from({ length: 100 }, (_, index) => `${URN}-${index}`);
    await Promise.all(urns.map((urn) => journal.begin(begun({ urn, key: urn }))));
    await Promise.all(urns.map((urn) => journal.note(urn, urn, { id: `ins of ${urn}` })));
    const kept = `${URN}-7`;
    const confirmed = urns.filter((urn) => urn !== kept);
    await Promise.all(confirmed.map((urn) => confirm(urn, `ins of ${urn}`, { dir, cwd })));
    expect(await journal.list()).toMatchObject([{ urn: kept }]);
    expect(files()).toHaveLength(1);
  });

  test("keeps a newer entry that comes at that very moment", async () => {
    const { journal, dir, cwd } = await created();
    let renames = 0;
    const disk = diskWith(async (name) => {
      if (name === "rename" && ++renames === 1) await journal.begin(begun({ key: "key-2" }));
    });
    await confirm(URN, "ins-1", { dir, cwd, disk });
    expect(await journal.read(URN)).toMatchObject({ key: "key-2" });
  });
});

describe("what a process that was killed while writing has left of the resource's entries", () => {
  const leftOver = async (hoursOld: number): Promise<{ dir: string; cwd: string }> => {
    const { dir, cwd } = await created();
    const file = path.join(dir, `${prefixOf({ dir: cwd, urn: URN })}-x.jsonl.y.tmp`);
    writeFileSync(file, "{");
    const at = Date.now() / 1000 - hoursOld * 3600;
    utimesSync(file, at, at);
    return { dir, cwd };
  };

  test("goes when it is more than a day old", async () => {
    const { dir, cwd } = await leftOver(25);
    await confirm(URN, "ins-1", { dir, cwd });
    expect(readdirSync(dir)).toEqual([]);
  });

  test("stays as long as somebody may still be at it", async () => {
    const { dir, cwd } = await leftOver(23);
    await confirm(URN, "ins-1", { dir, cwd });
    expect(readdirSync(dir)).toHaveLength(1);
  });
});

describe("no program fails for its journal", () => {
  test.each(["readdir", "readFile", "rename", "unlink"] as const)("when %s fails", async (call) => {
    const { dir, cwd } = await created();
    const disk = failingDisk("EACCES", call);
    await expect(confirm(URN, "ins-1", { dir, cwd, disk })).resolves.toBeUndefined();
  });

  test("when there is none, and none is made", async () => {
    const dir = emptyFolder();
    await confirm(URN, "ins-1", { dir: path.join(dir, "journal"), cwd: "/program" });
    expect(readdirSync(dir)).toEqual([]);
  });
});
