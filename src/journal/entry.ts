import { hash } from "node:crypto";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { oneLine } from "../diagnostics/redact";
import { type Disk, Files, TEMPORARY_SUFFIX } from "./disk";
import { type JournalLocation, journalFolder } from "./location";
import { DAY_MS, DELETION_SUFFIX } from "./run-facts";

const isText = (value: unknown): value is string => typeof value === "string";
const areTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);
const isNumber = (value: unknown): value is number => typeof value === "number";
const isTrue = (value: unknown): value is boolean => value === true; // `false` means the same as a missing flag
const isOperation = (value: unknown): value is { readonly id: string; readonly url: string } =>
  isText(Object(value).id) && isText(Object(value).url);

const requiredFields = {
  /** The URN of the resource when the creation was started. */
  urn: isText,
  /** The backend of the stack that started the creation: its URL, or the program's folder if the URL isn't known. */
  backend: isText,
  endpoint: isText,
  /** The key of the request, which is sent in the Idempotency-Key header (§4.7). */
  key: isText,
  /** The key of the resource, which the engine saves in the state. After a failed attempt, this key and the key of the request differ. */
  resource: isText,
  /** The exact string that is sent as the body of the request. */
  body: isText,
  /** The start time of the creation, in milliseconds since 1970. */
  at: isNumber,
};

const optionalFields = {
  /** The organization of the stack that started the creation, if known. */
  organization: isText,
  /** The name of the explicit provider that started the creation, or `undefined` for the default provider. */
  provider: isText,
  /** The key of the resource that this creation replaces. */
  replaces: isText,
  /** The key of the project's resource, if the same stack manages the project. A project's deletion finishes only creations with this key. */
  projectKey: isText,
  /** The names of the arguments that were secret when the creation was started. */
  secrets: areTexts,
  isAutonamed: isTrue,
  /** The operation, if the service has accepted the request. */
  operation: isOperation,
  /** The id of the object, if it has been returned to the engine. */
  id: isText,
  /** Whether the command `recover` has written the entry from a stack's state. */
  recovered: isTrue,
  /** Whether the object may be in use, because `recover` can't determine whether the creation has finished in the meantime. */
  isLate: isTrue,
  /** The ids of objects that resources have imported since the creation started. An imported object belongs to the importing resource. */
  imported: areTexts,
  /** Whether to keep the entry until a check finds the resource in the state. The engine may save resources only at the end of its run. */
  isKept: isTrue,
};

const CHECKS = Object.entries({ ...requiredFields, ...optionalFields });

type Values<Checks, Missing = never> = {
  readonly [Name in keyof Checks]: Checks[Name] extends (value: unknown) => value is infer Value
    ? Value | Missing
    : never;
};

/** The record of a creation on the local disk. The entry is written before the request is sent, and extended later. */
export interface Entry
  extends Values<typeof requiredFields>,
    Partial<Values<typeof optionalFields, undefined>> {}

/** The fields that later lines in the file of an entry add. */
export type EntryUpdate = Pick<Entry, "operation" | "id" | "imported">;

export function firstLine(entry: Entry): string {
  const { operation: _, id: __, imported: ___, ...begun } = entry;
  return `${JSON.stringify(begun)}\n`;
}

/** Returns a later line of the file. A killed process may have left the previous line incomplete, so the line starts with a line break. */
export function laterLine({ operation, id, imported }: EntryUpdate): string {
  return `\n${JSON.stringify({ operation, id, imported })}\n`;
}

/** Parses the file of an entry. Skips incomplete later lines. Returns `undefined` if the first line is incomplete. */
export function parseEntry(text: string): Entry | undefined {
  const [first = {}, ...later] = text.split("\n").map(parseLine);
  return isComplete(first) ? later.reduce(withUpdate, first) : undefined;
}

/** Returns the fields in a line that have the expected type. Programs also read entries, and a schema library would take too long to load. */
function parseLine(line: string): Partial<Entry> {
  try {
    const fields = new Map<string, unknown>(Object.entries(JSON.parse(line)));
    const valid = CHECKS.filter(([name, check]) => check(fields.get(name)));
    return Object.fromEntries(valid.map(([name]) => [name, fields.get(name)]));
  } catch {
    return {};
  }
}

function isComplete(fields: Partial<Entry>): fields is Entry {
  return Object.keys(requiredFields).every((name) => Object.hasOwn(fields, name));
}

/** Adds the fields of a later line. All imports are kept, because several processes may record them. */
function withUpdate(entry: Entry, { imported = [], ...more }: Partial<Entry>): Entry {
  const all = [...(entry.imported ?? []), ...imported];
  return { ...entry, ...more, ...(all.length > 0 && { imported: all }) };
}

