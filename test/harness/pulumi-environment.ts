import { accessSync, constants, mkdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

/** The file that a shell runs for `pulumi`, or undefined if PATH has none. */
export function pulumiOnPath(searchPath: string = process.env.PATH ?? ""): string | undefined {
  const file = process.platform === "win32" ? "pulumi.exe" : "pulumi";
  return searchPath
    .split(path.delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => path.join(folder, file))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The environment of a CLI that keeps its login, plugins, logs and state in `root`. The user's variables for Pulumi and
 * this package are undefined, and the current Node comes first on PATH.
 */
export function isolatedEnvironment(
  root: string,
): Record<string, string | undefined> & { PULUMI_BACKEND_URL: string } {
  const state = path.join(root, "state");
  mkdirSync(state, { recursive: true });
  return {
    ...Object.fromEntries(usersSettings().map((name) => [name, undefined])),
    PATH: [path.dirname(process.execPath), process.env.PATH ?? ""].join(path.delimiter),
    PULUMI_HOME: path.join(root, "home"),
    PULUMI_BACKEND_URL: pathToFileURL(state).href,
    PULUMI_CONFIG_PASSPHRASE: "not a secret",
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
  };
}

function usersSettings(): string[] {
  return Object.keys(process.env).filter((name) => /^(PULUMI|CLOUDINFRA)_/i.test(name));
}
