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
