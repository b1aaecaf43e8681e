import os from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { fileName, journalFolder } from "../../src/journal/place";
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

  test("is in the home that the system knows where the environment names none", () => {
    const folder = path.join(os.homedir(), ".local/state/pulumi-cloudinfra/journal");
    expect(journalFolder({ env: {} })).toBe(folder);
  });
});

describe("an entry's file name", () => {
  const entry = { dir: "/program", urn: URN, endpoint: ENDPOINT };

  test("is the same in every process and release, so that the next `up` finds what a killed one left", () => {
    expect(fileName(entry)).toBe("f90208957c475b0fc9919d29-53aee2ca762b.jsonl");
  });

  test("differs for another folder, resource and service, also where their texts run together", () => {
    const others = [
      entry,
      { ...entry, dir: "/program/urn" },
      { ...entry, urn: `${URN}-2` },
      { ...entry, endpoint: "https://api.example.org/v1" },
      { ...entry, dir: `${entry.dir}urn`, urn: entry.urn.slice(3) },
    ];
    expect(new Set(others.map(fileName)).size).toBe(others.length);
  });

  test("is what the journal uses", async () => {
    const { journal, dir, files } = opened({ dir: path.join(emptyFolder(), "journal") });
    await journal.begin(begun());
    expect(files()).toEqual([path.join(dir, fileName(entry))]);
  });
});
