import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Entry } from "../../src/journal/entry";
import { REPOSITORY } from "../harness/modules";
import { begun, emptyFolder, OPERATION, opened, URN } from "./folder";

/**
 * One creation in a process that kills itself before its call of the disk with this number, and says before that which
 * steps were over; without such a call it ends by itself.
 */
const CREATION = `
  const fs = require("node:fs/promises");
  const { openJournal } = require(process.argv[1]);
  const { dir, urn, begun, operation, killedAt } = JSON.parse(process.argv[2]);
  const say = (word) => require("node:fs").writeSync(1, word + "\\n");
  let calls = 0;
  const watched = (target) => new Proxy(target, {
    get: (_, name) => typeof target[name] !== "function" ? target[name] : async (...args) => {
      if (++calls === killedAt) process.kill(process.pid, "SIGKILL");
      const result = await target[name](...args);
      return name === "open" ? watched(result) : result;
    },
  });
  const journal = openJournal({ endpoint: "https://api.example.com/v1", cwd: "/program", dir, disk: watched(fs), warn: say });
  (async () => {
    await journal.begin(begun); say("began");
    await journal.extend(begun.key, { operation }); say("operation");
    await journal.extend(begun.key, { id: "ins-1" }); say("id");
    await journal.remove(begun.key); say("removed");
  })();
`;

interface Killed {
  readonly ended: "killed" | "by itself";
  /** Steps that were over for certain. */
  readonly over: readonly string[];
  readonly entry: Entry | undefined;
  readonly warnings: readonly string[];
  /** Whether the next creation, in another process, is an entry like any other. */
  readonly next: Entry | undefined;
  readonly entries: number;
}

async function killedAt(call: number): Promise<Killed> {
  const dir = path.join(emptyFolder(), "journal");
  const facts = { dir, urn: URN, begun: begun(), operation: OPERATION, killedAt: call };
  const module = path.join(REPOSITORY, "dist/journal/journal.js");
  const child = spawn(process.execPath, ["-e", CREATION, module, JSON.stringify(facts)], {
    env: { ...process.env, PULUMI_HOME: facts.dir }, // the developer may have logged in to a backend
  });
  let said = "";
  child.stdout.on("data", (data) => {
    said += String(data);
  });
  const [, signal] = await once(child, "close");
  const { journal, warnings, files } = opened({ dir });
  const entry = await journal.read({ urn: URN });
  await journal.begin(begun({ key: "key-2" }));
  const next = await journal.read({ urn: URN });
  const entries = existsSync(dir) ? files().filter((file) => file.endsWith(".jsonl")).length : 0;
  const over = said.split("\n").filter(Boolean);
  return { ended: signal === "SIGKILL" ? "killed" : "by itself", over, entry, warnings, next, entries };
}

/** How many calls of the disk the creation makes; the last of the series below ends by itself. */
const CALLS = 28;

test("a creation that is killed between any two disk operations leaves a complete entry or none", async () => {
  const series: Killed[] = [];
  // A few at a time: each is a process of its own.
  for (let call = 1; call <= CALLS; call += 3) {
    series.push(...(await Promise.all([call, call + 1, call + 2].map(killedAt))));
  }
  expect(series.at(-1)).toMatchObject({ ended: "by itself", over: ["began", "operation", "id", "removed"] });
  expect(series.filter(({ ended }) => ended === "killed").length).toBeGreaterThan(20);

  for (const [index, { over, entry, warnings, next, entries }] of series.entries()) {
    const at = `killed before call ${index + 1}, after ${over.at(-1) ?? "nothing"}`;
    expect(warnings, at).toEqual([]);
    expect(next, at).toMatchObject({ key: "key-2" });
    expect(next, at).not.toHaveProperty("operation");
    expect(entries, at).toBe(1);
    if (entry !== undefined) expect(entry, at).toMatchObject(begun());
    if (over.includes("removed")) expect(entry, at).toBeUndefined();
    else if (entry !== undefined || !over.includes("id")) {
      // What was over is on disk; the step in which the kill fell may be.
      expect(entry !== undefined || !over.includes("began"), at).toBe(true);
      expect(entry?.operation, at).toEqual(over.includes("operation") ? OPERATION : entry?.operation);
      expect(entry?.id, at).toEqual(over.includes("id") ? "ins-1" : entry?.id);
    }
  }
  const kinds = series.map(({ entry }) => (entry === undefined ? "none" : Object.keys(entry).length));
  expect(new Set(kinds).size).toBe(4); // none, begun, with its operation, with its id
});
