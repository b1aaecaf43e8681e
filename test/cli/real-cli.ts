import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { killMarked } from "../../demo/leftovers";
import { type Emulator, startEmulator } from "../../src/emulator";
import { Leaks } from "../harness/leaks";
import { programFolder } from "../harness/program";
import { isolatedEnvironment } from "../harness/pulumi-environment";

/** A stack of the real CLI that can be killed, which the Automation API does not let us do. */
export interface RealStack {
  readonly dir: string;
  readonly emulator: Emulator;
  /** What commands say is searched as they end, and at the end of the test all that is on disk. */
  readonly leaks: Leaks;
  /** Makes this the program from now on. */
  write(program: string): void;
  /** The environment of a machine: its journal is its own, the stack is the same. */
  machine(name: string): Record<string, string>;
  /** Runs a command to its end; what it said, or an error where it failed. */
  run(env: Record<string, string>, ...args: string[]): Promise<string>;
  /** An `up` that is killed with all it started once the service has answered its next creation of an instance. */
  killedUp(env: Record<string, string>): Promise<void>;
}

/** Opens stack `dev` of project `scenario`. All of it is gone after the test. */
export async function realStack(pulumi: string, program: string): Promise<RealStack> {
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-killed-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const folder = programFolder(program);
  onTestFinished(() => folder.remove());
  const leaks = new Leaks();
  onTestFinished(() => {
    for (const part of ["home", "state"]) leaks.files(`the CLI's ${part},`, path.join(root, part), "anybody");
    leaks.files("a machine,", root);
    leaks.files("the program's folder,", folder.dir);
    leaks.expectNone();
  });
  onTestFinished(() => killMarked(root)); // before the folders go: such hooks run from the last to the first
  const answered = new EventTarget();
  const emulator = await startEmulator({
    token: leaks.token,
    onRequest: ({ method, path }) => void answered.dispatchEvent(new Event(`${method} ${path}`)),
  });
  onTestFinished(() => emulator.stop());
  const machine = (name: string): Record<string, string> => {
    const env = {
      ...process.env,
      ...isolatedEnvironment(root),
      CLOUDINFRA_JOURNAL_DIR: path.join(root, name),
    };
    mkdirSync(path.join(root, name), { recursive: true });
    return Object.fromEntries(
      Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    );
  };
  const start = (env: Record<string, string>, args: readonly string[]): ChildProcess =>
    spawn(pulumi, [...args, "--non-interactive", "--color", "never"], {
      cwd: folder.dir,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
  const run: RealStack["run"] = async (env, ...args) => {
    const child = start(env, args);
    const ended = once(child, "close");
    const [said, complaints] = await Promise.all(
      [child.stdout, child.stderr].map((out) => (out ? text(out) : "")),
    );
    const [code] = await ended;
    if (args.includes("--show-secrets")) leaks.state("the state", JSON.parse(said ?? "").deployment);
    else leaks.said(`pulumi ${args[0]}`, `${said}${complaints}`);
    if (code !== 0) throw new Error(`pulumi ${args.join(" ")} ended with ${code}:\n${said}${complaints}`);
    return said ?? "";
  };
  const killedUp: RealStack["killedUp"] = async (env) => {
    const created = once(answered, "POST /v1/instances");
    const child = start(env, ["up", "--yes", "--skip-preview"]);
    const ended = once(child, "close");
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => leaks.said("pulumi up, killed", String(data)));
    await Promise.race([created, ended]);
    await killMarked(root);
    const [code] = await ended;
    if (code !== null) throw new Error(`the up ended by itself with ${code} before it could be killed`);
    await run(env, "cancel", "--yes"); // the state in files stays locked
  };
  const first = machine("first");
  await run(first, "stack", "init", "dev");
  await run(first, "config", "set", "cloudinfra:endpoint", emulator.endpoint);
  await run(first, "config", "set", "--secret", "cloudinfra:token", emulator.token);
  return { dir: folder.dir, emulator, leaks, write: folder.write, machine, run, killedUp };
}
