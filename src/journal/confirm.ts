import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { type Disk, fileNamesIn, readText, removeFile, systemDisk } from "./disk";
import { parseEntry } from "./entry";
import { type JournalLocation, journalFolder } from "./location";

/** Ids by resource key, and the end of their removal. */
interface Batch {
  readonly ids: Map<string, string>;
  readonly done: Promise<void>;
}

/** The next batch of each folder. */
const batches = new Map<string, Batch>();

/**
 * Removes the entry about an object that the state now holds. Call it when the `id` of the resource resolves: unless it saves only at
 * the end of its run, the engine has saved the resource by then.
 *
 * Never rejects: an entry that can't be removed is removed by the next check of the resource.
 *
 * @param key the resource's key
 * @param id the object's id
 */
export async function confirm(
  key: string,
  id: string,
  { disk = systemDisk, ...place }: JournalLocation & { readonly disk?: Disk } = {},
): Promise<void> {
  try {
    const folder = journalFolder(place);
    let batch = batches.get(folder);
    if (batch === undefined) {
      const ids = new Map<string, string>();
      batch = { ids, done: removeAll(disk, folder, ids) };
      batches.set(folder, batch);
    }
    batch.ids.set(key, id);
    await batch.done;
  } catch {
    // See above. The provider, which depends on the journal, reports what is wrong with it.
  }
}

/** Many resources are saved at about the same time, and only its contents tell which resource an entry is about. */
async function removeAll(disk: Disk, folder: string, ids: ReadonlyMap<string, string>): Promise<void> {
  await setImmediate();
  batches.delete(folder);
  const isConfirmed = (text: string): boolean => {
    const entry = parseEntry(text);
    return entry?.id !== undefined && !entry.isKept && ids.get(entry.resource) === entry.id;
  };
  const entries = (await fileNamesIn(disk, folder)).filter((name) => name.endsWith(".jsonl"));
  const work = entries.map(async (name) => {
    const file = path.join(folder, name);
    if (isConfirmed((await readText(disk, file)) ?? "")) await removeFile(disk, file, isConfirmed);
  });
  await Promise.all(work);
}
