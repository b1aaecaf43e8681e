import path from "node:path";
import { type Disk, HALF_DONE, namesIn, readText } from "./disk";
import { parseEntry } from "./entry";
import { RUN_FACTS } from "./run-facts";

const DAY_MS = 24 * 60 * 60_000;

/**
 * Finds entries by the key of their resource, which their names do not tell. Each file is read once: the resource of an entry
 * never changes.
 */
export class EntryFiles {
  private readonly resources = new Map<string, string | undefined>();
  private isTidy = false;

  constructor(private readonly disk: Disk) {}

  /** Returns the files whose entries are about the resource with this key, in whatever stack and at whatever endpoint. */
  async of(folder: string, resource: string): Promise<string[]> {
    const names = await namesIn(this.disk, folder);
    if (!this.isTidy) await this.tidy(folder, names);
    const entries = names.filter((name) => name.endsWith(".jsonl")).map((name) => path.join(folder, name));
    await Promise.all(entries.filter((file) => !this.resources.has(file)).map((file) => this.learn(file)));
    return entries.filter((file) => this.resources.get(file) === resource);
  }

  private async learn(file: string): Promise<void> {
    const text = await readText(this.disk, file);
    if (text !== undefined) this.resources.set(file, parseEntry(text)?.resource);
  }

  /** Removes files that a killed process left more than a day ago, when they had ceased to matter. */
  private async tidy(folder: string, names: readonly string[]): Promise<void> {
    this.isTidy = true;
    const passing = names.filter((name) => name.endsWith(HALF_DONE) || name.endsWith(RUN_FACTS));
    await Promise.all(passing.map((name) => this.removeIfOld(path.join(folder, name))));
  }

  private async removeIfOld(file: string): Promise<void> {
    try {
      const { mtimeMs } = await this.disk.stat(file);
      if (Date.now() - mtimeMs > DAY_MS) await this.disk.unlink(file);
    } catch {
      // Another process may have removed it. Otherwise, the next one tries again.
    }
  }
}
