import { hash } from "node:crypto";
import path from "node:path";
import { type Disk, fileNamesIn, readText, removeOld, TEMPORARY_SUFFIX } from "./disk";
import { DELETION_SUFFIX } from "./run-facts";

/** The record of one creation on the local disk. It is written before the request is sent, and extended later. */
export interface Entry {
  /** The URN of the resource when the creation was started. */
  readonly urn: string;
  /** The organization of the stack that started the creation. Undefined if it wasn't known. */
  readonly organization?: string | undefined;
  /** The backend of that stack: its URL, or the program's folder if the URL isn't known. */
  readonly backend: string;
  /** The base URL of the service. */
  readonly endpoint: string;
  /** The name of the explicit provider that started the creation. Undefined for the default provider. */
  readonly provider?: string | undefined;
  /** The key of the request, which is sent in the Idempotency-Key header (§4.7). */
  readonly key: string;
  /**
   * The key of the resource, which the state contains once the engine has saved the resource. It differs from `key` after a failed attempt.
   */
  readonly resource: string;
  /** The key of the resource that this creation replaces. */
  readonly replaces?: string | undefined;
  /**
   * The key of the project's resource if it is in the same stack. The deletion of a project finishes only the creations of its own
   * instances.
   */
  readonly projectKey?: string | undefined;
  /** The body of the request, as the exact string that is sent. */
  readonly body: string;
  /** The names of the arguments that were secret when the creation was started. */
  readonly secrets?: readonly string[] | undefined;
  /** Whether the name in the body was generated. */
  readonly isAutonamed?: boolean | undefined;
  /** The start time of the creation, in milliseconds since 1970. */
  readonly at: number;
  /** The operation. Set once the service has accepted the request. */
  readonly operation?: { readonly id: string; readonly url: string };
  /** The id of the object. Set once it has been reported to the engine. */
  readonly id?: string;
  /** Whether `recover` wrote the entry from a stack's state. */
  readonly recovered?: boolean | undefined;
  /**
   * Whether the object may be in use. `recover` can't determine whether the creation has since been finished, or whether the exported state
   * comes from a different backend.
   */
  readonly isLate?: boolean | undefined;
  /** The ids of objects that resources have imported since then. If the creation made one of them, the object belongs to that resource. */
  readonly imported?: readonly string[];
  /** The process that last resumed the creation. The process that started it may outlive its killed CLI. */
  readonly resumedBy?: string;
  /** Whether only a check with the saved state may remove the entry, because the engine saves nothing before the end of its run. */
  readonly isKept?: boolean | undefined;
}

/** The fields that later lines of an entry's file add. */
export type EntryUpdate = Pick<Entry, "operation" | "id" | "imported" | "resumedBy">;

/** Returns the first line of an entry's file. */
export function firstLine(entry: Entry): string {
  const { operation: _, id: __, imported: ___, resumedBy: ____, ...begun } = entry;
  return `${JSON.stringify(begun)}\n`;
}

/** Returns a later line. It starts with a line break, because a killed process may have left the previous line incomplete. */
export function laterLine({ operation, id, imported, resumedBy }: EntryUpdate): string {
  const known = operation && { id: operation.id, url: operation.url };
  return `\n${JSON.stringify({ operation: known, id, imported, resumedBy })}\n`;
}

/** Parses an entry's file, and skips incomplete later lines. Returns `undefined` if the first line is incomplete. */
export function parseEntry(text: string): Entry | undefined {
  const [first = "", ...later] = text.split("\n");
  let entry = parseFirstLine(parseObject(first));
  for (const line of later) entry &&= withUpdate(entry, parseObject(line));
  return entry;
}

/** The fields of a line, unchecked. */
type Fields = { readonly [Name in keyof Entry]?: unknown };

// Entries are parsed without a schema library. Programs also read them, and loading the library would take several times as long as
// parsing.
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

/** Adds the fields of a later line. Imports accumulate, because several processes may record them. */
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
 * Returns the id of an entry's object for messages. Returns `undefined` if the name is secret, because some services use the name as the
 * id.
 */
export function visibleId({ id, secrets = [] }: Pick<Entry, "id" | "secrets">): string | undefined {
  return secrets.includes("name") ? undefined : id;
}

/** The parts of a warning about unfinished creations that depend on the command. */
interface WarningText {
  /** The reason why the creation stays unfinished, or the consequence. */
  readonly one: string;
  /** The plural form of this text, for several creations. */
  readonly several: string;
  readonly hints: readonly string[];
}

/** The part of an entry that a warning about unfinished creations contains. */
export type UnfinishedEntry = Pick<Entry, "urn" | "at" | "id" | "operation" | "secrets">;

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
  const [id, operation] = [visibleId(entry), entry.operation?.id];
  const known =
    id !== undefined
      ? ` with the id ${id}`
      : operation !== undefined
        ? ` with the operation ${operation}`
        : ", which may not exist";
  const started = new Date(entry.at).toISOString().replace(/\.\d+/, "");
  return `${type.endsWith(":Project") ? "project" : "instance"} "${name.join("::")}"${known}, started ${started}`;
}

const DAY_MS = 24 * 60 * 60_000;

/** The suffix of the files that record which creations the user has given up. */
const GIVEN_UP_SUFFIX = ".given-up";

/** Returns the name of the file that records that the user has given up the creation with a key. */
export function givenUpFileName(key: string): string {
  return hash("sha256", key).slice(0, 24) + GIVEN_UP_SUFFIX;
}

/** How long to keep files that nothing else removes, by suffix, in milliseconds. */
const KEPT_MS = {
  [TEMPORARY_SUFFIX]: DAY_MS,
  [DELETION_SUFFIX]: 30 * DAY_MS,
  [GIVEN_UP_SUFFIX]: 30 * DAY_MS,
} as const;

/** Lists the files in a folder that are named like entries. */
export async function entryFilesIn(disk: Disk, folder: string): Promise<string[]> {
  const names = (await fileNamesIn(disk, folder)).filter((name) => name.endsWith(".jsonl"));
  return names.map((name) => path.join(folder, name));
}

/** Reads the entries in a folder, keyed by file. Skips damaged files, which may belong to other programs. */
export async function readEntries(disk: Disk, folder: string): Promise<ReadonlyMap<string, Entry>> {
  const read = (await entryFilesIn(disk, folder)).map(async (file) => {
    const entry = parseEntry((await readText(disk, file)) ?? "");
    return entry === undefined ? [] : [[file, entry] as const];
  });
  return new Map((await Promise.all(read)).flat());
}

/**
 * Finds entries by the key of their resource, which isn't part of their file names. Each file is read once, because that key never changes.
 */
export class EntryIndex {
  private readonly resources = new Map<string, string | undefined>();
  private isTidy = false;

  constructor(private readonly disk: Disk) {}

  /** Returns the files that contain entries of a resource, in every stack and at every endpoint. */
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
