import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { Disk } from "../../src/journal/disk";
import { confirm } from "../../src/journal/entry";
import { openJournal } from "../../src/journal/journal";
import { diskWith, failingDisk } from "./disks";
import { begun, emptyFolder, OPERATION, type Opened, opened, URN } from "./folder";

/** All that a creation asks of the journal, and a second one after it; what the reads and the list said. */
async function twoCreations({ journal }: Opened): Promise<unknown[]> {
  const said: unknown[] = [];
  for (const key of ["key-1", "key-2"]) {
    said.push(await journal.read({ urn: URN }));
    await journal.begin(begun({ key }));
    await journal.extend(key, { operation: OPERATION });
    await journal.extend(key, { id: "ins-1" });
    said.push(await journal.list());
    await journal.remove(key);
  }
  return said;
}

const full = (): Disk =>
  diskWith((name) => {
    if (name === "file.writeFile")
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  });

describe("a journal that can't be used behaves as if it were empty and causes one warning, for example with", () => {
  test.each<[string, Disk, string]>([
    ["a full disk", full(), "ENOSPC: no space left on device"],
    ["a disk that can only be read", failingDisk("EROFS", "open", "mkdir", "rename", "unlink"), "EROFS"],
    ["a folder that may not be written", failingDisk("EACCES", "open", "mkdir"), "EACCES"],
    ["a disk that fails when it is to keep what was written", failingDisk("EIO", "file.sync"), "EIO"],
    ["a disk with every call failing", diskWith(() => Promise.reject(new Error("gone"))), "gone"],
    ["too many open files", failingDisk("EMFILE", "open", "readFile", "readdir"), "EMFILE"],
  ])("%s", async (_what, disk, why) => {
    const there = opened({ disk });
    await twoCreations(there);
    const [warning = "", ...more] = there.warnings;
    expect(warning).toContain(`the journal of creations in ${there.dir} can't be used (${why}`);
    expect(warning).toContain("set cloudinfra:journalDir to another folder");
    expect(more).toEqual([]);
  });

  test("a journalDir that is a file, which stays unchanged", async () => {
    const dir = path.join(emptyFolder(), "file");
    writeFileSync(dir, "somebody's own");
    const there = opened({ dir });
    expect(await twoCreations(there)).toEqual([undefined, [], undefined, []]);
    expect(there.warnings).toEqual([expect.stringContaining(`in ${dir} can't be used (ENOTDIR`)]);
    expect(readFileSync(dir, "utf8")).toBe("somebody's own");
  });

  test("a user without a home", async () => {
    const noHome = vi.spyOn(os, "homedir").mockImplementation(() => {
      throw new Error("no such user");
    });
    const warnings: string[] = [];
    const journal = openJournal({
      endpoint: "e",
      cwd: "/program",
      env: {},
      warn: (text) => void warnings.push(text),
    });
    await journal.begin(begun());
    expect(await journal.read({ urn: URN })).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringContaining("the journal of creations can't be used (no such user)"),
    ]);
    await confirm(URN, "ins-1", { env: {} });
    expect(noHome).toHaveBeenCalled();
    noHome.mockRestore();
  });

  test("a disk that never responds, after ten seconds", async () => {
    vi.useFakeTimers();
    const there = opened({ disk: diskWith(() => new Promise(() => {})) });
    let over = false;
    const begin = there.journal.begin(begun()).then(() => {
      over = true;
    });
    await vi.advanceTimersByTimeAsync(9_999);
    expect(over).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await begin;
    vi.useRealTimers();
    expect(there.warnings).toEqual([expect.stringContaining("the disk has not responded for 10 s")]);
  });

  test("a disk that never responds, which is accessed only once", async () => {
    vi.useFakeTimers();
    const calls: string[] = [];
    const there = opened({
      run: "127.0.0.1:1",
      disk: diskWith((name, [file]) => {
        if (!String(file).startsWith(there.dir)) return undefined;
        calls.push(name);
        return new Promise(() => {});
      }),
    });
    const { journal } = there;
    const all = Promise.all([
      twoCreations(there),
      journal.find("key-3"),
      journal.run.add({ finished: "key-3" }),
      journal.deletions.add("project"),
    ]);
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    expect(await all).toEqual([[undefined, [], undefined, []], undefined, undefined, undefined]);
    expect(await journal.run.has({ finished: "key-3" })).toBe(true);
    expect(calls).toHaveLength(1);
    expect(there.warnings).toEqual([expect.stringContaining("the disk has not responded for 10 s")]);
  });
});

describe("a full disk", () => {
  test("leaves no incomplete file, and keeps the earlier entry", async () => {
    const { journal, dir } = opened();
    await journal.begin(begun());
    const there = opened({ dir, disk: full() });
    await there.journal.begin(begun({ key: "key-2" }));
    expect(there.files()).toHaveLength(1);
    expect(await journal.read({ urn: URN })).toMatchObject({ key: "key-1" });
  });

  test("costs one entry if it is full only for a moment", async () => {
    let isFull = true;
    const disk = diskWith((name) => {
      if (isFull && name === "file.writeFile") throw new Error("ENOSPC");
    });
    const { journal } = opened({ disk });
    await journal.begin(begun());
    isFull = false;
    await journal.begin(begun({ key: "key-2" }));
    expect(await journal.read({ urn: URN })).toMatchObject({ key: "key-2" });
  });
});

describe("the disk", () => {
  test("receives a synced entry before its name, and a synced name before the creation continues", async () => {
    const calls: string[] = [];
    const dir = path.join(emptyFolder(), "journal");
    mkdirSync(dir);
    const there = opened({ dir, disk: diskWith((name) => void calls.push(name)) });
    await there.journal.begin(begun());
    expect(calls).toEqual([
      ...["open", "file.writeFile", "file.sync", "file.close"],
      ...["readFile", "link", "unlink", "open", "file.sync", "file.close"],
    ]);
  });

  test("receives later updates without a sync, because the key alone leads to the same operation", async () => {
    const calls: string[] = [];
    const there = opened({ disk: diskWith((name) => void calls.push(name)) });
    await there.journal.begin(begun());
    calls.length = 0;
    await there.journal.extend("key-1", { id: "ins-1" });
    expect(calls).toEqual(["open", "file.readFile", "file.writeFile", "file.close"]);
  });

  test("is not accessed when a journal is opened", () => {
    const calls: string[] = [];
    opened({ disk: diskWith((name) => void calls.push(name)) });
    expect(calls).toEqual([]);
  });
});
