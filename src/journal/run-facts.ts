import { execFileSync } from "node:child_process";
import { hash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { appendOrCreate, codeOf, type Disk, fileNamesIn, readText, removeOld, withDiskTimeout } from "./disk";

/** How the names of these files end. */
const FACTS_SUFFIX = ".facts";

const DAY_MS = 24 * 60 * 60_000;

/**
 * What the create and delete calls of one run of the engine must agree on. A run may have several provider processes, one for each
 * explicit provider and for each version, so the facts are in files that all of them read.
 */
export type Fact =
  /** The object is what a resource now is: nothing may delete it. */
  | { readonly live: string }
  /** The resource with this URN or key adopted the object, which an earlier run may have reported: the engine must not take it for a new one. */
  | { readonly adopted: string; readonly by: string }
  /** The object, which the `import` option named, has been deleted. */
  | { readonly gone: string }
  /** The creation with this key has come to its end, and its object has been dealt with. */
  | { readonly settled: string }
  /** The resource with this key is being replaced: the create that follows deals with its unfinished creations. */
  | { readonly replacing: string }
  /** The run has a program, which warns of unsettled creations itself: a process that only deletes doesn't know that. */
  | { readonly hasProgram: true };

const RETRACTED = "not ";

/**
 * The facts of one run. Each process writes those that it adds into a file of its own, in a temporary folder, which all processes share
 * whatever their settings are. If it can't be used, the files are in the journal's folder. If no disk can, only this process knows them.
 */
export class RunFacts {
  private readonly own = new Set<string>();
  /** How the names of the files of this run begin. */
  private readonly prefix: string;
  private readonly name: string;
  private isTidy = false;

  /** @param run identifies the run: the engine's address. Undefined if there is only this process */
  constructor(
    private readonly disk: Disk,
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

  /** Takes back what this process has added. */
  async retract(fact: Fact): Promise<void> {
    const line = JSON.stringify(fact);
    if (this.own.delete(line)) await this.write(RETRACTED + line);
  }

  private async write(line: string): Promise<void> {
    for (const folder of this.folders()) {
      const written = () =>
        appendOrCreate(this.disk, path.join(folder, this.name), `${line}\n`).then(() => true);
      if (await withDiskTimeout(folder, written).catch(() => false)) return this.tidy(folder);
    }
  }

  /** Removes the files of earlier runs. */
  private async tidy(folder: string): Promise<void> {
    if (this.isTidy) return;
    this.isTidy = true;
    await withDiskTimeout(folder, () => removeOld(this.disk, folder, { [FACTS_SUFFIX]: DAY_MS })).catch(
      () => undefined,
    );
  }

  async has(fact: Fact): Promise<boolean> {
    return this.own.has(JSON.stringify(fact)) || this.hasOther(fact);
  }

  /** Whether another process of this run has added the fact. */
  async hasOther(fact: Fact): Promise<boolean> {
    const line = JSON.stringify(fact);
    if (this.own.has(line)) return false;
    const read = this.folders().map((folder) =>
      withDiskTimeout(folder, () => this.readOthers(folder)).catch((): string[] => []),
    );
    return (await Promise.all(read)).flat().some((text) => {
      const lines = text.split("\n");
      return lines.lastIndexOf(line) > lines.lastIndexOf(RETRACTED + line);
    });
  }

  private async readOthers(folder: string): Promise<string[]> {
    const names = await fileNamesIn(this.disk, folder);
    const others = names.filter((name) => name !== this.name && this.isOfRun(name));
    return Promise.all(
      others.map(async (name) => (await readText(this.disk, path.join(folder, name))) ?? ""),
    );
  }

  /** An earlier run may have had an engine with the same address. A process of this run may have died, but its engine still runs. */
  private isOfRun(name: string): boolean {
    if (!name.startsWith(this.prefix) || !name.endsWith(FACTS_SUFFIX)) return false;
    const [pid = "", lineage = ""] = name.slice(this.prefix.length).split(".");
    return isRunning(Number(pid)) || lineage.split("-").some((one) => ancestors().includes(Number(one)));
  }

  /** Where the facts of this run may be. */
  private folders(): string[] {
    if (this.run === undefined) return [];
    return [temporaryFolder, this.folder].flatMap((folder) => {
      try {
        return [folder()];
      } catch {
        return []; // there is no home
      }
    });
  }
}

/** Only this user can use it. */
function temporaryFolder(): string {
  return path.join(os.tmpdir(), `pulumi-cloudinfra-${os.userInfo().uid}`);
}

/** Of this process, asked for once: the parent's number may change when it ends. */
let lineage: readonly number[] | undefined;

/** The parent of this process, and the parent of that if the system tells: one of them is the engine, the other one may be a script. */
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
