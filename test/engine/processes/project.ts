import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { parse } from "yaml";

/** The settings in Pulumi.yaml for running the program. */
export interface Project {
  readonly name: string;
  readonly root: string;
  /** The working directory of the program and the provider: the folder of `main`. */
  readonly cwd: string;
  /** The file that the runner loads, relative to `cwd`. */
  readonly entry: string;
  readonly typescript: boolean;
  /** The runtime options, as environment variables that the CLI passes to provider processes. */
  readonly runtimeOptions: Readonly<Record<string, string>>;
  /** The folder of the @pulumi/pulumi package that the program resolves. */
  readonly sdk: string;
}

export function readProject(dir: string): Project {
  const root = path.resolve(dir);
  const file = path.join(root, "Pulumi.yaml");
  if (!fs.existsSync(file)) throw new Error(`no Pulumi.yaml in ${root}`);
  const yaml: unknown = parse(fs.readFileSync(file, "utf8"));
  const main = property(yaml, "main");
  const runtime = property(property(yaml, "runtime"), "options");
  const { cwd, entry } = entryPoint(root, typeof main === "string" ? main : "");
  return {
    name: String(property(yaml, "name")),
    root,
    cwd,
    entry,
    typescript: property(runtime, "typescript") !== false,
    runtimeOptions: Object.fromEntries(
      Object.entries(runtime ?? {}).map(([key, value]) => [
        `PULUMI_RUNTIME_${key.toUpperCase()}`,
        String(value),
      ]),
    ),
    sdk: sdkFolder(cwd),
  };
}

function property(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? new Map(Object.entries(value)).get(key) : undefined;
}

function entryPoint(root: string, main: string): { cwd: string; entry: string } {
  const target = path.join(root, main);
  if (!fs.existsSync(target)) throw new Error(`Pulumi.yaml names ${main} as main, which does not exist`);
  if (fs.statSync(target).isDirectory()) return { cwd: target, entry: "." };
  return { cwd: path.dirname(target), entry: path.basename(target) };
}

function sdkFolder(cwd: string): string {
  try {
    return path.dirname(createRequire(path.join(cwd, "_.js")).resolve("@pulumi/pulumi/package.json"));
  } catch (cause) {
    throw new Error(`${cwd} can't resolve @pulumi/pulumi: install it there or in a folder above`, { cause });
  }
}
