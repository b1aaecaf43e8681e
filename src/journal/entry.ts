import { hash } from "node:crypto";
import path from "node:path";
import { DELETION_SUFFIX } from "./deletions";
import { type Disk, fileNamesIn, readText, removeOld, TEMPORARY_SUFFIX } from "./disk";

/** The record of one creation on the local disk: written before its request is sent, and extended as more becomes known. */
export interface Entry {
  /** URN of the resource when the creation began. */
  readonly urn: string;
  /** Organization of the stack that began the creation. Undefined if the process could not know it. */
  readonly organization?: string | undefined;
  /** Backend of that stack: its URL, or the program's folder if the URL is not known. */
  readonly backend: string;
  /** Base URL of the service. */
  readonly endpoint: string;
  /** Name of the explicit provider through which the creation began. Undefined for the default provider. */
  readonly provider?: string | undefined;
  /** Key of the request: the Idempotency-Key header (§4.7). */
  readonly key: string;
  /** Key of the resource: what the state holds once the engine has saved it. It differs from `key` after a failed attempt. */
  readonly resource: string;
  /** Key of the resource that this creation replaces. */
  readonly replaces?: string | undefined;
  /** Key of the resource that has the instance's project, if it is in the same stack: a project's deletion settles its own instances only. */
  readonly projectKey?: string | undefined;
  /** Body of the request, as the exact string that is sent. */
  readonly body: string;
  /** Names of the arguments that were secret when the creation began. */
  readonly secrets?: readonly string[] | undefined;
  /** Whether the name in the body was made up, and not given by the program. */
  readonly isAutonamed?: boolean | undefined;
  /** When the creation began, in milliseconds since 1970. */
  readonly at: number;
  /** The operation, once the service has accepted the request. */
  readonly operation?: NamedOperation;
  /** Id of the object, once it has been reported to the engine. */
  readonly id?: string;
  /** Whether `recover` wrote the entry from a stack's state. */
  readonly recovered?: boolean;
  /**
   * Whether the object may be in use: `recover` can't tell whether the creation has been finished since, and the state that it was written
   * from may be another backend's.
   */
  readonly isLate?: boolean;
  /** Ids of objects that resources have imported since. If the creation has made one of them, the object belongs to that resource. */
  readonly imported?: readonly string[];
  /** Whether the entry stays until a check with the saved state, because the engine saves nothing before the end of its run. */
  readonly isKept?: boolean;
}

interface NamedOperation {
  readonly id: string;
  readonly url: string;
}

/** What becomes known of a creation after its first line is written. */
export type EntryUpdate = Pick<Entry, "operation" | "id" | "imported">;

/** Returns the first line of an entry's file. */
export function firstLine(entry: Entry): string {
  const { operation: _, id: __, imported: ___, ...begun } = entry;
  return `${JSON.stringify(begun)}\n`;
}

/** Returns a later line. It starts with a line break because a kill may have cut off the line before it. */
export function laterLine({ operation, id, imported }: EntryUpdate): string {
  const known = operation && { id: operation.id, url: operation.url };
  return `\n${JSON.stringify({ operation: known, id, imported })}\n`;
}

/** Parses an entry's file. Incomplete later lines are skipped. Without a complete first line, the result is `undefined`. */
export function parseEntry(text: string): Entry | undefined {
  const [first = "", ...later] = text.split("\n");
  let entry = parseFirstLine(parseObject(first));
  for (const line of later) entry &&= withUpdate(entry, parseLaterLine(parseObject(line)));
  return entry;
}

type Fields = Partial<Record<string, unknown>>;

