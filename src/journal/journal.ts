import path from "node:path";
import { DeletionRequests } from "./deletions";
import {
  appendOrCreate,
  appendTo,
  type Disk,
  moveAside,
  readText,
  removeFile,
  systemDisk,
  withDiskTimeout,
  writeWholeFile,
} from "./disk";
import {
  type Entry,
  EntryIndex,
  type EntryUpdate,
  firstLine,
  givenUpFileName,
  laterLine,
  parseEntry,
  readEntries,
} from "./entry";
import {
  backendOf,
  type EntryIdentity,
  fileName,
  isOfBackend,
  type JournalLocation,
  journalFolder,
  stackOf,
  suffixOf,
} from "./location";
import { RunFacts } from "./run-facts";

/**
 * The entries of the creations that this machine has begun at one endpoint. No method throws or waits for a disk forever: if the
 * journal can't be used, one warning says so, and it behaves as if it were empty.
 */
export interface Journal {
  /** The base URL of the service. */
  readonly endpoint: string;
  /**
   * Writes an entry. It is on disk when this resolves. It takes the place of the entry that was last read here for the same
   * purpose, if any.
   *
   * @returns the entry that another process has written meanwhile, which then stays
   */
  begin(entry: NewEntry): Promise<Entry | undefined>;
  /** Extends the entry with this key, if there is one. */
  extend(key: string, more: EntryUpdate): Promise<void>;
  /** Reads the entry for a purpose, however old. A damaged one is set aside with a warning. */
  read(purpose: CreationPurpose): Promise<Entry | undefined>;
  /** Makes the entry for a purpose the one for another purpose at this endpoint, unless there is one. */
  move(from: CreationPurpose, to: Pick<CreationPurpose, "urn" | "replaces">): Promise<void>;
  /** Records that the user gives up the creation with this key: the next command neither resumes nor settles it. */
  giveUp(key: string): Promise<void>;
  /** Whether the user has given up the creation with this key, on this machine. */
  isGivenUp(key: string): Promise<boolean>;
  /** Moves the entries of a stack from the former endpoints of this service to this one. Only the first call does something. */
  moveFormerEndpoints(stack: string, isFormer: (entry: Entry) => boolean): Promise<void>;
  /** Finds the entry of the resource with this key, in whatever stack and at whatever endpoint, as a key is unique. */
  find(resource: string): Promise<Entry | undefined>;
  /** Removes the entry with this key. */
  remove(key: string): Promise<void>;
  /** Lists the entries of this organization, backend and endpoint, the oldest first. */
  list(): Promise<Entry[]>;
  /** Lists the entries of this organization and backend at all endpoints, the oldest first. */
  listEverywhere(): Promise<Entry[]>;
  /** The same as it was at the first call: what earlier runs have left, read once. */
  entriesAtStart(): Promise<readonly Entry[]>;
  /** What the processes of this run must agree on. */
  readonly run: RunFacts;
  /** The objects whose deletion this machine has requested. */
  readonly deletions: DeletionRequests;
}

/** What a creation knows of itself before it sends its request. */
export type NewEntry = Pick<
  Entry,
  | "urn"
  | "provider"
  | "key"
  | "resource"
  | "replaces"
  | "projectKey"
  | "body"
  | "secrets"
  | "isAutonamed"
  | "at"
  | "recovered"
  | "isLate"
>;

/** What a creation is for, in this stack. */
export interface CreationPurpose extends Pick<EntryIdentity, "urn" | "replaces"> {
  /** The key of the creation, if it is known: an entry that may be another stack's must have it. */
  readonly key?: string | undefined;
  /** @default this one */
  readonly endpoint?: string | undefined;
}

export interface JournalOptions extends JournalLocation {
  /** Normalized base URL of the service. */
  readonly endpoint: string;
  /** Organization of the stack, if it is known by now. */
  readonly organization?: (() => string | undefined) | undefined;
  /** Folder of Pulumi's project file, from the program's folder, if that isn't in it: `main` may lead out of it. */
  readonly projectFolder?: (() => string | undefined) | undefined;
  /** Returns the token in use: only a hash of it is written. @default always the same */
  readonly token?: (() => string) | undefined;
  /** Backend of the stack. @default found as the CLI finds it */
  readonly backend?: string | undefined;
  /** Awaited, so that a warning is out before the call ends that it is about. */
  readonly warn: (message: string) => void | Promise<void>;
  /** Identifies this run of the engine. @default none: there is only this process */
  readonly run?: string | undefined;
  /** @default the system's */
  readonly disk?: Disk | undefined;
}

/** Opens the journal of an endpoint. Does not access the disk yet. */
export function openJournal(options: JournalOptions): Journal {
  return new FileJournal(options);
}

