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

/** What the CLI gets to end by itself after a Ctrl-C. */
const GRACE_MS = 20_000;

const ARGUMENTS: Readonly<Record<DemoCommand, readonly string[]>> = {
  preview: ["preview"],
  up: ["up", "--yes", "--skip-preview"],
  destroy: ["destroy", "--yes", "--skip-preview"],
};

const PLAIN = ["--non-interactive", "--color", "never", "--suppress-progress"];

/** The real CLI, with a home and a state of its own in the setting's folder. `file` is the CLI's. */
export async function pulumiDriver(file: string, setting: Setting): Promise<Driver> {
  const own = isolatedEnvironment(path.join(setting.root, "pulumi"));
  const env = { ...process.env, ...own, ...childEnvironment(setting) };
  const quietly = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(file, [...args, "--non-interactive"], {
      cwd: setting.dir,
      env,
    });
    return stdout.trim();
  };
  const version = await quietly("version");
  await quietly("stack", "init", "demo");
  await quietly(
    ...["config", "set-all", "--plaintext", `cloudinfra:endpoint=${setting.endpoint}`],
    ...["--secret", `cloudinfra:token=${setting.token}`],
  );
  return {
    introduction: `pulumi ${version} (${file}), with a home and a state of its own`,
    whatToType: whatToType(setting.dir, { ...own, CLOUDINFRA_JOURNAL_DIR: journalFolder(setting.root) }),
    run: async (command) => {
      const code = await show(file, ARGUMENTS[command], setting, env);
      if (code !== 0) throw new StepFailed(`\`pulumi ${command}\` ended with ${code}`);
    },
    close: () => killMarked(temporaryFolder(setting.root)),
  };
}

/** Lets the CLI write to our own output; in a terminal it draws its rows there. Resolves with how it ended. */
function show(
  file: string,
  args: readonly string[],
  { dir: cwd, live, interrupted, forced }: Setting,
  env: NodeJS.ProcessEnv,
): Promise<number | NodeJS.Signals> {
  // In a terminal Ctrl-C reaches the CLI as it reaches us; elsewhere only we pass it on, so that it arrives once.
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

/** Kills the CLI; with all that it started, where they are a process group of their own. */
function killAll(child: ChildProcess, ownGroup: boolean): void {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  if (ownGroup) process.kill(-child.pid, "SIGKILL");
  else child.kill("SIGKILL");
}

function whatToType(dir: string, own: Readonly<Record<string, string | undefined>>): string {
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
    "pulumi preview    # nothing to do; then change index.ts",
    "pulumi up         # makes the change",
    "pulumi refresh    # looks for what others changed",
    "pulumi destroy    # takes everything down",
  ].join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
