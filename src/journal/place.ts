import { hash } from "node:crypto";
import os from "node:os";
import path from "node:path";
import type { Entry } from "./entry";

export interface JournalLocation {
  /** The setting `journalDir`; relative to `cwd`. @default a folder for states in the user's home */
  readonly dir?: string | undefined;
  /** The program's folder. @default the working directory */
  readonly cwd?: string | undefined;
  /** @default the environment of this process */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/**
 * Returns the journal's folder: `journalDir`, else `pulumi-cloudinfra/journal` under `$XDG_STATE_HOME` (if it is absolute),
 * `~/.local/state`, or on Windows `%LOCALAPPDATA%`.
 *
 * @throws Error if the user has no home
 */
export function journalFolder({ dir, cwd = process.cwd(), env = process.env }: JournalLocation): string {
  return dir === undefined
    ? path.join(stateFolder(env), "pulumi-cloudinfra", "journal")
    : path.resolve(cwd, dir);
}

function stateFolder({ XDG_STATE_HOME: xdg, LOCALAPPDATA: local, HOME: home }: NodeJS.ProcessEnv): string {
  if (xdg && path.isAbsolute(xdg)) return xdg;
  if (process.platform === "win32" && local) return local;
  return path.join(home || os.homedir(), ".local", "state");
}

/**
 * What a creation is for: either it replaces the resource with a key, or it creates a resource that does not exist yet, which
 * only the URN within one stack identifies. There is one entry for each purpose at most.
 */
export interface EntryIdentity extends Pick<Entry, "urn" | "backend" | "endpoint"> {
  readonly organization?: string | undefined;
  readonly replaces?: string | undefined;
}

/** Returns the name of the file that holds the entry for a purpose. */
export function fileName({ urn, organization = "", backend, endpoint, replaces }: EntryIdentity): string {
  const text = replaces === undefined ? `new\n${organization}\n${backend}\n${urn}` : `replaces\n${replaces}`;
  return hash("sha256", text).slice(0, 24) + suffixOf(endpoint);
}

/** Returns what the names of an endpoint's entries end with. */
export function suffixOf(endpoint: string): string {
  return `-${hash("sha256", endpoint).slice(0, 12)}.jsonl`;
}

/** What entries tell of a stack beside its name. */
interface StackHome {
  readonly organization: string | undefined;
  readonly backend: string;
  /** The program's folder. */
  readonly cwd: string;
}

/**
 * Reports whether an entry is of an organization and backend. `recover` can't always know the organization, nor the backend that an
 * exported state comes from.
 */
export function isOfBackend({ organization, backend, recovered = false }: Entry, home: StackHome): boolean {
  const isOfOrganization = organization === home.organization || (recovered && organization === undefined);
  return isOfOrganization && (backend === home.backend || (recovered && backend === home.cwd));
}

/** Returns the stack's part of a URN: `urn:pulumi:STACK::PROJECT`. */
export function stackOf(urn: string): string {
  return urn.split("::").slice(0, 2).join("::");
}