/** Reports whether messages must not contain the id of the object, because some services use the name as the id. */
export function hasSecretName({ secrets = [] }: Pick<Entry, "secrets">): boolean {
  return secrets.includes("name");
}

export type UnfinishedEntry = Pick<Entry, "urn" | "endpoint" | "at" | "id" | "operation" | "secrets">;

/** @param words the reason why the creations are unfinished or the consequence, for one and for several creations, and the hints */
export function unfinishedWarning(
  entries: readonly UnfinishedEntry[],
  words: { readonly one: string; readonly several: string; readonly hints: readonly string[] },
): string {
  const { one, several, hints } = words;
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
  const known = id === undefined ? operation && ` with the operation ${operation.id}` : ` with the id ${id}`;
  const shown = hasSecretName(entry) && known !== undefined ? "" : (known ?? ", which may not exist");
  const started = new Date(entry.at).toISOString().replace(/\.\d+/, "");
  return oneLine(
    `${type.endsWith(":Project") ? "project" : "instance"} "${name.join("::")}"${shown}, started ${started}`,
  );
}

/** The purpose of a creation: to replace the resource with a key, or to create the resource with a URN (I2). Each has at most one entry. */
export type EntryIdentity = Pick<Entry, "urn" | "organization" | "backend" | "endpoint" | "replaces">;

export function fileName({ urn, organization = "", backend, endpoint, replaces }: EntryIdentity): string {
  const text = replaces === undefined ? `new\n${organization}\n${backend}\n${urn}` : `replaces\n${replaces}`;
  return `${hash("sha256", text).slice(0, 24)}-${hash("sha256", endpoint).slice(0, 12)}.jsonl`;
}

/**
 * A fact about a creation that must outlive its entry: the user has given up the creation, so that no command resumes or finishes it, or
 * the deletion of its object has started, so that no later run adopts the object.
 */
export type Mark = "given-up" | "discarded";

export function markFileName(key: string, mark: Mark): string {
  return `${hash("sha256", key).slice(0, 24)}.${mark}`;
}

/** The time for which files with each suffix are kept, in milliseconds. Only this limit removes such files. */
export const KEPT_MS = {
  [TEMPORARY_SUFFIX]: DAY_MS,
  [DELETION_SUFFIX]: 30 * DAY_MS,
  ".given-up": 30 * DAY_MS,
  ".discarded": 30 * DAY_MS,
} as const;

export async function entryFilesIn(files: Files, folder: string): Promise<string[]> {
  const names = (await files.namesIn(folder)).filter((name) => name.endsWith(".jsonl"));
  return names.map((name) => path.join(folder, name));
}

/** Reads all entries in a folder, by file. Damaged files are skipped, because they may belong to other programs. */
export async function readEntries(files: Files, folder: string): Promise<ReadonlyMap<string, Entry>> {
  const read = (await entryFilesIn(files, folder)).map(async (file) => {
    const entry = parseEntry((await files.read(file)) ?? "");
    return entry === undefined ? [] : [[file, entry] as const];
  });
  return new Map((await Promise.all(read)).flat());
}

/** For each folder, the next batch of entries to remove: the id of the object for each key of a resource. */
const batches = new Map<string, { readonly ids: Map<string, string>; readonly done: Promise<void> }>();

/**
 * Removes the journal entry of an object that the engine has saved. Never rejects, because the next check of the resource removes any
 * remaining entry.
 */
export async function confirm(
  key: string,
  id: string,
  { disk, ...place }: JournalLocation & { readonly disk?: Disk } = {},
): Promise<void> {
  try {
    const folder = journalFolder(place);
    let batch = batches.get(folder);
    if (batch === undefined) {
      const ids = new Map<string, string>();
      batch = { ids, done: removeAll(new Files(disk), folder, ids) };
      batches.set(folder, batch);
    }
    batch.ids.set(key, id);
    await batch.done;
  } catch {
    // The provider reports problems with the journal.
  }
}

/** Removes the entries of all resources that are saved at about the same time, so that each file is read only once. */
async function removeAll(files: Files, folder: string, ids: ReadonlyMap<string, string>): Promise<void> {
  await setImmediate();
  batches.delete(folder);
  const isConfirmed = (text: string): boolean => {
    const entry = parseEntry(text);
    return entry?.id !== undefined && !entry.isKept && ids.get(entry.resource) === entry.id;
  };
  // An unreadable file, for example of another user, must not prevent the removal of other files.
  const work = (await entryFilesIn(files, folder)).map(async (file) => {
    if (isConfirmed((await files.read(file)) ?? "")) await files.removeIf(file, isConfirmed);
  });
  await Promise.allSettled(work);
}
