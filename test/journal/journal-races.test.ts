import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Disk } from "../../src/journal/disk";
import { REPOSITORY } from "../harness/modules";
import { diskWith, errorOf } from "./disks";
import { begun, emptyFolder, OPERATION, opened, URN } from "./folder";

/** A journal for whose `nth` call of this name another process is quicker. */
function overtaken(
  dir: string,
  name: string,
  nth: number,
  byOther: () => Promise<unknown>,
  linkFails?: string,
) {
  let seen = 0;
  const disk: Disk = diskWith(async (call) => {
    if (call === "link" && linkFails !== undefined) throw errorOf(linkFails);
    if (call === name && ++seen === nth) await byOther();
  });
  return opened({ dir, disk });
}

describe("if a process replaces an entry while another process", () => {
  test("removes the old entry, the new entry stays", async () => {
    const { journal: other, dir, files } = opened();
    await other.begin(begun());
    const { journal, warnings } = overtaken(dir, "rename", 1, () => other.begin(begun({ key: "key-2" })));
    await journal.remove("key-1");
    expect(await other.read({ urn: URN })).toMatchObject({ key: "key-2" });
    expect(files()).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  test("removes the old entry on a file system without links, the new entry stays", async () => {
    const { journal: other, dir, files } = opened();
    await other.begin(begun());
    const { journal } = overtaken(dir, "rename", 1, () => other.begin(begun({ key: "key-2" })), "EPERM");
    await journal.remove("key-1");
    expect(await other.read({ urn: URN })).toMatchObject({ key: "key-2" });
    expect(files()).toHaveLength(1);
  });

  test("puts back an entry that it moved by mistake, the newest entry stays", async () => {
    const { journal: other, dir, files } = opened();
    await other.begin(begun());
    let renames = 0;
    const disk = diskWith(async (call) => {
      if (call === "rename" && ++renames === 1) await other.begin(begun({ key: "key-2" }));
      if (call === "link") await other.begin(begun({ key: "key-3" }));
    });
    await opened({ dir, disk }).journal.remove("key-1");
    expect(await other.read({ urn: URN })).toMatchObject({ key: "key-3" });
    expect(files()).toHaveLength(1);
  });

  test("updates the old entry, the new entry stays unchanged", async () => {
    const { journal: other, dir, files } = opened();
    await other.begin(begun());
    const late = overtaken(dir, "file.writeFile", 1, () => other.begin(begun({ key: "key-2" })));
    await late.journal.extend("key-1", { operation: OPERATION });
    expect(await other.read({ urn: URN })).toMatchObject({ key: "key-2" });
    expect(await other.read({ urn: URN })).not.toHaveProperty("operation");
    expect(files()).toHaveLength(1);
  });

  test("sets aside a damaged entry, the new entry stays without a warning", async () => {
    const { journal: other, dir, files } = opened();
    await other.begin(begun());
    writeFileSync(files()[0] ?? "", "{");
    const { journal, warnings } = overtaken(dir, "rename", 1, () => other.begin(begun({ key: "key-2" })));
    await journal.read({ urn: URN });
    expect(await other.read({ urn: URN })).toMatchObject({ key: "key-2" });
    expect(files()).toHaveLength(1);
    expect(warnings).toEqual([]);
  });
});

describe("if a process removes an entry while another process", () => {
  test("updates it, the entry stays removed", async () => {
    const { journal: other, dir, files } = opened();
    await other.begin(begun());
    const late = overtaken(dir, "file.writeFile", 1, () => other.remove("key-1"));
    await late.journal.extend("key-1", { operation: OPERATION });
    expect(files()).toEqual([]);
    expect(late.warnings).toEqual([]);
  });

  test("removes it too, there is no warning", async () => {
    const { journal: other, dir, files } = opened();
    await other.begin(begun());
    const { journal, warnings } = overtaken(dir, "rename", 1, () => other.remove("key-1"));
    await journal.remove("key-1");
    expect(files()).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test.each(["readFile", "unlink"])("is about to %s the moved file, there is no warning", async (call) => {
    const { journal: other, dir } = opened();
    await other.begin(begun());
    const nth = call === "readFile" ? 2 : 1;
    const sweeper = opened({ dir });
    const { journal, warnings, files } = overtaken(dir, call, nth, async () => {
      const { unlinkSync } = await import("node:fs");
      for (const file of sweeper.files()) unlinkSync(file);
    });
    await journal.remove("key-1");
    expect(files()).toEqual([]);
    expect(warnings).toEqual([]);
  });
});

describe("if many processes begin the same creation, exactly one writes its entry, and the others receive that entry,", () => {
  const keys = Array.from({ length: 8 }, (_, i) => `key-${i}`);

  async function all(dir: string, { linkFails, reads }: { linkFails?: string; reads?: boolean } = {}) {
    const disk = diskWith((call) => {
      if (call === "link" && linkFails !== undefined) throw errorOf(linkFails);
    });
    const many = keys.map(() => opened({ dir, disk }));
    if (reads) for (const { journal } of many) await journal.read({ urn: URN });
    const told = await Promise.all(many.map(({ journal }, i) => journal.begin(begun({ key: `key-${i}` }))));
    expect(many.flatMap(({ warnings }) => warnings)).toEqual([]);
    return told.map((other) => other?.key);
  }

  test("if there was no entry", async () => {
    const { journal, dir, files } = opened();
    for (let round = 0; round < 10; round++) {
      const told = await all(dir);
      const there = await journal.read({ urn: URN });
      expect(told).toEqual(keys.map((key) => (key === there?.key ? undefined : there?.key)));
      expect(files()).toHaveLength(1);
      await journal.remove(there?.key ?? "");
    }
  });

  test("if all of them have read an earlier entry", async () => {
    const { journal, dir, files } = opened();
    await journal.begin(begun({ key: "first" }));
    expect(await all(dir, { reads: true })).toContain(undefined);
    expect(await journal.read({ urn: URN })).toMatchObject({ key: expect.stringMatching(/^key-\d$/) });
    expect(files()).toHaveLength(1);
  });

  test("unless there is an entry that none of them has read", async () => {
    const { journal, dir } = opened();
    await journal.begin(begun({ key: "first" }));
    expect(await all(dir)).toEqual(keys.map(() => "first"));
  });

  test("except on a file system without links, where the last entry stays without a warning", async () => {
    const { journal, dir, files } = opened();
    expect(await all(dir, { linkFails: "EPERM" })).toContain(undefined);
    expect(await journal.read({ urn: URN })).toMatchObject({ key: expect.stringMatching(/^key-\d$/) });
    expect(files()).toHaveLength(1);
  });
});

/** Creates over and over under keys of its own, each told of an operation that has its key as its id. */
const WORKER = `
  const { openJournal } = require(process.argv[1]);
  const [, , dir, urn, name] = process.argv;
  const warn = (message) => { console.error(message); process.exitCode = 1; };
  const journal = openJournal({ endpoint: "https://api.example.com/v1", cwd: "/program", dir, warn });
  (async () => {
    for (let i = 0; i < 150; i++) {
      const key = name + "-" + i;
      await journal.begin({ urn, key, resource: key, body: JSON.stringify({ key, padding: "x".repeat(i * 20) }), at: i });
      await journal.extend(key, { operation: { id: key, url: "/v1/operations/" + key } });
      const entry = await journal.read({ urn: urn });
      if (entry && JSON.parse(entry.body).key !== entry.key) throw new Error("body of another: " + entry.key);
      if (entry?.operation && entry.operation.id !== entry.key) throw new Error("operation of another: " + entry.key);
      await journal.remove(i % 2 || !entry ? key : entry.key);
      await journal.extend(key, { id: "late" });
    }
  })().catch((error) => { console.error(error); process.exitCode = 1; });
`;

test("three processes that create the same resource at the same time never mix their lines, and leave no files", async () => {
  const dir = path.join(emptyFolder(), "journal");
  const module = path.join(REPOSITORY, "dist/journal/journal.js");
  const ends = ["a", "b", "c"].map(async (name) => {
    const child = spawn(process.execPath, ["-e", WORKER, module, dir, URN, name]);
    const said: string[] = [];
    child.stderr.on("data", (data) => said.push(String(data)));
    const [code] = await once(child, "exit");
    return { code, said: said.join("") };
  });
  expect(await Promise.all(ends)).toEqual(Array.from({ length: 3 }, () => ({ code: 0, said: "" })));
  const { journal, files } = opened({ dir });
  for (const { key } of await journal.list()) await journal.remove(key);
  expect(files()).toEqual([]);
});

test("an entry that another process began since the last read is reported by begin, even if it was listed meanwhile", async () => {
  const { journal: other, dir, files } = opened();
  const { journal } = opened({ dir });
  await journal.read({ urn: URN });
  await other.begin(begun());
  await journal.list();
  await journal.find(begun().resource);
  expect(await journal.begin(begun({ key: "key-2" }))).toMatchObject({ key: "key-1" });
  expect(files()).toHaveLength(1);
});
