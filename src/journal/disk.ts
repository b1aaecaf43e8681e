import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import fs, { type FileHandle } from "node:fs/promises";
import path from "node:path";

/** The calls that a journal makes of its disk. */
export type Disk = Pick<
  typeof fs,
  "link" | "mkdir" | "open" | "readdir" | "readFile" | "rename" | "stat" | "unlink"
>;

export const systemDisk: Disk = fs;

/** How the name of a file ends while it is being written or taken out. */
export const TEMPORARY_SUFFIX = ".tmp";

/** A name of its own for each writing or taking out: two processes never share one. */
const temporaryName = (file: string): string => `${file}.${randomUUID()}${TEMPORARY_SUFFIX}`;

/** Whether an error says that the file, or its folder, is not there. */
const isMissing = (error: unknown): boolean => codeOf(error) === "ENOENT";

export const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** What comes of some work on a file or folder; undefined where that is not there. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Reads a file; undefined where there is none. */
export function readText(disk: Disk, file: string): Promise<string | undefined> {
  return unlessMissing(disk.readFile(file, "utf8"));
}

/** The names of the files in a folder; none where there is no folder yet. */
export async function fileNamesIn(disk: Disk, folder: string): Promise<string[]> {
  return (await unlessMissing(disk.readdir(folder))) ?? [];
}

/** Removes the files in a folder whose names have one of these endings and that are older than its time, in milliseconds. */
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
    // Another process may have removed it. Otherwise, the next one tries again.
  }
}

/** How often a file may come and go while another one is put in its place. */
const MAX_ATTEMPTS = 10;

/**
 * Puts a file there whole or not at all, whatever ends the process meanwhile; it can be read by its owner only. It takes the
 * place of none, or of one that may go: of two processes that put theirs where there is none, one does. Where there are no
 * links on a file system, or files come and go all the time, it takes the place of any.
 *
 * @returns the text of another one that stays there instead
 */
export async function writeWholeFile(
  disk: Disk,
  file: string,
  text: string,
  mayGo: (text: string) => boolean,
): Promise<string | undefined> {
  const written = temporaryName(file);
  try {
    await write(disk, written, text);
    for (let tries = 1; ; tries += 1) {
      const other = await readText(disk, file);
      if (other !== undefined && !mayGo(other)) return other;
      const replaces = other !== undefined || tries === MAX_ATTEMPTS;
      if (replaces) await disk.rename(written, file);
      if (replaces || (await isLinked(disk, written, file))) break;
    }
  } finally {
    await disk.unlink(written).catch(() => undefined); // what went wrong before says more
  }
  await syncFolder(disk, path.dirname(file));
  return undefined;
}

/** @returns whether the file has this name too now, which it may only get where there is no other one */
async function isLinked(disk: Disk, file: string, name: string): Promise<boolean> {
  try {
    await disk.link(file, name);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    await disk.rename(file, name); // a file system without links
    return true;
  }
}

async function write(disk: Disk, file: string, text: string): Promise<void> {
  await withFile(openOrMakeFolder(disk, file, "wx"), async (handle) => {
    await handle.writeFile(text);
    await handle.sync();
  });
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
  if (process.platform === "win32") return; // folders can't be opened there
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
 * Appends to a file that is there and is the one that is meant; never makes one. Reads and appends through one opening:
 * where another process puts a new file in its place meanwhile, this goes to the old one and is lost with it. It outlives
 * this process, but not the machine: a disk that is made to keep it at once keeps with it all that others have written,
 * the engine's state above all.
 */
export async function appendTo(
  disk: Disk,
  file: string,
  isMeant: (text: string) => boolean,
  text: string,
): Promise<void> {
  const appended = withFile(disk.open(file, constants.O_RDWR | constants.O_APPEND), async (handle) => {
    if (!isMeant(await handle.readFile("utf8"))) return;
    await handle.writeFile(text);
  });
  await unlessMissing(appended);
}

/** Appends to a file, and creates it and its folder if necessary. Small writes of several processes never mix. */
export async function appendOrCreate(disk: Disk, file: string, text: string): Promise<void> {
  await withFile(openOrMakeFolder(disk, file, "a"), (handle) => handle.writeFile(text));
}

/** Removes a file if it is the one that is meant. */
export async function removeFile(
  disk: Disk,
  file: string,
  isMeant: (text: string) => boolean,
): Promise<void> {
  const removed = await moveAside(disk, file, isMeant);
  if (removed !== undefined) await unlessMissing(disk.unlink(removed));
}

/**
 * Takes a file out of its place if it is the one that is meant, and says where it is then. Another process may put a new
 * one there at any moment: only what has been moved aside is known for certain, and goes back if it is not the one.
 */
export async function moveAside(
  disk: Disk,
  file: string,
  isMeant: (text: string) => boolean,
): Promise<string | undefined> {
  const text = await readText(disk, file);
  if (text === undefined || !isMeant(text)) return undefined;
  const aside = temporaryName(file);
  await unlessMissing(disk.rename(file, aside));
  const taken = await readText(disk, aside);
  if (taken === undefined) return undefined;
  if (isMeant(taken)) return aside;
  await putBack(disk, aside, file);
  return undefined;
}

async function putBack(disk: Disk, aside: string, file: string): Promise<void> {
  try {
    await disk.link(aside, file); // never over a still newer one
  } catch (error) {
    if (codeOf(error) !== "EEXIST") return disk.rename(aside, file); // a file system without links
  }
  await disk.unlink(aside);
}

/** The longest that a disk may keep its user waiting: a network folder may never answer. Milliseconds. */
const DISK_TIMEOUT_MS = 10_000;

/** The folders that have kept this process waiting too long. It doesn't access them again: each access would wait as long, and block a thread. */
const unresponsiveFolders = new Set<string>();

/** The end of the first access to each folder. Others wait for it, as otherwise they could block all threads of the process together. */
const firstAccesses = new Map<string, Promise<void>>();

/** The result of some work in a folder, or an error after ten seconds; the work itself can't be stopped. */
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
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      unresponsiveFolders.add(folder);
      reject(diskTimeout());
    }, DISK_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function diskTimeout(): Error {
  return new Error(`the disk has not answered for ${DISK_TIMEOUT_MS / 1000} s`);
}
