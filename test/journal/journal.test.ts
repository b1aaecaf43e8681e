import {
  appendFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { begun, ENDPOINT, emptyFolder, OPERATION, opened, URN } from "./folder";

const DAY_MS = 24 * 60 * 60_000;
const otherUrn = `${URN}-2`;

describe("an entry", () => {
  test("contains the creation's first fields, its stack and endpoint, and all later updates", async () => {
    const { journal, warnings } = opened();
    const creation = begun({ secrets: ["flavor"] });
    await journal.begin(creation);
    expect(await journal.read({ urn: URN })).toEqual({
      ...creation,
      endpoint: ENDPOINT,
      backend: "/program",
    });
    await journal.extend("key-1", { operation: OPERATION });
    await journal.extend("key-1", { id: "ins-1" });
    expect(await journal.read({ urn: URN })).toEqual({
      ...creation,
      endpoint: ENDPOINT,
      backend: "/program",
      operation: OPERATION,
      id: "ins-1",
    });
    expect(warnings).toEqual([]);
  });

  test("contains only the members that the provider writes, with the type that it writes", async () => {
    const { journal, files } = opened();
    await journal.begin(begun());
    const before = await journal.read({ urn: URN });
    appendFileSync(files()[0] ?? "", '\n{"failed":"yes","id":7,"imported":["ins-1",7],"isLate":"true"}\n');
    expect(await journal.read({ urn: URN })).toEqual(before);
  });

  test("contains all recorded imports, even after a move", async () => {
    const { journal } = opened();
    await journal.begin(begun());
    for (const id of ["ins-1", "ins-2"]) await journal.extend("key-1", { imported: [id] });
    await journal.move({ urn: URN }, { urn: otherUrn });
    await journal.extend("key-1", { imported: ["ins-3"] });
    expect((await journal.read({ urn: otherUrn }))?.imported).toEqual(["ins-1", "ins-2", "ins-3"]);
  });

  test("returns the body as the exact string that was sent", async () => {
    const body = '{ "labels":{"b":"\\u00e9","a":"line\\n\u2028\u{1f600}"},\n"é":1e3}\r\n';
    const { journal } = opened();
    await journal.begin(begun({ body }));
    await journal.extend("key-1", { id: "ins-1" });
    expect((await journal.read({ urn: URN }))?.body).toBe(body);
  });

  test("is visible to other processes with the same folder, but not for another folder, endpoint or resource", async () => {
    const { journal, dir, cwd, warnings } = opened();
    await journal.begin(begun());
    expect(await opened({ dir, cwd }).journal.read({ urn: URN })).toMatchObject({ key: "key-1" });
    const others = [
      opened({ dir, cwd: "/elsewhere" }).journal.read({ urn: URN }),
      opened({ dir, cwd, endpoint: "https://api.example.org/v1" }).journal.read({ urn: URN }),
      journal.read({ urn: otherUrn }),
    ];
    expect(await Promise.all(others)).toEqual([undefined, undefined, undefined]);
    expect(warnings).toEqual([]);
  });

  test("replaces the entry before it, including its updates", async () => {
    const { journal, files } = opened();
    await journal.begin(begun());
    await journal.extend("key-1", { operation: OPERATION, id: "ins-1" });
    await journal.begin(begun({ key: "key-2" }));
    expect(await journal.read({ urn: URN })).toEqual({
      ...begun({ key: "key-2" }),
      endpoint: ENDPOINT,
      backend: "/program",
    });
    expect(files()).toHaveLength(1);
  });

  test("records whether `recover` wrote it", async () => {
    const { journal } = opened();
    await journal.begin(begun({ recovered: true }));
    expect(await journal.read({ urn: URN })).toMatchObject({ recovered: true });
  });

  test("is readable only by its owner, like the folders that are created for it", async () => {
    const base = emptyFolder();
    const dir = path.join(base, "deep", "journal");
    const { journal, files } = opened({ dir });
    await journal.begin(begun());
    await journal.extend("key-1", { id: "ins-1" });
    const mode = (file: string): string => (statSync(file).mode & 0o777).toString(8);
    expect(files().map(mode)).toEqual(["600"]);
    expect([dir, path.dirname(dir)].map(mode)).toEqual(["700", "700"]);
  });

  test("is valid however old it is", async () => {
    const { journal } = opened();
    const at = Date.now() - 400 * DAY_MS;
    await journal.begin(begun({ at }));
    expect(await journal.read({ urn: URN })).toMatchObject({ at });
    expect(await journal.list()).toMatchObject([{ at }]);
  });
});

test("the record of a started deletion is for one creation, visible to other processes, independent of the entry, and removable", async () => {
  const { dir, journal, warnings } = opened();
  await journal.begin(begun());
  await journal.unmark("key-1", "discarded");
  await journal.mark("key-1", "discarded");
  await journal.remove("key-1");
  const other = opened({ dir }).journal;
  expect([await other.isMarked("key-1", "discarded"), await other.isMarked("key-2", "discarded")]).toEqual([
    true,
    false,
  ]);
  expect(await other.isMarked("key-1", "given-up")).toBe(false);
  await other.unmark("key-1", "discarded");
  expect(await journal.isMarked("key-1", "discarded")).toBe(false);
  expect(warnings).toEqual([]);
});

describe("an update of an entry", () => {
  test("is applied only while the key is the same", async () => {
    const { journal } = opened();
    await journal.begin(begun({ key: "key-2" }));
    await journal.extend("key-1", { operation: OPERATION });
    expect(await journal.read({ urn: URN })).not.toHaveProperty("operation");
  });

  test("never creates an entry or restores a removed one", async () => {
    const { journal, files } = opened();
    await journal.extend("key-1", { operation: OPERATION });
    await journal.begin(begun());
    await journal.remove("key-1");
    await journal.extend("key-1", { operation: OPERATION });
    expect(await journal.read({ urn: URN })).toBeUndefined();
    expect(files()).toEqual([]);
  });

  test("keeps the fields that it doesn't mention", async () => {
    const { journal } = opened();
    await journal.begin(begun());
    await journal.extend("key-1", { operation: OPERATION, id: "ins-1" });
    await journal.extend("key-1", {});
    expect(await journal.read({ urn: URN })).toMatchObject({ operation: OPERATION, id: "ins-1" });
  });
});

describe("the removal of an entry", () => {
  test("removes only the entry with this key", async () => {
    const { journal, files } = opened();
    await journal.begin(begun({ key: "key-2" }));
    await journal.remove("key-1");
    expect(await journal.read({ urn: URN })).toMatchObject({ key: "key-2" });
    await journal.remove("key-2");
    expect(await journal.read({ urn: URN })).toBeUndefined();
    expect(files()).toEqual([]);
  });

  test("without a key removes any entry", async () => {
    const { journal, files } = opened();
    await journal.begin(begun());
    await journal.remove("key-1");
    expect(files()).toEqual([]);
  });

  test("does nothing if there is no entry", async () => {
    const { journal, warnings } = opened();
    await journal.remove("key-1");
    await journal.remove("key-1");
    expect(warnings).toEqual([]);
  });
});

describe("the list", () => {
  test("is empty if nothing was ever written", async () => {
    const { journal, warnings } = opened();
    expect(await journal.list()).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test("contains exactly the entries of this folder, for this or all endpoints, the oldest first", async () => {
    const { journal, dir, cwd, warnings } = opened();
    const elsewhere = opened({ dir, cwd: "/elsewhere" }).journal;
    const otherService = opened({ dir, cwd, endpoint: "https://api.example.org/v1" }).journal;
    for (const other of [elsewhere, otherService]) await other.begin(begun());
    await journal.begin(begun({ at: 2 }));
    await journal.begin(begun({ urn: otherUrn, at: 1, key: "key-2" }));
    await journal.extend("key-2", { id: "ins-2" });
    writeFileSync(path.join(dir, "notes.txt"), "somebody's own");
    expect(await journal.list()).toEqual([
      { ...begun({ urn: otherUrn, at: 1, key: "key-2" }), endpoint: ENDPOINT, backend: cwd, id: "ins-2" },
      { ...begun({ at: 2 }), endpoint: ENDPOINT, backend: cwd },
    ]);
    expect((await journal.listEverywhere()).map(({ key, endpoint }) => [key, endpoint])).toEqual([
      ["key-2", ENDPOINT],
      ["key-1", ENDPOINT],
      ["key-1", otherService.endpoint],
    ]);
    expect(warnings).toEqual([]);
  });

  test("is sorted by the time of the creations", async () => {
    const { journal } = opened();
    const times = [5, 2, 7, 1, 6, 3, 8, 4];
    for (const at of times) await journal.begin(begun({ urn: `${URN}-${at * 7}`, at }));
    expect((await journal.list()).map(({ at }) => at)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("contains entries that `recover --file` wrote without a backend", async () => {
    const { journal, dir, cwd } = opened({ env: { PULUMI_BACKEND_URL: "https://api.pulumi.com" } });
    const { journal: recover } = opened({ dir, cwd, env: { PULUMI_BACKEND_URL: "", PULUMI_HOME: dir } });
    await recover.begin(begun());
    expect(await journal.list()).toEqual([]);
    await recover.begin(begun({ urn: otherUrn, key: "key-2", recovered: true }));
    expect(await journal.list()).toMatchObject([{ key: "key-2", backend: cwd }]);
    // It may be about the stack with the same name at another backend: its object is never deleted.
    expect(await journal.read({ urn: otherUrn })).toMatchObject({ key: "key-2", isLate: true });
    expect((await recover.read({ urn: otherUrn }))?.isLate).toBeUndefined();
    // The program may have renamed the resource.
    await journal.move({ urn: otherUrn }, { urn: URN });
    expect(await journal.read({ urn: URN })).toMatchObject({ key: "key-2", isLate: true });
    expect(await journal.read({ urn: otherUrn })).toBeUndefined();
  });

  test("skips damaged entries, which may be another program's", async () => {
    const { journal, files } = opened();
    await journal.begin(begun());
    const [file = ""] = files();
    writeFileSync(file, "{");
    expect(await journal.list()).toEqual([]);
    expect(files()).toEqual([file]);
  });
});

describe("a damaged entry", () => {
  test.each([
    ["empty", ""],
    ["cut off", '{"urn":"urn:pul'],
    ["not JSON", "hello\n"],
    ["something else", "[1]\n"],
    ["null", "null\n"],
    [
      "without its body",
      JSON.stringify({ ...begun(), body: undefined, endpoint: ENDPOINT, backend: "/program" }),
    ],
    ["of zeroes", "\0".repeat(200)],
  ])("(%s) is set aside with one warning", async (_how, text) => {
    const { journal, files, warnings } = opened();
    await journal.begin(begun());
    const [file = ""] = files();
    writeFileSync(file, text);
    expect(await journal.read({ urn: URN })).toBeUndefined();
    expect(await journal.read({ urn: URN })).toBeUndefined();
    expect(files()).toEqual([`${file}.damaged`]);
    expect(readFileSync(`${file}.damaged`, "utf8")).toBe(text);
    expect(warnings).toEqual([expect.stringContaining(`set aside as ${file}.damaged`)]);
  });

  test("doesn't prevent the next creation from writing its own entry", async () => {
    const { journal, files } = opened();
    await journal.begin(begun());
    const [file = ""] = files();
    writeFileSync(file, "");
    await journal.read({ urn: URN });
    await journal.begin(begun({ key: "key-2" }));
    expect(await journal.read({ urn: URN })).toMatchObject({ key: "key-2" });
    expect(files()).toHaveLength(2);
  });

  test("is neither updated nor removed", async () => {
    const { journal, files } = opened();
    await journal.begin(begun());
    const [file = ""] = files();
    writeFileSync(file, "{");
    await journal.extend("key-1", { id: "ins-1" });
    await journal.remove("key-1");
    expect(readFileSync(file, "utf8")).toBe("{");
  });
});

describe("a later line that a kill has truncated", () => {
  const whole = `\n${JSON.stringify({ operation: OPERATION })}\n`;

  test.each(Array.from({ length: whole.length }, (_, length) => length))(
    "after %i bytes is skipped, and the lines before and after it are valid",
    async (length) => {
      const { journal, files, warnings } = opened();
      await journal.begin(begun());
      const [file = ""] = files();
      appendFileSync(file, whole.slice(0, length));
      const cutOff = await journal.read({ urn: URN });
      expect(cutOff).toMatchObject(begun());
      expect([undefined, OPERATION]).toContainEqual(cutOff?.operation);
      await journal.extend("key-1", { id: "ins-1" });
      expect(await journal.read({ urn: URN })).toMatchObject({ ...begun(), id: "ins-1" });
      expect(warnings).toEqual([]);
    },
  );

  test.each([
    ['{"operation":{"id":"op-1"}}', "operation"],
    ['{"operation":null}', "operation"],
    ['{"id":7}', "id"],
  ])("or that has another form (%s) is skipped", async (line, field) => {
    const { journal, files } = opened();
    await journal.begin(begun());
    appendFileSync(files()[0] ?? "", `${line}\n`);
    expect(await journal.read({ urn: URN })).not.toHaveProperty(field);
  });
});

describe("a file whose name is this resource's and whose content is another's", () => {
  test.each([
    ["resource", { urn: otherUrn }, {}],
    ["stack", {}, { cwd: "/elsewhere" }],
    ["service", {}, { endpoint: "https://api.example.org/v1" }],
  ])("(another %s) is ignored with one warning, and stays as it is", async (_what, fields, place) => {
    const { journal, dir, files, warnings } = opened();
    await journal.begin(begun());
    const [file = ""] = files();
    await journal.remove("key-1");
    await opened({ dir, ...place }).journal.begin(begun(fields));
    renameSync(files()[0] ?? "", file);
    const text = readFileSync(file, "utf8");
    expect(await journal.read({ urn: URN })).toBeUndefined();
    expect(await journal.read({ urn: URN })).toBeUndefined();
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(warnings).toEqual([
      expect.stringContaining(
        `${file} is ignored, because its content doesn't match the resource, stack or service in its name`,
      ),
    ]);
  });
});

test("files that killed processes have left behind are removed after a day, records of deletions after 30 days, and other files never", async () => {
  const { journal, dir, files } = opened();
  await journal.begin(begun());
  const folder = path.dirname(files()[0] ?? "");
  const ages = {
    ...{ "new.cloudinfra-tmp": 0, "old.cloudinfra-tmp": 2, "other.tmp": 2 },
    ...{ "new.discarded": 29, "old.discarded": 31, "old.given-up": 31 },
  };
  for (const [name, days] of Object.entries(ages)) {
    writeFileSync(path.join(folder, name), "");
    const at = (Date.now() - days * DAY_MS) / 1000;
    utimesSync(path.join(folder, name), at, at);
  }
  expect(await opened({ dir }).journal.find(begun().resource)).toMatchObject({ key: "key-1" });
  const kept = readdirSync(folder).filter((name) => !name.endsWith(".jsonl"));
  expect(kept.sort()).toEqual(["new.cloudinfra-tmp", "new.discarded", "other.tmp"]);
});
