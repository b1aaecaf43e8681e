import { hash } from "node:crypto";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import {
  type Disk,
  fileNamesIn,
  readText,
  removeFile,
  removeOld,
  systemDisk,
  TEMPORARY_SUFFIX,
} from "./disk";
import { type JournalLocation, journalFolder } from "./location";
import { DELETION_SUFFIX } from "./run-facts";

/** The record of a creation on the local disk. The entry is written before the request is sent, and extended later. */
export interface Entry {
  /** The URN of the resource when the creation was started. */
  readonly urn: string;
  /** The organization of the stack that started the creation, if known. */
  readonly organization?: string | undefined;
  /** The backend of the stack that started the creation: its URL, or the program's folder if the URL isn't known. */
  readonly backend: string;
  /** The base URL of the service. */
  readonly endpoint: string;
  /** The name of the explicit provider that started the creation, or `undefined` for the default provider. */
  readonly provider?: string | undefined;
  /** The key of the request, which is sent in the Idempotency-Key header (§4.7). */
  readonly key: string;
  /** The key of the resource, which the engine saves in the state. After a failed attempt, this key and the key of the request differ. */
  readonly resource: string;
  /** The key of the resource that this creation replaces. */
  readonly replaces?: string | undefined;
  /**
   * The key of the project's resource, if the same stack manages the project. A project's deletion finishes only creations with this key.
   */
  readonly projectKey?: string | undefined;
  /** The exact string that is sent as the body of the request. */
  readonly body: string;
  /** The names of the arguments that were secret when the creation was started. */
  readonly secrets?: readonly string[] | undefined;
  /** Whether the name in the body was generated. */
  readonly isAutonamed?: boolean | undefined;
  /** The start time of the creation, in milliseconds since 1970. */
  readonly at: number;
  /** The operation, if the service has accepted the request. */
  readonly operation?: { readonly id: string; readonly url: string };
  /** The id of the object, if it has been returned to the engine. */
  readonly id?: string;
  /** Whether the command `recover` has written the entry from a stack's state. */
  readonly recovered?: boolean | undefined;
  /** Whether the object may be in use, because `recover` can't determine whether the creation has finished in the meantime. */
  readonly isLate?: boolean | undefined;
  /** The ids of objects that resources have imported since the creation started. An imported object belongs to the importing resource. */
  readonly imported?: readonly string[];
  /** The process that last resumed the creation. An earlier process may still be running, although its CLI was killed. */
  readonly resumedBy?: string;
  /** Whether to keep the entry until a check finds the resource in the state. The engine may save resources only at the end of its run. */
  readonly isKept?: boolean | undefined;
}

/** The fields that later lines in the file of an entry add. */
export type EntryUpdate = Pick<Entry, "operation" | "id" | "imported" | "resumedBy">;

/** Returns the first line of the file of an entry. */
export function firstLine(entry: Entry): string {
  const { operation: _, id: __, imported: ___, resumedBy: ____, ...begun } = entry;
  return `${JSON.stringify(begun)}\n`;
}

/** Returns a later line of the file. A killed process may have left the previous line incomplete, so the line starts with a line break. */
export function laterLine({ operation, id, imported, resumedBy }: EntryUpdate): string {
  const known = operation && { id: operation.id, url: operation.url };
  return `\n${JSON.stringify({ operation: known, id, imported, resumedBy })}\n`;
}

/** Parses the file of an entry. Skips incomplete later lines. Returns `undefined` if the first line is incomplete. */
export function parseEntry(text: string): Entry | undefined {
  const [first = "", ...later] = text.split("\n");
  let entry = parseFirstLine(parseObject(first));
  for (const line of later) entry &&= withUpdate(entry, parseObject(line));
  return entry;
}

/** The unchecked fields of a line. */
type Fields = { readonly [Name in keyof Entry]?: unknown };

