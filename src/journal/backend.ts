import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** The names of Pulumi's project files, in the order in which the CLI looks for them. */
const PROJECT_FILES = ["Pulumi.json", "Pulumi.yaml", "Pulumi.yml"];

/**
 * Returns the URL of the backend that keeps the stack's state, found as the CLI finds it: `PULUMI_BACKEND_URL`, then `backend.url`
 * in the project file, then the current login.
 *
 * @param cwd the program's folder
 * @returns the folder itself if the URL can't be known: two stacks of the same name can only be told apart by it
 */
export function backendOf(cwd: string, env: NodeJS.ProcessEnv): string {
  const url = env.PULUMI_BACKEND_URL || projectBackend(cwd) || currentLogin(env);
  return url === undefined ? cwd : normalized(url, cwd, env);
}

function projectBackend(folder: string): string | undefined {
  for (const name of PROJECT_FILES) {
    const text = contentOf(path.join(folder, name));
    if (text !== undefined)
      return name.endsWith(".json") ? memberOf(text, "backend", "url") : yamlBackend(text);
  }
  const parent = path.dirname(folder);
  return parent === folder ? undefined : projectBackend(parent);
}

/** Reads `backend.url` in block or flow style. Two keys are no reason to load a YAML parser in every program. */
function yamlBackend(text: string): string | undefined {
  const block = /^backend:[^\S\n]*(\{[^}\n]*\}|(?:\n[^\S\n]+[^\n]*|\n[^\S\n]*(?=\n))+)/m.exec(text)?.[1];
  return /(?:^|[\s{,])["']?url["']?:[^\S\n]*["']?([^\s"',}]+)/m.exec(block ?? "")?.[1];
}

function currentLogin(env: NodeJS.ProcessEnv): string | undefined {
  const folder = env.PULUMI_CREDENTIALS_PATH || env.PULUMI_HOME || path.join(homeOf(env), ".pulumi");
  const text = contentOf(path.join(folder, "credentials.json"));
  return text === undefined ? undefined : memberOf(text, "current");
}

/** The user's home, or a folder that does not exist if the user has none. */
function homeOf({ HOME }: NodeJS.ProcessEnv): string {
  try {
    return HOME || os.homedir();
  } catch {
    return "~";
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // the CLI reports files that can't be read
  }
}

function memberOf(text: string, ...names: readonly string[]): string | undefined {
  try {
    let value: unknown = JSON.parse(text);
    for (const name of names)
      value = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
    return typeof value === "string" && value !== "" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Without a password or a slash at the end; a query, which may hold secrets, is hashed; folders are absolute. */
function normalized(text: string, cwd: string, env: NodeJS.ProcessEnv): string {
  const folder = /^file:\/\/(.*)$/s.exec(text)?.[1];
  if (folder !== undefined) return `file://${path.resolve(cwd, folder.replace(/^~(?=$|\/)/, homeOf(env)))}`;
  const url = URL.parse(text);
  if (url === null) return text;
  url.searchParams.sort();
  const query = url.search === "" ? "" : `?${hash("sha256", url.search).slice(0, 12)}`;
  return `${`${url.protocol}//${url.host}${url.pathname}`.replace(/\/+$/, "")}${query}`;
}
