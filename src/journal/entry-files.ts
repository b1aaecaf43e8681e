import { hash } from "node:crypto";
import path from "node:path";
import { DELETION_SUFFIX } from "./deletions";
import { type Disk, fileNamesIn, readText, removeOld, TEMPORARY_SUFFIX } from "./disk";
import { type Entry, parseEntry } from "./entry";

const DAY_MS = 24 * 60 * 60_000;

/** How the names of the files end that record which creations the user has given up. */
const GIVEN_UP_SUFFIX = ".given-up";

/** Returns the name of the file which records that the user has given up the creation with a key. */
export function givenUpFileName(key: string): string {
  return hash("sha256", key).slice(0, 24) + GIVEN_UP_SUFFIX;
}

/** How long files are kept that nothing removes, by the end of their names, in milliseconds. */
const KEPT_MS = {
  [TEMPORARY_SUFFIX]: DAY_MS,
  [DELETION_SUFFIX]: 30 * DAY_MS,
  [GIVEN_UP_SUFFIX]: 30 * DAY_MS,
} as const;

/** Reads the entries in a folder by their files. Leaves out damaged ones, which may be another program's. */
export async function readEntries(
  disk: Disk,
  folder: string,
  ending = ".jsonl",
): Promise<ReadonlyMap<string, Entry>> {
  const names = (await fileNamesIn(disk, folder)).filter((name) => name.endsWith(ending));
  const files = names.map((name) => path.join(folder, name));
  const texts = await Promise.all(files.map((file) => readText(disk, file)));
  const entries = texts.map((text) => parseEntry(text ?? ""));
  return new Map(files.flatMap((file, index) => (entries[index] ? [[file, entries[index]] as const] : [])));
}

/**
 * Finds entries by the key of their resource, which their names do not tell. Each file is read once: the resource of an entry
 * never changes.
 */
export class EntryIndex {
  private readonly resources = new Map<string, string | undefined>();
  private isTidy = false;

  constructor(private readonly disk: Disk) {}

  /** Returns the files whose entries are about the resource with this key, in whatever stack and at whatever endpoint. */
  async of(folder: string, resource: string): Promise<string[]> {
    const names = await fileNamesIn(this.disk, folder);
    if (!this.isTidy) await removeOld(this.disk, folder, KEPT_MS);
    this.isTidy = true;
    const entries = names.filter((name) => name.endsWith(".jsonl")).map((name) => path.join(folder, name));
    await Promise.all(entries.filter((file) => !this.resources.has(file)).map((file) => this.learn(file)));
    return entries.filter((file) => this.resources.get(file) === resource);
  }

  private async learn(file: string): Promise<void> {
    const text = await readText(this.disk, file);
    if (text !== undefined) this.resources.set(file, parseEntry(text)?.resource);
  }
}
