import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import fs, { type FileHandle } from "node:fs/promises";
import path from "node:path";
import { codeOf } from "../diagnostics/error";
import { limitOf, systemClock, within } from "../polling/clock";

export type Disk = Pick<
  typeof fs,
  "link" | "mkdir" | "open" | "readdir" | "readFile" | "rename" | "stat" | "unlink"
>;

export const systemDisk: Disk = fs;

/** The suffix of a file while it is being written or removed. */
export const TEMPORARY_SUFFIX = ".cloudinfra-tmp";

/** Checks the content of a file before the file is changed or removed. */
type TextCheck = (text: string) => boolean;

/** The maximum number of attempts if other processes keep creating and removing the file. */
const MAX_ATTEMPTS = 10;

/** The operations of the journal on files. Several processes may run them at the same time. */
export class Files {
  constructor(private readonly disk: Disk = systemDisk) {}

  /** Reads a file. Resolves to `undefined` if the file doesn't exist. */
  read(file: string): Promise<string | undefined> {
    return unlessMissing(this.disk.readFile(file, "utf8"));
  }

  /** Lists the names of the files in a folder. The folder may not exist yet. */
  async namesIn(folder: string): Promise<string[]> {
    return (await unlessMissing(this.disk.readdir(folder))) ?? [];
  }

  /** Removes files that are older than the limit for their suffix, in milliseconds. */
  async removeOld(folder: string, keptMs: Readonly<Record<string, number>>): Promise<void> {
    const removals = (await this.namesIn(folder)).map(async (name) => {
      const [, forMs] = Object.entries(keptMs).find(([ending]) => name.endsWith(ending)) ?? [];
      if (forMs === undefined) return;
      const file = path.join(folder, name);
      const { mtimeMs } = await this.disk.stat(file);
      if (Date.now() - mtimeMs > forMs) await this.disk.unlink(file);
    });
    await Promise.allSettled(removals); // if a removal fails, another process has removed the file, or a later one does
  }

  /**
   * Writes a file atomically, with permissions only for its owner. An existing file is replaced only if `mayReplace` returns true. This
   * check may be skipped if the file system doesn't support links, or if other processes keep creating and removing the file.
   *
   * @returns the text of the existing file, if that file was kept
   */
  async write(file: string, text: string, mayReplace: TextCheck): Promise<string | undefined> {
    const written = temporaryName(file);
    try {
      await withFile(this.openOrMakeFolder(written, "wx"), async (handle) => {
        await handle.writeFile(text);
        await handle.sync();
      });
      for (let tries = 1; ; tries += 1) {
        const other = await this.read(file);
        if (other !== undefined && !mayReplace(other)) return other;
        const replaces = other !== undefined || tries === MAX_ATTEMPTS;
        if (replaces) await this.disk.rename(written, file);
        if (replaces || (await this.linkUnlessTaken(written, file))) break;
      }
    } finally {
      await this.disk.unlink(written).catch(() => undefined); // an error before this one is more useful
    }
    // Node can't open folders on Windows.
    if (process.platform !== "win32")
      await withFile(this.disk.open(path.dirname(file), "r"), (handle) => handle.sync());
    return undefined;
  }

  /** Links a file to a new name, or renames it if links aren't supported. Returns `false` if a file with the new name exists. */
  private async linkUnlessTaken(file: string, name: string): Promise<boolean> {
    try {
      await this.disk.link(file, name);
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      await this.disk.rename(file, name); // a file system without links
      return true;
    }
  }

  private async openOrMakeFolder(file: string, flags: "wx" | "a"): Promise<FileHandle> {
    const open = () => this.disk.open(file, flags, 0o600);
    const handle = await unlessMissing(open());
    if (handle !== undefined) return handle;
    await this.disk.mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    return open();
  }

  /**
   * Appends to a file if it exists and has the expected text. All steps use the same handle, so a new file of another process stays
   * unchanged. The text isn't synced to disk, because that would also flush the writes of other programs.
   */
  async appendTo(file: string, isExpected: TextCheck, text: string): Promise<void> {
    const opened = this.disk.open(file, constants.O_RDWR | constants.O_APPEND);
    const appended = withFile(opened, async (handle) => {
      if (isExpected(await handle.readFile("utf8"))) await handle.writeFile(text);
    });
    await unlessMissing(appended);
  }

  /** Appends to a file, and creates the file and its folder if necessary. Small appends of several processes don't interleave. */
  async appendOrCreate(file: string, text: string): Promise<void> {
    await withFile(this.openOrMakeFolder(file, "a"), (handle) => handle.writeFile(text));
  }

  async remove(file: string): Promise<void> {
    await unlessMissing(this.disk.unlink(file));
  }

  /**
   * Removes a file, or renames it to `kept`, if it has the expected text. Checks twice, because other processes may replace the file.
   *
   * @returns `false` if the file has another text or doesn't exist
   */
  async removeIf(file: string, isExpected: TextCheck, kept?: string): Promise<boolean> {
    const text = await this.read(file);
    if (text === undefined || !isExpected(text)) return false;
    const aside = temporaryName(file);
    await unlessMissing(this.disk.rename(file, aside));
    const taken = await this.read(aside);
    if (taken === undefined) return false;
    const isTaken = isExpected(taken);
    if (isTaken && kept !== undefined) await this.disk.rename(aside, kept);
    else if (!isTaken) await this.linkUnlessTaken(aside, file);
    await this.remove(aside);
    return isTaken;
  }
}

/** Returns a unique name, so that two processes never use the same temporary file. */
const temporaryName = (file: string): string => `${file}.${randomUUID()}${TEMPORARY_SUFFIX}`;

/** Resolves to the result of an operation, or to `undefined` if the file or folder doesn't exist. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function withFile<T>(opened: Promise<FileHandle>, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await opened;
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

/** The timeout of disk operations, in milliseconds. A network folder may never respond. */
const DISK_TIMEOUT_MS = 10_000;

/** The folders that have timed out. Further accesses are avoided, because each of them would block a thread. */
const unresponsiveFolders = new Set<string>();

/** The first access to each folder. Other accesses wait for its end, because several accesses could block all threads of the process. */
const firstAccesses = new Map<string, Promise<unknown>>();

/** Runs an operation in a folder, and rejects after ten seconds. The operation itself can't be cancelled. */
export async function withDiskTimeout<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const before = firstAccesses.get(folder);
  if (before !== undefined) await before;
  if (unresponsiveFolders.has(folder)) throw diskTimeout();
  const result = timed(folder, work());
  if (before === undefined) firstAccesses.set(folder, Promise.allSettled([result]));
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

const diskTimeout = (): Error => new Error(`the disk has not responded for ${DISK_TIMEOUT_MS / 1000} s`);
