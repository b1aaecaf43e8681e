import path from "node:path";
import { type Disk, Files, withDiskTimeout } from "./disk";
import {
  type Entry,
  type EntryIdentity,
  type EntryUpdate,
  entryFilesIn,
  fileName,
  firstLine,
  KEPT_MS,
  laterLine,
  type Mark,
  markFileName,
  parseEntry,
  readEntries,
} from "./entry";
import { backendOf, type JournalLocation, journalFolder, stackOf } from "./location";
import { DeletionRequests, RunFacts } from "./run-facts";

/** The fields of an entry that are known before the request is sent. */
export type NewEntry = Omit<
  Entry,
  "organization" | "backend" | "endpoint" | "operation" | "id" | "imported" | "isKept"
>;

/** The purpose of a creation within this stack. */
export interface CreationPurpose extends Pick<EntryIdentity, "urn" | "replaces"> {
  /** The key of the creation, if known. An entry that may belong to a different stack is used only if it has this key. */
  readonly key?: string | undefined;
  /** @default the endpoint of the journal */
  readonly endpoint?: string | undefined;
}

export interface JournalOptions extends JournalLocation {
  /** The normalized base URL of the service. */
  readonly endpoint: string;
  /** Returns the organization of the stack, if known. */
  readonly organization?: (() => string | undefined) | undefined;
  /** Returns the folder of Pulumi's project file, relative to the program's folder, if the two folders differ (`main: ../…`). */
  readonly projectFolder?: (() => string | undefined) | undefined;
  /** Returns the current token. Only the hash of the token is written. @default an empty token */
  readonly token?: (() => string) | undefined;
  /** The backend of the stack. @default the backend that the CLI uses */
  readonly backend?: string | undefined;
  /** Prints a warning. The journal waits until the warning is printed. */
  readonly warn: (message: string) => void | Promise<void>;
  /** The run of the engine. @default this process is the only one of its run */
  readonly run?: string | undefined;
  /** Whether damaged files keep their names, because the command must not change anything. @default false */
  readonly isDryRun?: boolean | undefined;
  /** @default the disk of this machine */
  readonly disk?: Disk | undefined;
}

/** Opens the journal of an endpoint. The first call accesses the disk. */
export function openJournal(options: JournalOptions): Journal {
  return new Journal(options);
}

/**
 * The journal of the creations that this machine has started at one endpoint. If the disk can't be used, the journal prints a single
 * warning and behaves as if it were empty. No method throws an error or waits indefinitely.
 */
export class Journal {
  readonly run: RunFacts;
  readonly deletions: DeletionRequests;
  readonly endpoint: string;
  private readonly cwd: string;
  private readonly disk: Files;
  private readonly warned = new Set<string>();
  /** For each file, the key of the entry that this process last read or wrote. A new entry can't replace an entry with a different key. */
  private readonly known = new Map<string, string>();
  /** For each key, the file of the entry that this process has read or written. */
  private readonly files = new Map<string | undefined, string>();
  /** For each file that this process has read, the key of the resource, which never changes. */
  private readonly resources = new Map<string, string>();
  /** The keys of the creations that this process has started or resumed. */
  readonly held = new Set<string | undefined>();
  private backend: { readonly folder: string; readonly url: string } | undefined;
  private entriesBefore?: Promise<readonly Entry[]> | undefined;
  private former?: Promise<void>;
  /** For each file that an `up` would move to this endpoint, the entry that a preview uses instead. */
  private readonly previewed = new Map<string, Entry>();
  private isTidy = false;

  constructor(private readonly options: JournalOptions) {
    this.endpoint = options.endpoint;
    this.cwd = options.cwd ?? process.cwd();
    this.disk = new Files(options.disk);
    this.run = new RunFacts(this.disk, () => this.folder(), options.run);
    this.deletions = new DeletionRequests(this.disk, () => this.folder(), options.token ?? (() => ""));
  }

  /** Writes an entry to disk. Returns the entry that another process has written for the same purpose in the meantime, if any. */
  begin(begun: NewEntry): Promise<Entry | undefined> {
    const { urn, replaces } = begun;
    const purpose = this.purposeOf({ urn, replaces });
    // The engine saves resources only at the end of its run if this variable is set. This process inherits the engine's environment.
    const isKept = /^(1|true)$/i.test((this.options.env ?? process.env).PULUMI_SKIP_CHECKPOINTS ?? "");
    const text = firstLine({ ...begun, ...purpose, isKept });
    return this.safely(async (folder) => {
      const file = path.join(folder, fileName(purpose));
      const known = this.known.get(file);
      const mayGo = (there: string): boolean => [undefined, known].includes(entryFor(purpose, there)?.key);
      const other = entryFor(purpose, await this.disk.write(file, text, mayGo));
      this.learn(file, other ?? begun);
      return other;
    });
  }

