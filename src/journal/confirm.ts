import { setImmediate } from "node:timers/promises";
import { type Disk, readText, removeFile, systemDisk } from "./disk";
import { entryFilesIn, parseEntry } from "./entry";
import { type JournalLocation, journalFolder } from "./location";

/** A batch of entries to remove from one folder. `ids` contains the id of the object for each key of a resource. */
interface Batch {
  readonly ids: Map<string, string>;
  readonly done: Promise<void>;
}

/** The next batch of each folder. */
const batches = new Map<string, Batch>();

/**
 * Removes the journal entry of an object that is now in the state. Must be called when the `id` of the resource resolves, because the
 * engine has usually saved the resource by then. Never rejects, because the next check of the resource removes any remaining entry.
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
    // The provider reports problems with the journal.
  }
}

/** Removes the entries of all resources that are saved at about the same time, so that each file is read only once. */
async function removeAll(disk: Disk, folder: string, ids: ReadonlyMap<string, string>): Promise<void> {
  await setImmediate();
  batches.delete(folder);
  const isConfirmed = (text: string): boolean => {
    const entry = parseEntry(text);
    return entry?.id !== undefined && !entry.isKept && ids.get(entry.resource) === entry.id;
  };
  // An unreadable file, for example of another user, must not prevent the removal of other files.
  const work = (await entryFilesIn(disk, folder)).map(async (file) => {
    if (isConfirmed((await readText(disk, file)) ?? "")) await removeFile(disk, file, isConfirmed);
  });
  await Promise.allSettled(work);
}