class FileJournal implements Journal {
  readonly run: RunFacts;
  readonly deletions: DeletionRequests;
  readonly endpoint: string;
  private readonly cwd: string;
  private readonly disk: Disk;
  private readonly entries: EntryIndex;
  private readonly warned = new Set<string>();
  /** The key of the entry that was last read or written here for the purpose of the file: the next one may take its place. */
  private readonly known = new Map<string, string>();
  /** The file of each entry that was seen here, by its key. */
  private readonly files = new Map<string, string>();
  private backend: { readonly folder: string; readonly url: string } | undefined;
  private entriesBefore?: Promise<readonly Entry[]> | undefined;
  private takenOver?: Promise<void>;

  constructor(private readonly options: JournalOptions) {
    this.endpoint = options.endpoint;
    this.cwd = options.cwd ?? process.cwd();
    this.disk = options.disk ?? systemDisk;
    this.entries = new EntryIndex(this.disk);
    this.run = new RunFacts(this.disk, () => this.folder(), options.run);
    this.deletions = new DeletionRequests(this.disk, () => this.folder(), options.token ?? (() => ""));
  }

  begin(begun: NewEntry): Promise<Entry | undefined> {
    const { urn, replaces } = begun;
    const purpose = this.purposeOf({ urn, replaces });
    const isKept = savesOnlyAtTheEnd(this.options.env ?? process.env);
    const text = firstLine({ ...begun, ...purpose, isKept });
    return this.safely(async (folder) => {
      const file = path.join(folder, fileName(purpose));
      const known = this.known.get(file);
      const mayGo = (there: string): boolean => [undefined, known].includes(entryFor(purpose, there)?.key);
      const other = entryFor(purpose, await writeWholeFile(this.disk, file, text, mayGo));
      this.learn(file, other ?? begun);
      return other;
    });
  }

  async extend(key: string, more: EntryUpdate): Promise<void> {
    await this.withFileOf(key, (file) => appendTo(this.disk, file, hasKey(key), laterLine(more)));
  }

  async read(wanted: CreationPurpose): Promise<Entry | undefined> {
    return (await this.found(wanted))?.entry;
  }

  private async found(wanted: CreationPurpose): Promise<{ file: string; entry: Entry } | undefined> {
    const own = this.purposeOf(wanted);
    // `recover` can't always know the organization, nor the backend that an exported state comes from.
    const others = [own.organization, undefined].flatMap((organization) =>
      [own.backend, this.cwd].map((backend) => ({ ...own, organization, backend })),
    );
    const byFile = new Map([own, ...others].map((purpose) => [fileName(purpose), purpose]));
    for (const [file, purpose] of byFile) {
      const entry = await this.readFor(purpose);
      if (entry === undefined) continue;
      if (file === fileName(own)) return { file, entry };
      const isRecovered = entry.recovered && [undefined, entry.key].includes(wanted.key);
      // Another backend's stack may have the same name, and its object may be in use.
      const isLate = entry.isLate || entry.backend !== own.backend;
      if (isRecovered) return { file, entry: isLate ? { ...entry, isLate } : entry };
    }
    return undefined;
  }

  async giveUp(key: string): Promise<void> {
    await this.safely((folder) => appendOrCreate(this.disk, path.join(folder, givenUpFileName(key)), key));
  }

  async isGivenUp(key: string): Promise<boolean> {
    return (
      (await this.safely((folder) => readText(this.disk, path.join(folder, givenUpFileName(key))))) === key
    );
  }

  moveFormerEndpoints(stack: string, isFormer: (entry: Entry) => boolean): Promise<void> {
    const takeAll = async (): Promise<void> => {
      for (const entry of await this.entriesAtStart())
        if (stackOf(entry.urn) === stack && isFormer(entry)) await this.move(entry, entry);
      this.entriesBefore = undefined;
    };
    this.takenOver ??= takeAll();
    return this.takenOver;
  }

  async move(
    from: CreationPurpose,
    { urn, replaces }: Pick<CreationPurpose, "urn" | "replaces">,
  ): Promise<void> {
    const found = await this.found(from);
    if (found === undefined) return;
    const { file, entry } = found;
    const now = this.purposeOf({ urn, replaces });
    await this.safely(async (folder) => {
      const [source, target] = [path.join(folder, file), path.join(folder, fileName(now))];
      const text = firstLine({ ...entry, ...now }) + laterLine(entry);
      if ((await writeWholeFile(this.disk, target, text, () => false)) !== undefined) return;
      await removeFile(this.disk, source, hasKey(entry.key));
      this.known.delete(source);
      this.learn(target, entry);
    });
  }

  private readFor(purpose: EntryIdentity): Promise<Entry | undefined> {
    return this.safely(async (folder) => {
      const file = path.join(folder, fileName(purpose));
      const text = await readText(this.disk, file);
      if (text === undefined) return undefined;
      const entry = entryFor(purpose, text);
      if (entry !== undefined) {
        this.learn(file, entry);
        return entry;
      }
      if (parseEntry(text) === undefined) return this.setAside(file);
      await this.warnOnce(
        file,
        `the journal entry ${file} is not used: it is about another resource, stack or service than its name says. If an \`up\` ` +
          "was killed here before, run `npx pulumi-cloudinfra recover` before the next one, which may otherwise create an object a " +
          "second time. If nobody knows the file, delete it",
      );
      return undefined;
    });
  }

