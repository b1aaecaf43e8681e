import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { confirm } from "../../src/journal/confirm";
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

describe("once the state has a resource, the program", () => {
  test("removes the entry that is about this very object", async () => {
    const { dir, cwd, files } = await created("ins-1");
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files()).toEqual([]);
  });

  test("does so whatever the endpoint, which it does not know", async () => {
    const { dir, cwd, files } = await created("ins-1");
    const other = opened({ dir, cwd, endpoint: "https://api.example.org/v1" }).journal;
    await other.begin(begun());
    await other.extend("key-1", { id: "ins-1" });
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files()).toEqual([]);
  });

  test("leaves the entry of another object: of a replacement that was cut off, or of a placeholder", async () => {
    const { journal, dir, cwd } = await created("ins-2");
    await confirm("key-1", "ins-1", { dir, cwd });
    await confirm("key-1", "operation/op-1", { dir, cwd });
    expect(await journal.read({ urn: URN })).toMatchObject({ id: "ins-2" });
  });

  test("leaves an entry whose object is not known yet", async () => {
    const { journal, dir, cwd } = opened();
    await journal.begin(begun());
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(await journal.read({ urn: URN })).toMatchObject({ key: "key-1" });
  });

  test("leaves entries of other resources", async () => {
    const { dir, cwd, files } = await created();
    await confirm("key-2", "ins-1", { dir, cwd });
    expect(files()).toHaveLength(1);
  });

  test("reads each entry once, however many resources are saved at the same time", async () => {
    const { dir, cwd } = await created();
    const read: unknown[] = [];
    const disk = diskWith((name, args) => void (name === "readFile" && read.push(args[0])));
    await Promise.all(["key-2", "key-3", "key-4"].map((key) => confirm(key, "ins-2", { dir, cwd, disk })));
    expect(read).toHaveLength(1);
  });

  test("removes the entry of a creation that needed a further key", async () => {
    const { journal, dir, cwd, files } = opened();
    await journal.begin(begun({ key: "key-2", resource: "key-1" }));
    await journal.extend("key-2", { id: "ins-1" });
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files()).toEqual([]);
  });

  test("leaves what is damaged to the provider, which says so", async () => {
    const { dir, cwd, files } = await created();
    writeFileSync(files()[0] ?? "", "{");
    await confirm("key-1", "ins-1", { dir, cwd });
    expect(files()).toHaveLength(1);
  });

  test("finds the journal where the provider does", async () => {
    const env = { XDG_STATE_HOME: emptyFolder() };
    const warn = (): void => {};
    const journal = openJournal({ endpoint: ENDPOINT, env, warn });
    await journal.begin(begun());
    await journal.extend("key-1", { id: "ins-1" });
    await confirm("key-1", "ins-1", { env });
    expect(await journal.read({ urn: URN })).toBeUndefined();
  });

  test("confirms a hundred at once, each its own", async () => {
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

  test("keeps a newer entry that comes at that very moment", async () => {
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

describe("no program fails for its journal", () => {
  test.each(["readdir", "readFile", "rename", "unlink"] as const)("when %s fails", async (call) => {
    const { dir, cwd } = await created();
    const disk = failingDisk("EACCES", call);
    await expect(confirm("key-1", "ins-1", { dir, cwd, disk })).resolves.toBeUndefined();
  });

  test("when there is none, and none is made", async () => {
    const dir = emptyFolder();
    await confirm("key-1", "ins-1", { dir: path.join(dir, "journal"), cwd: "/program" });
    expect(readdirSync(dir)).toEqual([]);
  });
});
