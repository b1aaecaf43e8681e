import path from "node:path";
import { type Disk, HALF_DONE, namesIn, removeFile, systemDisk } from "./disk";
import { parseEntry } from "./entry";
import { journalFolder, type Place, prefixOf } from "./place";

const DAY_MS = 24 * 60 * 60_000;

/**
 * The state has this resource with this id: removes the entries that are about that very object, at whatever endpoint,
 * and what a process that was killed while writing left of them more than a day ago.
 *
 * Never rejects: an entry that can't be removed is found to be held by the state at the next `up`, and removed then.
 */
export async function confirm(
  urn: string,
  id: string,
  { disk = systemDisk, ...place }: Place & { readonly disk?: Disk } = {},
): Promise<void> {
  const dir = place.cwd ?? process.cwd();
  try {
    const folder = journalFolder(place);
    const prefix = prefixOf({ dir, urn });
    const own = (await namesIn(disk, folder)).filter((name) => name.startsWith(prefix));
    const isConfirmed = (text: string): boolean => {
      const entry = parseEntry(text);
      return entry !== undefined && entry.id === id && entry.urn === urn && entry.dir === dir;
    };
    for (const file of own.map((name) => path.join(folder, name))) {
      if (file.endsWith(".jsonl")) await removeFile(disk, file, isConfirmed);
      else if (file.endsWith(HALF_DONE)) await removeIfOld(disk, file);
    }
  } catch {
    // See above; the provider, which can't do without it, says what is wrong.
  }
}

async function removeIfOld(disk: Disk, file: string): Promise<void> {
  const { mtimeMs } = await disk.stat(file);
  if (Date.now() - mtimeMs > DAY_MS) await disk.unlink(file);
}