// Entries are parsed without a schema library, because programs also read entries, and loading the library would take too long.
function parseObject(line: string): Fields {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const text = (value: unknown) => (typeof value === "string" ? value : undefined);
const texts = (value: unknown) =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : undefined;
const flag = (value: unknown) => value === true || undefined;

function parseFirstLine(fields: Fields): Entry | undefined {
  const { urn, backend, endpoint, key, resource, body, at } = fields;
  if (typeof urn !== "string" || typeof backend !== "string" || typeof endpoint !== "string")
    return undefined;
  if (typeof key !== "string" || typeof resource !== "string") return undefined;
  if (typeof body !== "string" || typeof at !== "number") return undefined;
  return {
    ...{ urn, backend, endpoint, key, resource, body, at },
    organization: text(fields.organization),
    provider: text(fields.provider),
    replaces: text(fields.replaces),
    projectKey: text(fields.projectKey),
    secrets: texts(fields.secrets),
    isAutonamed: flag(fields.isAutonamed),
    recovered: flag(fields.recovered),
    isLate: flag(fields.isLate),
    isKept: flag(fields.isKept),
  };
}

/** Adds the fields of a later line. All imports are kept, because several processes may record them. */
function withUpdate(entry: Entry, { operation, id, imported, resumedBy }: Fields): Entry {
  const { id: operationId, url }: { id?: unknown; url?: unknown } = Object(operation);
  const isNamed = typeof operationId === "string" && typeof url === "string";
  const more = texts(imported);
  return {
    ...entry,
    ...(isNamed && { operation: { id: operationId, url } }),
    ...(typeof id === "string" && { id }),
    ...(typeof resumedBy === "string" && { resumedBy }),
    ...(more && { imported: [...(entry.imported ?? []), ...more] }),
  };
}

/**
 * Returns the id of an entry's object for messages. If the name is secret, returns `undefined`, because some services use the name as the
 * id.
 */
export function visibleId(entry: Pick<Entry, "id" | "secrets">): string | undefined {
  return hasSecretName(entry) ? undefined : entry.id;
}

function hasSecretName({ secrets = [] }: Pick<Entry, "secrets">): boolean {
  return secrets.includes("name");
}

/** The parts of a warning about unfinished creations that differ between commands. */
interface WarningText {
  /** The reason why the creation is unfinished, or the consequence. */
  readonly one: string;
  /** The plural form of `one`, for several creations. */
  readonly several: string;
  readonly hints: readonly string[];
}

/** The fields of an entry that a warning about unfinished creations contains. */
export type UnfinishedEntry = Pick<Entry, "urn" | "endpoint" | "at" | "id" | "operation" | "secrets">;

/** Returns a warning that lists the unfinished creations of one stack. */
export function unfinishedWarning(
  entries: readonly UnfinishedEntry[],
  { one, several, hints }: WarningText,
): string {
  const [, , stack] = entries[0]?.urn.split(":") ?? [];
  const headline =
    entries.length === 1
      ? `an interrupted creation of the stack ${stack} is unfinished, and ${one}`
      : `${entries.length} interrupted creations of the stack ${stack} are unfinished, and ${several}`;
  return [
    `cloudinfra: ${headline}:`,
    ...entries.flatMap((entry) => [`  ${describe(entry)}`, `    ${entry.urn}`]),
    ...hints,
  ].join("\n");
}

function describe(entry: UnfinishedEntry): string {
  const [, , type = "", ...name] = entry.urn.split("::");
  const { id, operation } = entry;
  const known =
    id !== undefined
      ? ` with the id ${id}`
      : operation !== undefined
        ? ` with the operation ${operation.id}`
        : ", which may not exist";
  const isHidden = hasSecretName(entry) && (id ?? operation) !== undefined;
  const started = new Date(entry.at).toISOString().replace(/\.\d+/, "");
  return `${type.endsWith(":Project") ? "project" : "instance"} "${name.join("::")}"${isHidden ? "" : known}, started ${started}`;
}

/**
 * The purpose of a creation: to replace the resource with a certain key, or to create the resource with a certain URN (I2). Each purpose
 * has at most one entry.
 */
export type EntryIdentity = Pick<Entry, "urn" | "organization" | "backend" | "endpoint" | "replaces">;

/** Returns the name of the file that contains the entry for a purpose. */
export function fileName({ urn, organization = "", backend, endpoint, replaces }: EntryIdentity): string {
  const text = replaces === undefined ? `new\n${organization}\n${backend}\n${urn}` : `replaces\n${replaces}`;
  return `${hash("sha256", text).slice(0, 24)}-${hash("sha256", endpoint).slice(0, 12)}.jsonl`;
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * A fact about a creation that must outlive its entry: the user has given up the creation, or the deletion of its object has been started.
 */
export type Mark = "given-up" | "discarded";

/** Returns the name of the file that records a fact about a creation. */
export function markFileName(key: string, mark: Mark): string {
  return `${hash("sha256", key).slice(0, 24)}.${mark}`;
}

/** The time for which files with each suffix are kept, in milliseconds. Only this limit removes such files. */
const KEPT_MS = {
  [TEMPORARY_SUFFIX]: DAY_MS,
  [DELETION_SUFFIX]: 30 * DAY_MS,
  ".given-up": 30 * DAY_MS,
  ".discarded": 30 * DAY_MS,
} as const;

/** Lists the files in a folder whose names are those of journal entries. */
export async function entryFilesIn(disk: Disk, folder: string): Promise<string[]> {
  const names = (await fileNamesIn(disk, folder)).filter((name) => name.endsWith(".jsonl"));
  return names.map((name) => path.join(folder, name));
}

/** Reads all entries in a folder, by file. Damaged files are skipped, because they may belong to other programs. */
export async function readEntries(disk: Disk, folder: string): Promise<ReadonlyMap<string, Entry>> {
  const read = (await entryFilesIn(disk, folder)).map(async (file) => {
    const entry = parseEntry((await readText(disk, file)) ?? "");
    return entry === undefined ? [] : [[file, entry] as const];
  });
  return new Map((await Promise.all(read)).flat());
}

/**
 * Finds entries by the key of their resource, which the file name doesn't contain. The key never changes, so each file is read only once.
 */
export class EntryIndex {
  private readonly resources = new Map<string, string | undefined>();
  private isTidy = false;

  constructor(private readonly disk: Disk) {}

  /** Returns the files with entries of a resource, for all stacks and endpoints. */
  async of(folder: string, resource: string): Promise<string[]> {
    const entries = await entryFilesIn(this.disk, folder);
    if (!this.isTidy) await removeOld(this.disk, folder, KEPT_MS);
    this.isTidy = true;
    const unread = entries.filter((file) => !this.resources.has(file));
    const learned = unread.map(async (file) => {
      const text = await readText(this.disk, file);
      if (text !== undefined) this.resources.set(file, parseEntry(text)?.resource);
    });
    await Promise.all(learned);
    return entries.filter((file) => this.resources.get(file) === resource);
  }
}

/** A batch of entries to remove from one folder. `ids` contains the id of the object for each key of a resource. */
interface Batch {
  readonly ids: Map<string, string>;
  readonly done: Promise<void>;
}

/** The next batch of each folder. */
const batches = new Map<string, Batch>();

/**
 * Removes the journal entry of an object that is now in the state. Must be called when the `id` of the resource resolves, because the
 * engine has usually saved the resource by then. Never rejects, because the next check of the resource removes any remaining entry.
 *
 * @param key the resource's key
 * @param id the object's id
 */
export async function confirm(
  key: string,
  id: string,
  { disk = systemDisk, ...place }: JournalLocation & { readonly disk?: Disk } = {},
): Promise<void> {
  try {
    const folder = journalFolder(place);
    let batch = batches.get(folder);
    if (batch === undefined) {
      const ids = new Map<string, string>();
      batch = { ids, done: removeAll(disk, folder, ids) };
      batches.set(folder, batch);
    }
    batch.ids.set(key, id);
    await batch.done;
  } catch {
    // The provider reports problems with the journal.
  }
}

/** Removes the entries of all resources that are saved at about the same time, so that each file is read only once. */
async function removeAll(disk: Disk, folder: string, ids: ReadonlyMap<string, string>): Promise<void> {
  await setImmediate();
  batches.delete(folder);
  const isConfirmed = (text: string): boolean => {
    const entry = parseEntry(text);
    return entry?.id !== undefined && !entry.isKept && ids.get(entry.resource) === entry.id;
  };
  // An unreadable file, for example of another user, must not prevent the removal of other files.
  const work = (await entryFilesIn(disk, folder)).map(async (file) => {
    if (isConfirmed((await readText(disk, file)) ?? "")) await removeFile(disk, file, isConfirmed);
  });
  await Promise.allSettled(work);
}
