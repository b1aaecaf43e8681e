import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import type { Disk } from "../../src/journal/disk";
import type { NewEntry } from "../../src/journal/journal";
import { type Journal, openJournal } from "../../src/journal/journal";

export const ENDPOINT = "https://api.example.com/v1";
export const URN = "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Instance::web";
export const OPERATION = { id: "op-1", url: "https://api.example.com/v1/operations/op-1" };

/** A creation of `URN`. */
export const begun = (fields: Partial<NewEntry> = {}): NewEntry & { resource: string } => ({
  urn: URN,
  key: "key-1",
  resource: "key-1",
  body: '{"name":"web"}',
  at: 1_700_000_000_000,
  ...fields,
});

/** An empty folder, gone after the test. */
export function emptyFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-journal-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Opened {
  readonly journal: Journal;
  readonly dir: string;
  /** The program's folder: what the entries are about, nothing is written there. */
  readonly cwd: string;
  readonly warnings: string[];
  /** The files of the journal. */
  files(): string[];
}

/** A journal in a folder that is not there yet. */
export function opened(
  options: {
    dir?: string;
    cwd?: string;
    endpoint?: string;
    disk?: Disk;
    env?: NodeJS.ProcessEnv;
    run?: string;
  } = {},
): Opened {
  const {
    dir = path.join(emptyFolder(), "journal"),
    cwd = "/program",
    endpoint = ENDPOINT,
    disk,
    env = { ...process.env, PULUMI_HOME: dir }, // the developer may have logged in to a backend
    run,
  } = options;
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const journal = openJournal({ dir, cwd, endpoint, disk, env, run, warn });
  return { journal, dir, cwd, warnings, files: () => readdirSync(dir).map((name) => path.join(dir, name)) };
}
