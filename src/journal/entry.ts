/** What is known on disk of one creation: written before its request is made, and told more as it goes on. */
export interface Entry {
  readonly urn: string;
  /** Base URL of the service that was asked. */
  readonly endpoint: string;
  /** Working directory of the program and the provider: the program's folder. */
  readonly dir: string;
  /** The Idempotency-Key (§4.7). */
  readonly key: string;
  /** The request's body, as the text that was sent. */
  readonly body: string;
  /** When the creation began, in milliseconds since 1970. */
  readonly at: number;
  /** What the service answered with, once it had accepted the request. */
  readonly operation?: NamedOperation;
  /** Id of the object, once it is known. */
  readonly id?: string;
  /** Written by `recover` from a stack's state, not by the creation itself. */
  readonly recovered?: boolean;
}

interface NamedOperation {
  readonly id: string;
  readonly url: string;
}

/** What is told of an entry after its first line. */
export type More = Pick<Entry, "operation" | "id">;

/** What an entry's file holds at first. */
export function firstLine(entry: Entry): string {
  const { urn, endpoint, dir, key, body, at, recovered } = entry;
  return `${JSON.stringify({ urn, endpoint, dir, key, body, at, recovered })}\n`;
}

/** What is appended to it. The line break comes first as well: a line before it may have been cut off by a kill. */
export function laterLine({ operation, id }: More): string {
  const known = operation && { id: operation.id, url: operation.url };
  return `\n${JSON.stringify({ operation: known, id })}\n`;
}

/** Reads an entry's file. Later lines that were cut off are passed over; without a whole first line there is no entry. */
export function parseEntry(text: string): Entry | undefined {
  const [first = "", ...later] = text.split("\n");
  let entry = begun(parseObject(first));
  for (const line of later) entry &&= { ...entry, ...more(parseObject(line)) };
  return entry;
}

type Fields = Partial<Record<string, unknown>>;

// By hand: the program reads entries too, and a schema library would cost each program several times their reading.
function parseObject(line: string): Fields {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function begun({ urn, endpoint, dir, key, body, at, recovered }: Fields): Entry | undefined {
  if (typeof urn !== "string" || typeof endpoint !== "string" || typeof dir !== "string") return undefined;
  if (typeof key !== "string" || typeof body !== "string" || typeof at !== "number") return undefined;
  return { urn, endpoint, dir, key, body, at, ...(recovered === true && { recovered }) };
}

function more({ operation, id }: Fields): More {
  const named =
    typeof operation === "object" && operation !== null ? namedOperation({ ...operation }) : undefined;
  return { ...(named && { operation: named }), ...(typeof id === "string" && { id }) };
}

function namedOperation({ id, url }: Fields): NamedOperation | undefined {
  return typeof id === "string" && typeof url === "string" ? { id, url } : undefined;
}
