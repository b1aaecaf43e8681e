import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { projectFileFor, readProjectFile } from "./project-file";

/**
 * Returns the URL of the backend that keeps the stack's state, found as the CLI finds it: `PULUMI_BACKEND_URL`, then `backend.url`
 * in the project file, then the current login.
 *
 * @param folder the folder of the project file, or one below it
 * @returns the folder of the project file if the URL can't be known: two stacks of the same name can only be told apart by it
 */
export function backendOf(folder: string, env: NodeJS.ProcessEnv): string {
  const file = projectFileFor(folder);
  const url = env.PULUMI_BACKEND_URL || projectBackend(file) || currentLogin(env);
  if (url !== undefined) return normalized(url, folder, env);
  return file === undefined ? folder : path.dirname(file);
}

function projectBackend(file: string | undefined): string | undefined {
  try {
    return file && readProjectFile(file).backendUrl;
  } catch {
    return undefined; // the CLI reports a file that can't be read
  }
}

function currentLogin(env: NodeJS.ProcessEnv): string | undefined {
  const folder = env.PULUMI_CREDENTIALS_PATH || env.PULUMI_HOME || path.join(homeOf(env), ".pulumi");
  const text = contentOf(path.join(folder, "credentials.json"));
  return text === undefined ? undefined : currentIn(text);
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

function currentIn(credentials: string): string | undefined {
  try {
    const { current }: { current?: unknown } = Object(JSON.parse(credentials));
    return typeof current === "string" && current !== "" ? current : undefined;
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
