import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
// The YAML parser is a dependency of Pulumi's SDK, so every program has already loaded it.
import { loadAll, YAMLException } from "js-yaml";
import { CloudInfraError } from "../diagnostics/error";

export interface JournalLocation {
  /** The setting `journalDir`, relative to `cwd`. @default a folder in the user's home */
  readonly dir?: string | undefined;
  /** The program's folder. @default the working directory */
  readonly cwd?: string | undefined;
  /** @default the environment of this process */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/**
 * Returns the journal's folder: `dir`, or `pulumi-cloudinfra/journal` in `$XDG_STATE_HOME` (if it is absolute), in `%LOCALAPPDATA%` (on
 * Windows), or in `~/.local/state`.
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

/** Returns the part of a URN that identifies the stack: `urn:pulumi:STACK::PROJECT`. */
export function stackOf(urn: string): string {
  return urn.split("::").slice(0, 2).join("::");
}

/**
 * Returns the URL of the backend that stores the stack's state. Like the CLI, this function checks `PULUMI_BACKEND_URL`, `backend.url` in
 * the project file, and the current login. Without a URL, returns the folder of the project file, which then distinguishes the stacks.
 */
export function backendOf(folder: string, env: NodeJS.ProcessEnv): string {
  const file = projectFileFor(folder);
  const inProject = attempt(() => file && readProjectFile(file).backendUrl);
  const url = env.PULUMI_BACKEND_URL || inProject || attempt(() => currentLogin(env));
  if (url !== undefined) return normalized(url, folder, env);
  return file === undefined ? folder : path.dirname(file);
}

/** Returns the result of a function, or `undefined` if it fails. The CLI reports a file that can't be read. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function currentLogin(env: NodeJS.ProcessEnv): string | undefined {
  const folder = env.PULUMI_CREDENTIALS_PATH || env.PULUMI_HOME || path.join(homeOf(env), ".pulumi");
  const credentials = readFileSync(path.join(folder, "credentials.json"), "utf8");
  const { current }: { current?: unknown } = Object(JSON.parse(credentials));
  return textOf(current);
}

/** Returns the user's home folder, or a folder that doesn't exist if the user has no home. */
function homeOf({ HOME }: NodeJS.ProcessEnv): string {
  return HOME || (attempt(os.homedir) ?? "~");
}

/** Normalizes a backend URL. The result contains no password and no trailing slash. Queries are hashed, because they may contain secrets. */
function normalized(text: string, cwd: string, env: NodeJS.ProcessEnv): string {
  const folder = /^file:\/\/(.*)$/s.exec(text)?.[1];
  if (folder !== undefined) return `file://${path.resolve(cwd, folder.replace(/^~(?=$|\/)/, homeOf(env)))}`;
  const url = URL.parse(text);
  if (url === null) return text;
  url.searchParams.sort();
  const query = url.search === "" ? "" : `?${hash("sha256", url.search).slice(0, 12)}`;
  return `${`${url.protocol}//${url.host}${url.pathname}`.replace(/\/+$/, "")}${query}`;
}

/** The names of Pulumi's project file, in the order in which the CLI checks them. */
const NAMES = ["Pulumi.json", "Pulumi.yaml", "Pulumi.yml"];

/** Finds Pulumi's project file like the CLI: in a folder, or in its nearest parent folder with such a file. */
export function projectFileFor(folder: string): string | undefined {
  const found = NAMES.map((name) => path.join(folder, name)).find((file) => existsSync(file));
  const above = path.dirname(folder);
  return found ?? (above === folder ? undefined : projectFileFor(above));
}

/**
 * Reads the fields of a project file that locate the program, the backend and the stacks' files. The file is YAML or JSON.
 *
 * @throws CloudInfraError `config_invalid` if the file can't be read. The message contains no part of the file, which may contain secrets
 */
export function readProjectFile(file: string) {
  try {
    const [content] = loadAll(readFileSync(file, "utf8")); // the CLI also ignores further documents
    const { main, backend, stackConfigDir }: { main?: unknown; backend?: unknown; stackConfigDir?: unknown } =
      Object(content);
    const { url }: { url?: unknown } = Object(backend);
    return { main: textOf(main), backendUrl: textOf(url), stackConfigDir: textOf(stackConfigDir) };
  } catch (error) {
    const why =
      error instanceof YAMLException
        ? `${error.reason} in line ${error.mark.line + 1}`
        : Object(error).code || "unknown error";
    throw new CloudInfraError("config_invalid", `${file} can't be read: ${why}`, {
      hint: "Correct the file.",
    });
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
