import path from "node:path";
import { appendTo, type Disk, namesIn, putFile, readText, removeFile, systemDisk, takeOut } from "./disk";
import { type Entry, firstLine, laterLine, type More, parseEntry } from "./entry";
import { inTime } from "./in-time";
import { fileName, journalFolder, type Place, suffixOf } from "./place";

/**
 * What the creations of this program and endpoint have left on disk: one entry for each URN at most. Nothing here throws,
 * and nothing waits for a disk for ever: where the journal can't be used, one warning says so and it is as if it were empty.
 */
export interface Journal {
  /**
   * Puts an entry there, in place of the one that was last read here, if any. It is on disk when this resolves.
   *
   * @returns the entry that another process has put there since, and that is left there instead
   */
  begin(entry: Begun): Promise<Entry | undefined>;
  /** Adds to the entry, if it is there and is still the one with this key. */
  note(urn: string, key: string, more: More): Promise<void>;
  /** The entry, however old. A damaged one is set aside, a foreign one is left; either earns a warning and is none. */
  read(urn: string): Promise<Entry | undefined>;
  /** Removes the entry; where a key is given, only the one with this key. */
  remove(urn: string, key?: string): Promise<void>;
  /** Every entry, however old, the oldest first. */
  list(): Promise<Entry[]>;
}

/** What a creation knows of itself before it asks. */
export type Begun = Pick<Entry, "urn" | "key" | "body" | "at" | "recovered">;

export interface JournalOptions extends Place {
  /** Normalised base URL of the service. */
  readonly endpoint: string;
  /** Waited for, so that a warning is out before the call ends that it is about. */
  readonly warn: (message: string) => void | Promise<void>;
  /** @default the system's */
  readonly disk?: Disk | undefined;
}

/** Opens the journal of an endpoint and a working directory; touches no disk yet. */
export function openJournal(options: JournalOptions): Journal {
  return new FileJournal(options);
}

class FileJournal implements Journal {
  private readonly endpoint: string;
  private readonly dir: string;
  private readonly disk: Disk;
  private readonly warned = new Set<string>();
  /** By URN, the key of the entry that was last read or put there here. */
  private readonly known = new Map<string, string>();

  constructor(private readonly options: JournalOptions) {
    this.endpoint = options.endpoint;
    this.dir = options.cwd ?? process.cwd();
    this.disk = options.disk ?? systemDisk;
  }

  begin(begun: Begun): Promise<Entry | undefined> {
    const { urn, key } = begun;
    const text = firstLine({ ...begun, endpoint: this.endpoint, dir: this.dir });
    const known = this.known.get(urn);
    const mayGo = (there: string): boolean => [undefined, known].includes(this.ownIn(there, urn)?.key);
    return this.safely(async (folder) => {
      const other = this.ownIn(await putFile(this.disk, this.file(folder, urn), text, mayGo), urn);
      this.known.set(urn, other?.key ?? key);
      return other;
    });
  }

  async note(urn: string, key: string, more: More): Promise<void> {
    await this.safely((folder) => appendTo(this.disk, this.file(folder, urn), hasKey(key), laterLine(more)));
  }

  read(urn: string): Promise<Entry | undefined> {
    return this.safely(async (folder) => {
      const file = this.file(folder, urn);
      const text = await readText(this.disk, file);
      if (text === undefined) return undefined;
      const entry = this.ownIn(text, urn);
      if (entry !== undefined) {
        this.known.set(urn, entry.key);
        return entry;
      }
      if (parseEntry(text) === undefined) return this.setAside(file);
      await this.warnOnce(
        file,
        `the note of a creation ${file} is not used: it is about another resource, folder or service than its name says. If an ` +
          "`up` was killed here before, run `npx pulumi-cloudinfra recover` before the next one, which may else make an object " +
          "a second time. If nobody knows the file, delete it",
      );
      return undefined;
    });
  }

  async remove(urn: string, key?: string): Promise<void> {
    const isMeant = key === undefined ? () => true : hasKey(key);
    await this.safely((folder) => removeFile(this.disk, this.file(folder, urn), isMeant));
  }

  async list(): Promise<Entry[]> {
    const texts = await this.safely(async (folder) => {
      const names = await namesIn(this.disk, folder);
      const ofEndpoint = names.filter((name) => name.endsWith(suffixOf(this.endpoint)));
      return Promise.all(ofEndpoint.map((name) => readText(this.disk, path.join(folder, name))));
    });
    // What is damaged may be another program's: `read` sets aside what is this one's.
    const entries = (texts ?? []).flatMap((text) => (text && parseEntry(text)) || []);
    return entries.filter((entry) => this.isOwn(entry)).sort((a, b) => a.at - b.at);
  }

  private file(folder: string, urn: string): string {
    return path.join(folder, fileName({ urn, dir: this.dir, endpoint: this.endpoint }));
  }

  private ownIn(text: string | undefined, urn: string): Entry | undefined {
    const entry = text === undefined ? undefined : parseEntry(text);
    return entry && this.isOwn(entry) && entry.urn === urn ? entry : undefined;
  }

  private isOwn({ endpoint, dir }: Entry): boolean {
    return endpoint === this.endpoint && dir === this.dir;
  }

  private async setAside(file: string): Promise<undefined> {
    const damaged = await takeOut(this.disk, file, (text) => parseEntry(text) === undefined);
    if (damaged === undefined) return; // another process has put a good one there
    const kept = `${file}.damaged`;
    await this.disk.rename(damaged, kept);
    await this.warnOnce(
      file,
      `a damaged note of a creation was set aside as ${kept}: it can't tell how far the creation came, and the next \`pulumi up\` ` +
        "may make the object a second time. Run `npx pulumi-cloudinfra recover` before it; if `up` is running already, look at the " +
        "service afterwards for an object that `pulumi stack` does not show. Then delete the file",
    );
  }

  private async safely<T>(work: (folder: string) => Promise<T>): Promise<T | undefined> {
    let where = "";
    try {
      const folder = journalFolder({ ...this.options, cwd: this.dir });
      where = ` in ${folder}`;
      return await inTime(work(folder));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const why = message.replace(/, \w+ '.*/s, ""); // without the call and the file that it was about
      await this.warnOnce(
        "unusable",
        `the journal of creations${where} can't be used (${why}). Creations go on without it, but if one is killed, the next ` +
          "`pulumi up` may make its object a second time. Make room, make the folder writable, or set cloudinfra:journalDir to " +
          "another folder. After a kill, run `npx pulumi-cloudinfra recover` before the next `pulumi up`: here, once the folder " +
          "can be used, or on another machine",
      );
      return undefined;
    }
  }

  private async warnOnce(about: string, message: string): Promise<void> {
    if (this.warned.has(about)) return;
    this.warned.add(about);
    await this.options.warn(`cloudinfra: ${message}.`);
  }
}

const hasKey =
  (key: string) =>
  (text: string): boolean =>
    parseEntry(text)?.key === key;
