import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import fs, { type FileHandle } from "node:fs/promises";
import path from "node:path";
import { codeOf } from "../diagnostics/error";
import { limitOf, systemClock, within } from "../polling/clock";

/** The file system calls of the journal. */
export type Disk = Pick<
  typeof fs,
  "link" | "mkdir" | "open" | "readdir" | "readFile" | "rename" | "stat" | "unlink"
>;

export const systemDisk: Disk = fs;

/** The suffix of a file while it is being written or removed. */
export const TEMPORARY_SUFFIX = ".tmp";

/** Checks the content of a file before the file is changed or removed. */
type TextCheck = (text: string) => boolean;

/** Returns a unique name, so that two processes never use the same temporary file. */
const temporaryName = (file: string): string => `${file}.${randomUUID()}${TEMPORARY_SUFFIX}`;

const isMissing = (error: unknown): boolean => codeOf(error) === "ENOENT";

/** Resolves to the result of an operation, or to `undefined` if the file or folder doesn't exist. */
export async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Reads a file. Resolves to `undefined` if the file doesn't exist. */
export function readText(disk: Disk, file: string): Promise<string | undefined> {
  return unlessMissing(disk.readFile(file, "utf8"));
}

/** Lists the names of the files in a folder. The folder may not exist yet. */
export async function fileNamesIn(disk: Disk, folder: string): Promise<string[]> {
  return (await unlessMissing(disk.readdir(folder))) ?? [];
}

/** Removes files that are older than the limit for their suffix, in milliseconds. */
export async function removeOld(
  disk: Disk,
  folder: string,
  keptMs: Readonly<Record<string, number>>,
): Promise<void> {
  const kept = Object.entries(keptMs);
  const passing = (await fileNamesIn(disk, folder)).flatMap((name) => {
    const [, forMs] = kept.find(([ending]) => name.endsWith(ending)) ?? [];
    return forMs === undefined ? [] : removeIfOld(disk, path.join(folder, name), forMs);
  });
  await Promise.all(passing);
}

async function removeIfOld(disk: Disk, file: string, forMs: number): Promise<void> {
  try {
    const { mtimeMs } = await disk.stat(file);
    if (Date.now() - mtimeMs > forMs) await disk.unlink(file);
  } catch {
    // Another process may have removed the file. Otherwise, a later process removes it.
  }
}

/** The maximum number of attempts if other processes keep creating and removing the file. */
const MAX_ATTEMPTS = 10;

/**
 * Writes a file atomically, with permissions only for its owner. An existing file is replaced only if `mayReplace` returns true. This check
 * may be skipped if the file system doesn't support links, or if other processes keep creating and removing the file.
 *
 * @returns the text of the existing file, if that file was kept
 */
export async function writeWholeFile(
  disk: Disk,
  file: string,
  text: string,
  mayReplace: TextCheck,
): Promise<string | undefined> {
  const written = temporaryName(file);
  try {
    await withFile(openOrMakeFolder(disk, written, "wx"), async (handle) => {
      await handle.writeFile(text);
      await handle.sync();
    });
    for (let tries = 1; ; tries += 1) {
      const other = await readText(disk, file);
      if (other !== undefined && !mayReplace(other)) return other;
      const replaces = other !== undefined || tries === MAX_ATTEMPTS;
      if (replaces) await disk.rename(written, file);
      if (replaces || (await linkUnlessTaken(disk, written, file))) break;
    }
  } finally {
    await disk.unlink(written).catch(() => undefined); // an error before this one is more useful
  }
  await syncFolder(disk, path.dirname(file));
  return undefined;
}

/** Links a file to a new name, or renames it if links aren't supported. Returns `false` if a file with the new name exists. */
async function linkUnlessTaken(disk: Disk, file: string, name: string): Promise<boolean> {
  try {
    await disk.link(file, name);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    await disk.rename(file, name); // a file system without links
    return true;
  }
}

async function openOrMakeFolder(disk: Disk, file: string, flags: "wx" | "a"): Promise<FileHandle> {
  const open = () => disk.open(file, flags, 0o600);
  return open().catch(async (error) => {
    if (!isMissing(error)) throw error;
    await disk.mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    return open();
  });
}

async function syncFolder(disk: Disk, folder: string): Promise<void> {
  if (process.platform === "win32") return; // Node can't open folders there
  await withFile(disk.open(folder, "r"), (handle) => handle.sync());
}

async function withFile<T>(opened: Promise<FileHandle>, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await opened;
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

/**
 * Appends to a file if it exists and has the expected text. All steps use the same handle, so a new file of another process stays
 * unchanged. The text isn't synced to disk, because that would also flush the writes of other programs.
 */
export async function appendTo(disk: Disk, file: string, isExpected: TextCheck, text: string): Promise<void> {
  const appended = withFile(disk.open(file, constants.O_RDWR | constants.O_APPEND), async (handle) => {
    if (!isExpected(await handle.readFile("utf8"))) return;
    await handle.writeFile(text);
  });
  await unlessMissing(appended);
}

/** Appends to a file, and creates the file and its folder if necessary. Small appends of several processes don't interleave. */
export async function appendOrCreate(disk: Disk, file: string, text: string): Promise<void> {
  await withFile(openOrMakeFolder(disk, file, "a"), (handle) => handle.writeFile(text));
}

/** Removes a file if it has the expected text. */
export async function removeFile(disk: Disk, file: string, isExpected: TextCheck): Promise<void> {
  const removed = await moveAside(disk, file, isExpected);
  if (removed !== undefined) await unlessMissing(disk.unlink(removed));
}

/**
 * Renames a file if it has the expected text, and returns the new name. The text is checked again after the rename, because another process
 * may replace the file at any time.
 */
export async function moveAside(
  disk: Disk,
  file: string,
  isExpected: TextCheck,
): Promise<string | undefined> {
  const text = await readText(disk, file);
  if (text === undefined || !isExpected(text)) return undefined;
  const aside = temporaryName(file);
  await unlessMissing(disk.rename(file, aside));
  const taken = await readText(disk, aside);
  if (taken === undefined) return undefined;
  if (isExpected(taken)) return aside;
  await linkUnlessTaken(disk, aside, file);
  await unlessMissing(disk.unlink(aside));
  return undefined;
}

/** The timeout of disk operations, in milliseconds. A network folder may never respond. */
const DISK_TIMEOUT_MS = 10_000;

/** The folders that have timed out. Further accesses are avoided, because each of them would block a thread. */
const unresponsiveFolders = new Set<string>();

/** The first access to each folder. Other accesses wait for its end, because several accesses could block all threads of the process. */
const firstAccesses = new Map<string, Promise<void>>();

/** Runs an operation in a folder, and rejects after ten seconds. The operation itself can't be cancelled. */
export async function withDiskTimeout<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const before = firstAccesses.get(folder);
  if (before !== undefined) await before;
  if (unresponsiveFolders.has(folder)) throw diskTimeout();
  const result = timed(folder, work());
  const ignore = (): void => undefined;
  if (before === undefined) firstAccesses.set(folder, result.then(ignore, ignore));
  return result;
}

async function timed<T>(folder: string, work: Promise<T>): Promise<T> {
  const limit = limitOf(DISK_TIMEOUT_MS, systemClock);
  try {
    return await within(limit.signal, work);
  } catch (error) {
    if (!limit.signal.aborted) throw error;
    unresponsiveFolders.add(folder);
    throw diskTimeout();
  } finally {
    limit.release();
  }
}

function diskTimeout(): Error {
  return new Error(`the disk has not responded for ${DISK_TIMEOUT_MS / 1000} s`);
}