  find(resource: string): Promise<Entry | undefined> {
    return this.safely(async (folder) => {
      for (const file of await this.entries.of(folder, resource)) {
        const entry = parseEntry((await readText(this.disk, file)) ?? "");
        if (entry?.resource !== resource) continue;
        this.files.set(entry.key, file);
        return entry;
      }
      return undefined;
    });
  }

  async remove(key: string): Promise<void> {
    await this.withFileOf(key, async (file) => {
      await removeFile(this.disk, file, hasKey(key));
      if (this.known.get(file) === key) this.known.delete(file);
      this.files.delete(key);
    });
  }

  entriesAtStart(): Promise<readonly Entry[]> {
    this.entriesBefore ??= this.listEverywhere();
    return this.entriesBefore;
  }

  async list(): Promise<Entry[]> {
    const entries = await this.listFiles(suffixOf(this.endpoint));
    return entries.filter(({ endpoint }) => endpoint === this.endpoint);
  }

  listEverywhere(): Promise<Entry[]> {
    return this.listFiles();
  }

  private async listFiles(ending?: string): Promise<Entry[]> {
    const files = await this.safely((folder) => readEntries(this.disk, folder, ending));
    // An entry that `recover` has written anew after a change of the endpoint is there twice.
    for (const [file, { key, endpoint }] of files ?? [])
      if (endpoint === this.endpoint || !this.files.has(key)) this.files.set(key, file);
    const { organization, backend } = this.purposeOf({ urn: "" });
    const home = { organization, backend, cwd: this.cwd };
    return [...(files?.values() ?? [])]
      .filter((entry) => isOfBackend(entry, home))
      .sort((a, b) => a.at - b.at);
  }

  private purposeOf({ urn, replaces, endpoint = this.endpoint }: CreationPurpose): EntryIdentity {
    const { organization, backend = this.backendUrl() } = this.options;
    return { urn, replaces, organization: organization?.(), backend, endpoint };
  }

  private backendUrl(): string {
    const folder = path.resolve(this.cwd, this.options.projectFolder?.() ?? ".");
    if (this.backend?.folder !== folder)
      this.backend = { folder, url: backendOf(folder, this.options.env ?? process.env) };
    return this.backend.url;
  }

  private folder(): string {
    return journalFolder({ ...this.options, cwd: this.cwd });
  }

  private async withFileOf(key: string, work: (file: string) => Promise<void>): Promise<void> {
    if (!this.files.has(key)) await this.listEverywhere(); // learns the files of all entries
    const file = this.files.get(key);
    if (file !== undefined) await this.safely(() => work(file));
  }

  private learn(file: string, { key }: Pick<Entry, "key">): void {
    this.known.set(file, key);
    this.files.set(key, file);
  }

  private async setAside(file: string): Promise<undefined> {
    const damaged = await moveAside(this.disk, file, (text) => parseEntry(text) === undefined);
    if (damaged === undefined) return; // another process has written a good one
    const kept = `${file}.damaged`;
    await this.disk.rename(damaged, kept);
    await this.warnOnce(
      file,
      `a damaged journal entry was set aside as ${kept}. The creation that it records can't be resumed, and the next \`pulumi up\` ` +
        "may create the object a second time. Run `npx pulumi-cloudinfra recover` before it. If `up` is already running, look " +
        "for an object at the service that `pulumi stack` does not show. Then delete the file",
    );
  }

  private async safely<T>(work: (folder: string) => Promise<T>): Promise<T | undefined> {
    let where = "";
    try {
      const folder = this.folder();
      where = ` in ${folder}`;
      return await withDiskTimeout(folder, () => work(folder));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const why = message.replace(/, \w+ '.*/s, ""); // without the system call and its file
      await this.warnOnce(
        "unusable",
        `the journal of creations${where} can't be used (${why}). Creations proceed without it, but if one is killed, the next ` +
          "`pulumi up` may create its object a second time. Free disk space, make the folder writable, or set " +
          "cloudinfra:journalDir to another folder. After a kill, run `npx pulumi-cloudinfra recover` before the next " +
          "`pulumi up`: here, once the folder can be used, or on another machine",
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

/** Whether the engine of this process, which has the engine's environment, saves resources only at the end, long after create has returned. */
function savesOnlyAtTheEnd({ PULUMI_SKIP_CHECKPOINTS: skips = "" }: NodeJS.ProcessEnv): boolean {
  return /^(1|true)$/i.test(skips);
}

function entryFor(purpose: EntryIdentity, text: string | undefined): Entry | undefined {
  const entry = text === undefined ? undefined : parseEntry(text);
  return entry !== undefined && fileName(entry) === fileName(purpose) ? entry : undefined;
}

const hasKey =
  (key: string) =>
  (text: string): boolean =>
    parseEntry(text)?.key === key;
