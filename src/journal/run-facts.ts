import { execFileSync } from "node:child_process";
import { hash, randomUUID } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { codeOf } from "../diagnostics/error";
import { type Files, withDiskTimeout } from "./disk";

// In addition to entries, provider processes record the facts of a run, and the deletions that this machine has requested.

const FACTS_SUFFIX = ".facts";
export const DAY_MS = 24 * 60 * 60_000;

/** A fact that all provider processes of a run share. Each explicit provider and each version of the package has its own process. */
export type Fact =
  /** A resource currently manages the object, so no process may delete it. */
  | { readonly live: string }
  /** The resource with this key manages the project. */
  | { readonly project: string; readonly key: string }
  /** The resource with this URN or key has adopted the object, which may not be new to the engine. */
  | { readonly adopted: string; readonly by: string }
  /** The object in an `import` option has been deleted. */
  | { readonly gone: string }
  /** A process resumes or discards the unfinished creation of the resource with this key. */
  | { readonly resuming: string }
  | { readonly finished: string }
  /** The resource with this key is being replaced. When its replacement is created, its unfinished creations are finished. */
  | { readonly replacing: string }
  /** The run has a program, which warns about unfinished creations. A process that only deletes resources can't detect the program. */
  | { readonly hasProgram: true };

const RETRACTED = "not ";

/**
 * The facts of a run. Each process appends its facts to its own file in a temporary folder that all processes share. If that folder can't
 * be used, the file is in the journal's folder. If no disk can be used, a process has only its own facts.
 */
export class RunFacts {
  private readonly own = new Set<string>();
  private readonly prefix: string;
  private readonly name: string;
  private tidied?: Promise<void>;

  /** @param run the address of the engine, which identifies the run, or undefined if this process is the only one of its run */
  constructor(
    private readonly files: Files,
    private readonly folder: () => string,
    private readonly run: string | undefined,
  ) {
    this.prefix = `${hash("sha256", run ?? "").slice(0, 24)}.`;
    const lineage = run === undefined ? "" : ancestors().join("-");
    this.name = `${this.prefix}${process.pid}.${lineage}.${randomUUID().slice(0, 8)}${FACTS_SUFFIX}`;
  }

  async add(fact: Fact): Promise<void> {
    const line = JSON.stringify(fact);
    if (this.own.has(line)) return;
    this.own.add(line);
    await this.write(line);
  }

  /** Retracts a fact that this process has added. */
  async retract(fact: Fact): Promise<void> {
    const line = JSON.stringify(fact);
    if (this.own.delete(line)) await this.write(RETRACTED + line);
  }

  private async write(line: string): Promise<void> {
    for (const find of this.folders) {
      const isWritten = await inFolder(find, async (folder) => {
        await this.files.appendOrCreate(path.join(folder, this.name), `${line}\n`);
        this.tidied ??= this.files.removeOld(folder, { [FACTS_SUFFIX]: DAY_MS }).catch(() => undefined);
        await this.tidied;
        return true;
      });
      if (isWritten) return;
    }
  }

  async has(fact: Fact): Promise<boolean> {
    return this.own.has(JSON.stringify(fact)) || this.hasOther(fact);
  }

  /** Reports whether another process of this run has added a fact. Facts of this process are ignored. */
  async hasOther(fact: Fact): Promise<boolean> {
    const line = JSON.stringify(fact);
    return (await this.readOthers()).some(
      (lines) => lines.lastIndexOf(line) > lines.lastIndexOf(RETRACTED + line),
    );
  }

  /** Returns the key of the resource that manages a project in another process of this run. */
  async findProjectKey(project: string): Promise<string | undefined> {
    const start = `${JSON.stringify({ project }).slice(0, -1)},"key":`;
    const lines = (await this.readOthers()).flat(); // the last line of each process may be incomplete
    const line = lines.findLast((one) => one.startsWith(start) && one.endsWith("}"));
    return line === undefined ? undefined : JSON.parse(line).key;
  }

