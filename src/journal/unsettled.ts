import type { Entry } from "./entry";

/** A creation that was interrupted, and that no command has brought to its end since. */
export interface UnsettledEntry {
  /** The URN of the resource when the creation began. */
  readonly urn: string;
  readonly kind: "project" | "instance";
  /** When the creation began, in milliseconds since 1970. */
  readonly at: number;
  /** The id of the object, if it is known and the name isn't secret. */
  readonly id?: string | undefined;
  /** The id of the operation, if the service is known to have accepted the request. */
  readonly operation?: string | undefined;
}

/** Describes an entry whose creation is unsettled. */
export function summarizeEntry({ urn, at, id, operation, secrets = [] }: Entry): UnsettledEntry {
  const kind = urn.split("::")[2]?.endsWith(":Project") ? "project" : "instance";
  // Some services make the id of the name.
  const isSecret = secrets.includes("name");
  return { urn, kind, at, id: isSecret ? undefined : id, operation: operation?.id };
}

/** What a warning says beside the entries. */
interface WarningText {
  /** Why the creation stays unfinished, or what follows from that. */
  readonly one: string;
  /** The same about several creations. */
  readonly several: string;
  readonly hints: readonly string[];
}

/** Returns a warning that names the unsettled creations of one stack. */
export function unsettledWarning(
  entries: readonly UnsettledEntry[],
  { one, several, hints }: WarningText,
): string {
  const [, , stack] = entries[0]?.urn.split(":") ?? [];
  const headline =
    entries.length === 1
      ? `an interrupted creation of the stack ${stack} is unfinished, and ${one}`
      : `${entries.length} interrupted creations of the stack ${stack} are unfinished, and ${several}`;
  return [
    `cloudinfra: ${headline}:`,
    ...entries.flatMap((entry) => [`  ${described(entry)}`, `    ${entry.urn}`]),
    ...hints,
  ].join("\n");
}

function described({ urn, kind, at, id, operation }: UnsettledEntry): string {
  const name = urn.split("::").slice(3).join("::");
  const known =
    id !== undefined ? `id ${id}` : operation !== undefined ? `operation ${operation}` : undefined;
  const started = `started ${new Date(at).toISOString().replace(/\.\d+/, "")}`;
  return `${kind} "${name}"${known === undefined ? ", which may not exist" : ` with the ${known}`}, ${started}`;
}
