import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { type Journal, openJournal } from "../../src/journal/journal";
import { ENDPOINT } from "./exports";
import { type Ended, runCli } from "./run-cli";

/** A program's folder with its own home, for running the command. */
export interface Machine {
  readonly dir: string;
  /** The journal that the provider uses. */
  readonly journal: Journal;
  /** The names of the files in the journal. */
  files(): string[];
  /** Writes the export to a file, and returns its path. */
  write(exported: unknown): string;
  recover(args: readonly string[], options?: RunOptions): Promise<Ended>;
}

interface RunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The source of a Node program that replaces `pulumi` on the PATH. @default none */
  readonly pulumi?: string;
}

/** Creates a machine without journal entries, and removes it after the test. */
export function machine(): Machine {
  const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-recover-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  writeFileSync(path.join(root, "Pulumi.yaml"), "name: app\nruntime: nodejs\n");
  const env = { XDG_STATE_HOME: path.join(root, "state"), PULUMI_HOME: path.join(root, "pulumi") };
  const warn = (message: string): never => {
    throw new Error(message);
  };
  const journal = openJournal({ endpoint: ENDPOINT, cwd: root, env, warn });
  return {
    dir: root,
    journal,
    files: () =>
      readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl")),
    write: (exported) => {
      const file = path.join(root, "export.json");
      writeFileSync(file, JSON.stringify(exported));
      return file;
    },
    recover: (args, options = {}) => runRecover(root, args, { ...options, env: { ...env, ...options.env } }),
  };
}

/** Runs `recover` in a folder, without the PULUMI_… and CLOUDINFRA_… variables of this process. */
export async function runRecover(cwd: string, args: readonly string[], options: RunOptions): Promise<Ended> {
  const bin = path.join(cwd, "bin");
  if (options.pulumi !== undefined) putPulumi(bin, options.pulumi);
  const own = Object.entries(process.env).filter(([name]) => !/^(PULUMI|CLOUDINFRA)_/.test(name));
  const env = { ...Object.fromEntries(own), PATH: bin, ...options.env };
  return runCli(cwd, ["recover", ...args], env, options.stdin);
}

function putPulumi(bin: string, program: string): void {
  const file = path.join(bin, "pulumi");
  rmSync(bin, { recursive: true, force: true });
  mkdirSync(bin);
  writeFileSync(file, `#!${process.execPath}\n${program}\n`);
  chmodSync(file, 0o755);
}
