import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { fileName } from "../../src/journal/entry";
import { openJournal } from "../../src/journal/journal";
import { backendOf, journalFolder } from "../../src/journal/location";
import { begun, ENDPOINT, emptyFolder, opened, URN } from "./folder";

const home = { HOME: "/home/ada" };

describe("the journal's folder", () => {
  test.each([
    ["the user's folder for states", {}, home, "/home/ada/.local/state/pulumi-cloudinfra/journal"],
    ["below XDG_STATE_HOME", {}, { ...home, XDG_STATE_HOME: "/state" }, "/state/pulumi-cloudinfra/journal"],
    [
      "not below a relative XDG_STATE_HOME, which counts as unset",
      {},
      { ...home, XDG_STATE_HOME: "state" },
      "/home/ada/.local/state/pulumi-cloudinfra/journal",
    ],
    ["the setting journalDir itself", { dir: "/notes" }, { XDG_STATE_HOME: "/state" }, "/notes"],
    [
      "journalDir from the program's folder on, where it is relative",
      { dir: "notes" },
      home,
      "/program/notes",
    ],
  ])("is %s", (_where, options, env, expected) => {
    expect(journalFolder({ cwd: "/program", env, ...options })).toBe(expected);
  });

  test("is in the user's home according to the system if HOME is not set", () => {
    const folder = path.join(os.homedir(), ".local/state/pulumi-cloudinfra/journal");
    expect(journalFolder({ env: {} })).toBe(folder);
  });
});

describe("an entry's file name", () => {
  const purpose = { urn: URN, backend: "/program", endpoint: ENDPOINT };

  test("is the same in every process and release, so that the next `up` finds the entry", () => {
    expect(fileName(purpose)).toBe("eb256c42beb9986302422206-53aee2ca762b.jsonl");
    expect(fileName({ ...purpose, replaces: "key-1" })).toBe("072fd8f7d512a391330ef5f8-53aee2ca762b.jsonl");
  });

  test("differs for another stack, organization, resource, replaced resource and service", () => {
    const others = [
      purpose,
      { ...purpose, backend: "file:///other" },
      { ...purpose, organization: "acme" },
      { ...purpose, urn: `${URN}-2` },
      { ...purpose, replaces: "key-1" },
      { ...purpose, replaces: "key-2" },
      { ...purpose, endpoint: "https://api.example.org/v1" },
    ];
    expect(new Set(others.map(fileName)).size).toBe(others.length);
  });

  test("does not depend on the URN of a replaced resource, which an alias may change", () => {
    const replacing = { ...purpose, replaces: "key-1" };
    expect(fileName({ ...replacing, urn: `${URN}-2` })).toBe(fileName(replacing));
  });

  test("is the name that the journal uses", async () => {
    const { journal, dir, files } = opened({ dir: path.join(emptyFolder(), "journal") });
    await journal.begin(begun());
    expect(files()).toEqual([path.join(dir, fileName(purpose))]);
  });
});

test.each([
  ["Pulumi.yaml", "backend:\n  url: s3://team-dev\n"],
  ["Pulumi.yaml", "backend: # the team's bucket\n  url: s3://team-dev # for now\n"],
  ["Pulumi.yml", "backend:\n# the former url: s3://former\n  # url: s3://former\n  url: 's3://team-dev'\n"],
  ["Pulumi.yaml", 'name: app\n"backend": {\n  "url": "s3://team-dev"\n}\n'],
  [
    "Pulumi.yaml",
    "x: &x\n  url: s3://team-dev\nbackend:\n  <<: *x\nretries: !!int 5\n---\nname: other\n---\n",
  ],
  ["Pulumi.json", '{\n\t"backend": { "url": "s3://team-dev" }\n}'],
])("the backend is the one in the project file: %s with %j", (name, text) => {
  const folder = emptyFolder();
  writeFileSync(path.join(folder, name), text);
  const program = path.join(folder, "src");
  expect(backendOf(program, { PULUMI_HOME: folder })).toBe("s3://team-dev");
});

test("two project folders with one program and different backends have separate entries", async () => {
  const folder = emptyFolder();
  const dir = path.join(folder, "journal");
  for (const name of ["dev", "prod", "program"]) mkdirSync(path.join(folder, name));
  for (const name of ["dev", "prod"])
    writeFileSync(
      path.join(folder, name, "Pulumi.yaml"),
      `main: ../program\nbackend:\n  url: s3://${name}\n`,
    );
  const at = (name: string) =>
    openJournal({
      ...{ endpoint: ENDPOINT, dir, cwd: path.join(folder, "program"), env: { PULUMI_HOME: folder } },
      projectFolder: () => `../${name}`,
      warn: expect.fail,
    });
  await at("dev").begin(begun());
  expect(await at("prod").read({ urn: URN })).toBeUndefined();
  expect(await at("dev").read({ urn: URN })).toMatchObject({ key: "key-1", backend: "s3://dev" });
});

test("backends that differ only in their query are distinct, and the query, which may contain a secret, is not written", async () => {
  const dir = emptyFolder();
  const at = (query: string) => {
    const env = { PULUMI_BACKEND_URL: `azblob://states?${query}` };
    return openJournal({ endpoint: ENDPOINT, dir, env, warn: expect.fail });
  };
  const entry = { urn: URN, key: "key-1", resource: "key-1", body: "{}", at: 1 };
  await at("storage_account=prod&a=1").begin(entry);
  expect(await at("storage_account=test&a=1").read({ urn: URN })).toBeUndefined();
  expect(await at("a=1&storage_account=prod").read({ urn: URN })).toMatchObject({ key: "key-1" });
  const [file = ""] = readdirSync(dir);
  expect(readFileSync(path.join(dir, file), "utf8")).not.toContain("storage_account");
});
