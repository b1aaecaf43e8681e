import { hash } from "node:crypto";
import os from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { appendOrCreate, codeOf, type Disk, readText } from "./disk";
import { inTime } from "./in-time";

/** How the names of these files end. */
export const RUN_FACTS = ".facts";

/**
 * What the create and delete calls of one run of the engine must agree on. A run may have several provider processes, one for each
 * explicit provider and for each version, so the facts are in a file that all of them read.
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
  | { readonly replacing: string };

/** A line of the file. Facts of a process that no longer runs are about an earlier run, whose engine had the same address. */
interface Line {
  readonly fact: Fact;
  /** Id of the process that added the fact. */
  readonly by: number;
}

/** The facts of one run. If the journal's folder can't be used, they are in a temporary one; if no disk can, only this process knows them. */
export class RunFacts {
  private readonly own: Fact[] = [];

  /** @param run identifies the run: the engine's address. Undefined if there is only this process */
  constructor(
    private readonly disk: Disk,
    private readonly folder: () => string,
    private readonly run: string | undefined,
  ) {}

  async add(fact: Fact): Promise<void> {
    this.own.push(fact);
    const line: Line = { fact, by: process.pid };
    for (const file of this.files()) {
      const written = () => appendOrCreate(this.disk, file, `${JSON.stringify(line)}\n`).then(() => true);
      if (await inTime(path.dirname(file), written).catch(() => false)) return;
    }
  }

  async has(fact: Fact): Promise<boolean> {
    return this.isOwn(fact) || this.hasOther(fact);
  }

  /** Whether another process of this run has added the fact. */
  async hasOther(fact: Fact): Promise<boolean> {
    if (this.isOwn(fact)) return false;
    const read = this.files().map((file) =>
      inTime(path.dirname(file), () => readText(this.disk, file)).catch(() => undefined),
    );
    const lines = (await Promise.all(read)).flatMap((text) => text?.split("\n") ?? []);
    const same = lines.filter((line) => line.includes(JSON.stringify(fact)));
    return same.flatMap(parseLine).some((line) => isDeepStrictEqual(line.fact, fact) && isRunning(line.by));
  }

  private isOwn(fact: Fact): boolean {
    return this.own.some((known) => isDeepStrictEqual(known, fact));
  }

  /** Where the facts of this run may be: the journal has warned if its folder can't be used. */
  private files(): string[] {
    if (this.run === undefined) return [];
    const name = hash("sha256", this.run).slice(0, 24) + RUN_FACTS;
    return [this.folder, temporaryFolder].flatMap((folder) => {
      try {
        return [path.join(folder(), name)];
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

/** A line that was cut off is as if it had never been written. */
function parseLine(text: string): { readonly fact: unknown; readonly by: number } | [] {
  try {
    const line: unknown = JSON.parse(text);
    const { fact, by } = Object(line) as Partial<Line>;
    return typeof by === "number" ? { fact, by } : [];
  } catch {
    return [];
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM"; // another user's process
  }
}
