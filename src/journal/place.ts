import { hash } from "node:crypto";
import os from "node:os";
import path from "node:path";

export interface Place {
  /** The setting `journalDir`; relative to `cwd`. @default a folder for states in the user's home */
  readonly dir?: string | undefined;
  /** The program's folder. @default the working directory */
  readonly cwd?: string | undefined;
  /** @default the environment of this process */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/**
 * The journal's folder: `journalDir`, else `pulumi-cloudinfra/journal` under `$XDG_STATE_HOME` (where it is absolute),
 * `~/.local/state`, or on Windows `%LOCALAPPDATA%`.
 *
 * @throws Error where the user has no home
 */
export function journalFolder({ dir, cwd = process.cwd(), env = process.env }: Place): string {
  return dir === undefined
    ? path.join(stateFolder(env), "pulumi-cloudinfra", "journal")
    : path.resolve(cwd, dir);
}

function stateFolder({ XDG_STATE_HOME: xdg, LOCALAPPDATA: local, HOME: home }: NodeJS.ProcessEnv): string {
  if (xdg && path.isAbsolute(xdg)) return xdg;
  if (process.platform === "win32" && local) return local;
  return path.join(home || os.homedir(), ".local", "state");
}

/** What the names of a resource's entries begin with: of any endpoint, and of what was left half done. */
export function prefixOf(entry: { readonly dir: string; readonly urn: string }): string {
  return hash("sha256", `${entry.dir}\n${entry.urn}`).slice(0, 24);
}

/** What the names of an endpoint's entries end with. */
export function suffixOf(endpoint: string): string {
  return `-${hash("sha256", endpoint).slice(0, 12)}.jsonl`;
}

/** Name of an entry's file. */
export function fileName(entry: {
  readonly dir: string;
  readonly urn: string;
  readonly endpoint: string;
}): string {
  return prefixOf(entry) + suffixOf(entry.endpoint);
}