// Parsed by hand because programs read entries too, and loading a schema library takes several times as long.
function parseObject(line: string): Fields {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function parseFirstLine(fields: Fields): Entry | undefined {
  const {
    urn,
    organization,
    backend,
    endpoint,
    provider,
    key,
    resource,
    replaces,
    projectKey,
    body,
    secrets,
    isAutonamed,
    at,
    recovered,
    isLate,
    isKept,
  } = fields;
  if (typeof urn !== "string" || typeof backend !== "string" || typeof endpoint !== "string")
    return undefined;
  if (typeof key !== "string" || typeof resource !== "string") return undefined;
  if (typeof body !== "string" || typeof at !== "number") return undefined;
  return {
    ...{ urn, backend, endpoint, key, resource, body, at },
    ...(typeof organization === "string" && { organization }),
    ...(typeof provider === "string" && { provider }),
    ...(typeof replaces === "string" && { replaces }),
    ...(typeof projectKey === "string" && { projectKey }),
    ...(Array.isArray(secrets) && { secrets: secrets.filter((name) => typeof name === "string") }),
    ...(isAutonamed === true && { isAutonamed }),
    ...(recovered === true && { recovered }),
    ...(isLate === true && { isLate }),
    ...(isKept === true && { isKept }),
  };
}

function parseLaterLine({ operation, id, imported }: Fields): EntryUpdate {
  const named =
    typeof operation === "object" && operation !== null ? namedOperation({ ...operation }) : undefined;
  return {
    ...(named && { operation: named }),
    ...(typeof id === "string" && { id }),
    ...(Array.isArray(imported) && { imported: imported.filter((one) => typeof one === "string") }),
  };
}

/** Several processes may note imports. */
function withUpdate(entry: Entry, { imported, ...known }: EntryUpdate): Entry {
  return {
    ...entry,
    ...known,
    ...(imported && { imported: [...(entry.imported ?? []), ...imported] }),
  };
}

function namedOperation({ id, url }: Fields): NamedOperation | undefined {
  return typeof id === "string" && typeof url === "string" ? { id, url } : undefined;
}

const DAY_MS = 24 * 60 * 60_000;

/** How the names of the files end that record which creations the user has given up. */
const GIVEN_UP_SUFFIX = ".given-up";

/** Returns the name of the file which records that the user has given up the creation with a key. */
export function givenUpFileName(key: string): string {
  return hash("sha256", key).slice(0, 24) + GIVEN_UP_SUFFIX;
}

/** How long files are kept that nothing removes, by the end of their names, in milliseconds. */
const KEPT_MS = {
  [TEMPORARY_SUFFIX]: DAY_MS,
  [DELETION_SUFFIX]: 30 * DAY_MS,
  [GIVEN_UP_SUFFIX]: 30 * DAY_MS,
} as const;

/** Reads the entries in a folder by their files. Leaves out damaged ones, which may be another program's. */
export async function readEntries(
  disk: Disk,
  folder: string,
  ending = ".jsonl",
): Promise<ReadonlyMap<string, Entry>> {
  const names = (await fileNamesIn(disk, folder)).filter((name) => name.endsWith(ending));
  const files = names.map((name) => path.join(folder, name));
  const texts = await Promise.all(files.map((file) => readText(disk, file)));
  const entries = texts.map((text) => parseEntry(text ?? ""));
  return new Map(files.flatMap((file, index) => (entries[index] ? [[file, entries[index]] as const] : [])));
}

/**
 * Finds entries by the key of their resource, which their names do not tell. Each file is read once: the resource of an entry
 * never changes.
 */
export class EntryIndex {
  private readonly resources = new Map<string, string | undefined>();
  private isTidy = false;

  constructor(private readonly disk: Disk) {}

  /** Returns the files whose entries are about the resource with this key, in whatever stack and at whatever endpoint. */
  async of(folder: string, resource: string): Promise<string[]> {
    const names = await fileNamesIn(this.disk, folder);
    if (!this.isTidy) await removeOld(this.disk, folder, KEPT_MS);
    this.isTidy = true;
    const entries = names.filter((name) => name.endsWith(".jsonl")).map((name) => path.join(folder, name));
    await Promise.all(entries.filter((file) => !this.resources.has(file)).map((file) => this.learn(file)));
    return entries.filter((file) => this.resources.get(file) === resource);
  }

  private async learn(file: string): Promise<void> {
    const text = await readText(this.disk, file);
    if (text !== undefined) this.resources.set(file, parseEntry(text)?.resource);
  }
}