  /** Adds fields to the entry with the given key, if there is an entry. */
  async extend(key: string | undefined, more: EntryUpdate): Promise<void> {
    await this.withFileOf(key, (file) => this.disk.appendTo(file, hasKey(key), laterLine(more)));
  }

  /** Reads the entry for a purpose, regardless of its age. A damaged file is renamed, and a warning is printed. */
  async read(wanted: CreationPurpose): Promise<Entry | undefined> {
    return (await this.found(wanted))?.entry;
  }

  private async found(wanted: CreationPurpose): Promise<{ file: string; entry: Entry } | undefined> {
    const own = this.purposeOf(wanted);
    // `recover` may not have known the organization, or the backend of an exported state.
    const others = [own.organization, undefined].flatMap((organization) =>
      [own.backend, this.cwd].map((backend) => ({ ...own, organization, backend })),
    );
    const byFile = new Map([own, ...others].map((purpose) => [fileName(purpose), purpose]));
    for (const [file, purpose] of byFile) {
      const entry = await this.readFor(purpose);
      if (entry === undefined) continue;
      if (file === fileName(own)) return { file, entry };
      const isRecovered = entry.recovered && [undefined, entry.key].includes(wanted.key);
      // The entry may belong to a stack with the same name in a different backend, and that stack may use the object.
      const isLate = entry.isLate || entry.backend !== own.backend;
      if (isRecovered) return { file, entry: isLate ? { ...entry, isLate } : entry };
    }
    return undefined;
  }

  async mark(key: string, mark: Mark): Promise<void> {
    await this.safely((folder) => this.disk.appendOrCreate(path.join(folder, markFileName(key, mark)), key));
  }

  async unmark(key: string, mark: Mark): Promise<void> {
    await this.safely((folder) => this.disk.remove(path.join(folder, markFileName(key, mark))));
  }

  /** Reports whether this machine has recorded a fact about a creation. */
  async isMarked(key: string | undefined, mark: Mark): Promise<boolean> {
    if (key === undefined) return false;
    const text = await this.safely((folder) => this.disk.read(path.join(folder, markFileName(key, mark))));
    return text?.startsWith(key) ?? false; // each mark appends the key
  }

  /** Moves entries of a stack from former endpoints to the current endpoint; in a preview, only in memory. Only the first call has an effect. */
  moveFormerEndpoints(stack: string, isFormer: (entry: Entry) => boolean, isPreview: boolean): Promise<void> {
    const moveAll = async (): Promise<void> => {
      const entries = [...(await this.entriesAtStart())];
      for (const [i, entry] of entries.entries()) {
        if (stackOf(entry.urn) !== stack || !isFormer(entry)) continue;
        const moved = { ...entry, ...this.purposeOf({ ...entry, endpoint: this.endpoint }) };
        if (isPreview) this.previewed.set(fileName(moved), moved);
        else await this.move(entry, entry);
        entries[i] = moved;
      }
      this.entriesBefore = Promise.resolve(entries);
    };
    this.former ??= moveAll();
    return this.former;
  }

  /** Moves an entry to a different purpose at this endpoint, unless there is already an entry for that purpose. */
  async move(from: CreationPurpose, { urn, replaces }: CreationPurpose): Promise<void> {
    const found = await this.found(from);
    if (found === undefined) return;
    const { file, entry } = found;
    const now = this.purposeOf({ urn, replaces });
    await this.safely(async (folder) => {
      const [source, target] = [path.join(folder, file), path.join(folder, fileName(now))];
      const text = firstLine({ ...entry, ...now }) + laterLine(entry);
      if ((await this.disk.write(target, text, () => false)) !== undefined) return;
      await this.disk.removeIf(source, hasKey(entry.key));
      this.known.delete(source);
      this.learn(target, entry);
    });
  }

  private readFor(purpose: EntryIdentity): Promise<Entry | undefined> {
    return this.safely(async (folder) => {
      const file = path.join(folder, fileName(purpose));
      const text = await this.disk.read(file);
      if (text === undefined) return this.previewed.get(fileName(purpose));
      const entry = entryFor(purpose, text);
      if (entry !== undefined) {
        this.learn(file, entry);
        return entry;
      }
      if (parseEntry(text) === undefined && !this.options.isDryRun) return this.setAside(file);
      await this.warnOnce(
        file,
        `the journal entry ${file} is ignored, because its content doesn't match the resource, stack or service in its name. If an ` +
          "`up` was killed on this machine, run `npx pulumi-cloudinfra recover` before the next one. Otherwise, the next `up` may create an " +
          "object a second time. If you don't need the file, delete it",
      );
      return undefined;
    });
  }