  /** Returns the lines of each other process of this run. */
  private async readOthers(): Promise<string[][]> {
    const inFolders = this.folders.map((find) =>
      inFolder(find, async (folder) => {
        const names = await this.files.namesIn(folder);
        const others = names.filter((name) => name !== this.name && this.isOfRun(name));
        return Promise.all(others.map((name) => this.files.read(path.join(folder, name))));
      }),
    );
    const texts = (await Promise.all(inFolders)).flat();
    return texts.map((text = "") => text.split("\n"));
  }

  /** Reports whether a file belongs to this run. An earlier run may have used the same address. A process may end before its engine. */
  private isOfRun(name: string): boolean {
    if (!name.startsWith(this.prefix) || !name.endsWith(FACTS_SUFFIX)) return false;
    const [pid = "", lineage = ""] = name.slice(this.prefix.length).split(".");
    return isRunning(Number(pid)) || lineage.split("-").some((one) => ancestors().includes(Number(one)));
  }

  private get folders(): readonly (() => string)[] {
    return this.run === undefined ? [] : [temporaryFolder, this.folder];
  }
}

/** Runs an operation in a folder. Resolves to `undefined` if the folder can't be determined or used. */
async function inFolder<T>(find: () => string, work: (folder: string) => Promise<T>): Promise<T | undefined> {
  try {
    const folder = find();
    return await withDiskTimeout(folder, () => work(folder));
  } catch {
    return undefined;
  }
}

/** Returns the temporary folder. @throws Error if another user may have created the folder, and may thus have written false facts */
function temporaryFolder(): string {
  const uid = process.getuid?.() ?? -1; // `os.userInfo` fails in containers whose user has no name
  const folder = path.join(os.tmpdir(), `pulumi-cloudinfra-${uid}`);
  const found = lstatSync(folder, { throwIfNoEntry: false });
  const isOwn = found?.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
  if (found !== undefined && process.platform !== "win32" && !isOwn)
    throw new Error(`${folder} is not private`);
  return folder;
}

/** The process ids are stored, because the parent's process id changes when the parent exits. */
let lineage: readonly number[] | undefined;

/** Returns the process ids of the parent and, if known, the grandparent. Either of these processes may be the engine. */
function ancestors(): readonly number[] {
  lineage ??= [process.ppid, parentOf(process.ppid) ?? 0].filter((pid) => pid > 1);
  return lineage;
}

function parentOf(pid: number): number | undefined {
  try {
    if (process.platform === "win32") return undefined;
    if (process.platform !== "linux")
      return Number(execFileSync("ps", ["-o", "ppid=", "-p", String(pid)], { encoding: "utf8" }));
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM"; // another user's process
  }
}

/** The suffix of the files that record deletion requests. */
export const DELETION_SUFFIX = ".deletion";

/**
 * The objects whose deletion this machine has requested with the current token. If the engine couldn't save a deletion, this record is the
 * only evidence of the deletion. Without the record, the token might only have lost a permission.
 */
export class DeletionRequests {
  /** @param token returns the current token. Only its hash is written. A different token may have fewer permissions */
  constructor(
    private readonly files: Files,
    private readonly folder: () => string,
    private readonly token: () => string,
  ) {}

  /** Records that a deletion is about to be requested. */
  async add(object: string): Promise<void> {
    const line = `${object} ${new Date().toISOString()}\n`;
    await this.withFile(object, (file) => this.files.appendOrCreate(file, line));
  }

  /** Returns the time of the last deletion request for an object in ISO 8601, or `undefined` if there was no request. */
  async requestedAt(object: string): Promise<string | undefined> {
    const text = (await this.withFile(object, (file) => this.files.read(file))) ?? "";
    const line = text.split("\n").findLast((one) => one.startsWith(object));
    return line?.slice(object.length).trim();
  }

  /** Removes the record of a deletion request, because the object still exists or exists again. */
  async remove(object: string): Promise<void> {
    await this.withFile(object, (file) => this.files.remove(file));
  }

  private withFile<T>(object: string, work: (file: string) => Promise<T>): Promise<T | undefined> {
    const name = hash("sha256", JSON.stringify([object, this.token()])).slice(0, 24) + DELETION_SUFFIX;
    return inFolder(this.folder, (folder) => work(path.join(folder, name)));
  }
}
