import { type ChildProcess, execFile, spawn } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { isolatedEnvironment } from "../test/harness/pulumi-environment";
import {
  childEnvironment,
  type DemoCommand,
  type Driver,
  journalFolder,
  type Setting,
  StepFailed,
  temporaryFolder,
} from "./driver";
import { killMarked } from "./leftovers";

/** How long the CLI may take to end after Ctrl-C. */
const GRACE_MS = 20_000;

const ARGUMENTS: Readonly<Record<DemoCommand, readonly string[]>> = {
  preview: ["preview"],
  up: ["up", "--yes", "--skip-preview"],
  destroy: ["destroy", "--yes", "--skip-preview"],
};

const PLAIN = ["--non-interactive", "--color", "never", "--suppress-progress"];

/** Opens Pulumi's CLI, with its own home and state in the demo's folder. `file` is the path of the CLI. */
export async function pulumiDriver(file: string, setting: Setting): Promise<Driver> {
  const own = isolatedEnvironment(path.join(setting.root, "pulumi"));
  const env = { ...process.env, ...own, ...childEnvironment(setting) };
  const output = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(file, [...args, "--non-interactive"], {
      cwd: setting.dir,
      env,
    });
    return stdout.trim();
  };
  const version = await output("version");
  await output("stack", "init", "demo");
  await output(
    ...["config", "set-all", "--plaintext", `cloudinfra:endpoint=${setting.endpoint}`],
    ...["--secret", `cloudinfra:token=${setting.token}`],
  );
  return {
    description: `pulumi ${version} (${file}), with its own home and state`,
    commandsToTry: commandsToTry(setting.dir, {
      ...own,
      CLOUDINFRA_JOURNAL_DIR: journalFolder(setting.root),
    }),
    run: async (command) => {
      const code = await show(file, ARGUMENTS[command], setting, env);
      if (code !== 0) throw new StepFailed(`\`pulumi ${command}\` exited with ${code}`);
    },
    close: () => killMarked(temporaryFolder(setting.root)),
  };
}

/** Runs the CLI with the demo's own output, and returns its exit code or signal. */
function show(
  file: string,
  args: readonly string[],
  { dir: cwd, live, interrupted, forced }: Setting,
  env: NodeJS.ProcessEnv,
): Promise<number | NodeJS.Signals> {
  // In a terminal, Ctrl-C reaches the CLI directly. Otherwise, the demo forwards it, and must be the only one to do so.
  const child = live
    ? spawn(file, args, { cwd, env, stdio: "inherit" })
    : spawn(file, [...args, ...PLAIN], { cwd, env, stdio: ["ignore", "inherit", "inherit"], detached: true });
  const interrupt = (): void => {
    if (!live) child.kill("SIGINT");
    setTimeout(kill, GRACE_MS).unref();
  };
  const kill = (): void => killAll(child, !live);
  interrupted.addEventListener("abort", interrupt);
  forced.addEventListener("abort", kill);
  return new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? "SIGKILL"));
  }).finally(() => {
    interrupted.removeEventListener("abort", interrupt);
    forced.removeEventListener("abort", kill);
  });
}

/** Kills the CLI. If it has its own process group, kills the whole group. */
function killAll(child: ChildProcess, ownGroup: boolean): void {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  if (ownGroup) process.kill(-child.pid, "SIGKILL");
  else child.kill("SIGKILL");
}

function commandsToTry(dir: string, own: Readonly<Record<string, string | undefined>>): string {
  const exported = [
    "PULUMI_HOME",
    "PULUMI_BACKEND_URL",
    "PULUMI_CONFIG_PASSPHRASE",
    "CLOUDINFRA_JOURNAL_DIR",
  ];
  return [
    `cd ${quoted(dir)}`,
    `export PATH=${quoted(path.dirname(process.execPath))}:"$PATH"`,
    ...exported.map((name) => `export ${name}=${quoted(own[name] ?? "")}`),
    "pulumi preview    # shows no changes; edit index.ts, and run it again",
    "pulumi up         # applies the change",
    "pulumi refresh    # reads changes by others",
    "pulumi destroy    # deletes everything",
  ].join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
