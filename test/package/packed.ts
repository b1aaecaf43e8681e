import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { linkPackages, REPOSITORY } from "../harness/modules";

const NAME = "pulumi-cloudinfra";

const versions = v.optional(v.record(v.string(), v.string()), {});
const manifestSchema = v.object({
  version: v.string(),
  main: v.string(),
  types: v.string(),
  bin: v.record(v.string(), v.string()),
  exports: v.record(v.string(), v.union([v.string(), v.object({ types: v.string(), default: v.string() })])),
  dependencies: versions,
  peerDependencies: versions,
});

const packReport = v.tuple([v.object({ files: v.array(v.object({ path: v.string() })) })]);

/** The package as `npm pack` packs it, in the node_modules of a project that has what it asks for and nothing else. */
export interface PackedPackage {
  /** The project's folder. */
  readonly project: string;
  readonly manifest: v.InferOutput<typeof manifestSchema>;
  /** Paths in the package, with slashes. */
  readonly files: readonly string[];
  /** Text of a file of the package. */
  read(file: string): string;
  /** Runs Node in the project, with no setting of Pulumi's or ours in the environment. Resolves with what it prints. */
  node(...args: string[]): Promise<string>;
  /** Runs npm there; it asks no registry. */
  npm(...args: string[]): Promise<string>;
  remove(): void;
}

/** Packs what is built. */
export function packedPackage(): PackedPackage {
  const project = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-packed-")));
  const root = path.join(project, "node_modules", NAME);
  const files = packedFiles(path.join(project, "npm"));
  for (const file of files) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    cpSync(path.join(REPOSITORY, file), path.join(root, file));
  }
  const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
  const manifest = v.parse(manifestSchema, JSON.parse(read("package.json")));
  linkPackages(project, Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
  const options = { cwd: project, env: environment(path.join(project, "npm")), timeout: 60_000 };
  const run = promisify(execFile);
  return {
    project,
    manifest,
    files,
    read,
    node: async (...args) => (await run(process.execPath, args, options)).stdout,
    npm: async (...args) => (await run("npm", args, { ...options, ...SHELL_FOR_NPM })).stdout,
    remove: () => rmSync(project, { recursive: true, force: true, maxRetries: 3 }),
  };
}

const SHELL_FOR_NPM = { shell: process.platform === "win32" }; // there, npm is a script

/** What every process needs, and an npm that neither asks a registry nor writes to the user's home. */
function environment(npmFolder: string): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(npm|pulumi|cloudinfra|node|vitest)_?/i.test(name)),
    ),
    npm_config_cache: npmFolder,
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
  };
}

function packedFiles(npmFolder: string): string[] {
  const args = ["pack", "--json", "--dry-run", "--ignore-scripts"];
  const options = {
    cwd: REPOSITORY,
    env: environment(npmFolder),
    encoding: "utf8",
    stdio: "pipe",
    ...SHELL_FOR_NPM,
  } as const;
  const [{ files }] = v.parse(packReport, JSON.parse(execFileSync("npm", args, options)));
  return files.map((file) => file.path);
}
