import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { confirm } from "../../src/journal/entry";
import { openJournal } from "../../src/journal/journal";
import { diskWith, failingDisk } from "./disks";
import { begun, ENDPOINT, emptyFolder, OPERATION, opened, URN } from "./folder";

/** The journal of a creation that ended with this object. */
async function created(id = "ins-1") {
  const there = opened();
  await there.journal.begin(begun());
  await there.journal.extend("key-1", { operation: OPERATION });
  await there.journal.extend("key-1", { id });
  return there;
}

describe("once the state holds a resource, the program", () => {
  test("removes the entry of the resource's object", async () => {
    const { dir, cwd, files } = await created("ins-1");
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files()).toEqual([]);
  });

  test("removes the entries at all endpoints", async () => {
    const { dir, cwd, files } = await created("ins-1");
    const other = opened({ dir, cwd, endpoint: "https://api.example.org/v1" }).journal;
    await other.begin(begun());
    await other.extend("key-1", { id: "ins-1" });
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files()).toEqual([]);
  });

  test("keeps the entry of another object, such as that of an interrupted replacement or of a placeholder", async () => {
    const { journal, dir, cwd } = await created("ins-2");
    await confirm("key-1", "ins-1", { dir, cwd });
    await confirm("key-1", "operation/op-1", { dir, cwd });
    expect(await journal.read({ urn: URN })).toMatchObject({ id: "ins-2" });
  });

  test("keeps an entry without an object id", async () => {
    const { journal, dir, cwd } = opened();
    await journal.begin(begun());
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(await journal.read({ urn: URN })).toMatchObject({ key: "key-1" });
  });

  test("removes its entry even if another file in the folder can't be read", async () => {
    const { dir, cwd, files } = await created("ins-1");
    mkdirSync(path.join(dir, "unreadable.jsonl"));
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files().map((file) => path.basename(file))).toEqual(["unreadable.jsonl"]);
  });

  test("keeps entries of other resources", async () => {
    const { dir, cwd, files } = await created();
    await confirm("key-2", "ins-1", { dir, cwd });
    expect(files()).toHaveLength(1);
  });

  test("reads each entry once for all resources that are saved at the same time", async () => {
    const { dir, cwd } = await created();
    const read: unknown[] = [];
    const disk = diskWith((name, args) => void (name === "readFile" && read.push(args[0])));
    await Promise.all(["key-2", "key-3", "key-4"].map((key) => confirm(key, "ins-2", { dir, cwd, disk })));
    expect(read).toHaveLength(1);
  });

  test("removes the entry of a creation that succeeded with a second key", async () => {
    const { journal, dir, cwd, files } = opened();
    await journal.begin(begun({ key: "key-2", resource: "key-1" }));
    await journal.extend("key-2", { id: "ins-1" });
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files()).toEqual([]);
  });

  test("keeps a damaged entry, which the provider reports", async () => {
    const { dir, cwd, files } = await created();
    writeFileSync(files()[0] ?? "", "{");
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files()).toHaveLength(1);
  });

  test("uses the same folder as the provider", async () => {
    const env = { XDG_STATE_HOME: emptyFolder() };
    const warn = (): void => {};
    const journal = openJournal({ endpoint: ENDPOINT, env, warn });
    await journal.begin(begun());
    await journal.extend("key-1", { id: "ins-1" });
    await confirm("key-1", "ins-1", { env });
    expect(await journal.read({ urn: URN })).toBeUndefined();
  });

  test("confirms a hundred resources at the same time", async () => {
    const { journal, dir, cwd, files } = opened();
    const urns = Array.from({ length: 100 }, (_, index) => `${URN}-${index}`);
    await Promise.all(urns.map((urn) => journal.begin(begun({ urn, key: urn, resource: urn }))));
    await Promise.all(urns.map((urn) => journal.extend(urn, { id: `ins of ${urn}` })));
    const kept = `${URN}-7`;
    const confirmed = urns.filter((urn) => urn !== kept);
    await Promise.all(confirmed.map((urn) => confirm(urn, `ins of ${urn}`, { dir, cwd })));
    expect(await journal.list()).toMatchObject([{ urn: kept }]);
    expect(files()).toHaveLength(1);
  });

  test("keeps a newer entry that another process writes at the same moment", async () => {
    const { journal, dir, cwd } = await created();
    let renames = 0;
    const disk = diskWith(async (name) => {
      if (name === "rename" && ++renames === 1)
        await journal.begin(begun({ key: "key-2", resource: "key-2" }));
    });
    await confirm("key-1", "ins-1", { dir, cwd, disk });
    expect(await journal.read({ urn: URN })).toMatchObject({ key: "key-2" });
  });
});

describe("no program fails because of its journal", () => {
  test.each(["readdir", "readFile", "rename", "unlink"] as const)("if %s fails", async (call) => {
    const { dir, cwd } = await created();
    const disk = failingDisk("EACCES", call);
    await expect(confirm("key-1", "ins-1", { dir, cwd, disk })).resolves.toBeUndefined();
  });

  test("if the folder doesn't exist, and the folder is not created", async () => {
    const dir = emptyFolder();
    await confirm("key-1", "ins-1", { dir: path.join(dir, "journal"), cwd: "/program" });
    expect(readdirSync(dir)).toEqual([]);
  });
});