  /** Finds the entry of a resource by its unique key, in all stacks and at all endpoints. Each file of another resource is read only once. */
  find(resource: string): Promise<Entry | undefined> {
    return this.safely(async (folder) => {
      if (!this.isTidy) await this.disk.removeOld(folder, KEPT_MS);
      this.isTidy = true;
      for (const file of await entryFilesIn(this.disk, folder)) {
        if ((this.resources.get(file) ?? resource) !== resource) continue;
        const entry = parseEntry((await this.disk.read(file)) ?? "");
        if (entry === undefined) continue;
        this.resources.set(file, entry.resource);
        if (entry.resource !== resource) continue;
        this.files.set(entry.key, file);
        return entry;
      }
      return undefined;
    });
  }

  async remove(key: string | undefined): Promise<void> {
    await this.withFileOf(key, async (file) => {
      await this.disk.removeIf(file, hasKey(key));
      if (this.known.get(file) === key) this.known.delete(file);
      this.files.delete(key);
    });
  }

  /** Lists the entries that existed when this process first called this method. The entries are read only once. */
  entriesAtStart(): Promise<readonly Entry[]> {
    this.entriesBefore ??= this.listEverywhere();
    return this.entriesBefore;
  }

  /** Lists the entries of this organization, backend and endpoint, oldest first. */
  async list(): Promise<Entry[]> {
    return (await this.listEverywhere()).filter(({ endpoint }) => endpoint === this.endpoint);
  }

  /** Lists the entries of this organization and backend at all endpoints, oldest first. */
  async listEverywhere(): Promise<Entry[]> {
    const files = await this.safely((folder) => readEntries(this.disk, folder));
    // If the endpoint has changed, `recover` may have written an entry for each endpoint.
    for (const [file, { key, endpoint }] of files ?? [])
      if (endpoint === this.endpoint || !this.files.has(key)) this.files.set(key, file);
    const own = this.purposeOf({ urn: "" });
    // `recover` may not have known the organization, or the backend of an exported state.
    const isOwn = ({ organization, backend, recovered }: Entry): boolean =>
      (organization === own.organization || (recovered === true && organization === undefined)) &&
      (backend === own.backend || (recovered === true && backend === this.cwd));
    return [...(files?.values() ?? [])].filter(isOwn).sort((a, b) => a.at - b.at);
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

  /** Changes the file of an entry, if there is one. A damaged record of a creation has no key. */
  private async withFileOf(key: string | undefined, work: (file: string) => Promise<void>): Promise<void> {
    if (key === undefined) return;
    if (!this.files.has(key)) await this.listEverywhere(); // records the files of all entries
    const file = this.files.get(key);
    if (file !== undefined) await this.safely(() => work(file));
  }

  private learn(file: string, { key }: Pick<Entry, "key">): void {
    this.known.set(file, key);
    this.files.set(key, file);
  }

  private async setAside(file: string): Promise<undefined> {
    const kept = `${file}.damaged`;
    const isRenamed = await this.disk.removeIf(file, (text) => parseEntry(text) === undefined, kept);
    if (!isRenamed) return; // another process has replaced it
    await this.warnOnce(
      file,
      `a damaged journal entry was set aside as ${kept}. The creation that it records can't be resumed, and the next \`pulumi up\` ` +
        "may create the object a second time. Run `npx pulumi-cloudinfra recover` first. If `up` is already running, check the " +
        "service for an object that `pulumi stack` doesn't list. Then delete the file",
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
        `the journal of creations${where} can't be used (${why}). Creations continue without a journal, but after an interruption the next ` +
          "`pulumi up` may create an object a second time. Free disk space, make the folder writable, or set " +
          "cloudinfra:journalDir to another folder. After an interruption, run `npx pulumi-cloudinfra recover` before the " +
          "next `pulumi up`, either here, once the folder can be used, or on another machine",
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

function entryFor(purpose: EntryIdentity, text: string | undefined): Entry | undefined {
  const entry = text === undefined ? undefined : parseEntry(text);
  return entry !== undefined && fileName(entry) === fileName(purpose) ? entry : undefined;
}

const hasKey =
  (key: string | undefined) =>
  (text: string): boolean =>
    parseEntry(text)?.key === key;
