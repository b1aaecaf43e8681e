import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { linkModules } from "./modules";

export interface ProgramOptions {
  /** Name of the Pulumi project. @default "scenario" */
  name?: string;
  /** Code before the source. @default `PRELUDE` */
  prelude?: string;
}

export interface ProgramFolder {
  readonly dir: string;
  /** Replaces the program. */
  write(source: string): void;
  /** Removes the folder and its contents. */
  remove(): void;
}

/** Declares the names that scenarios use without importing them. It is one line, which shifts line numbers by only one. */
export const PRELUDE = [
  'const pulumi = require("@pulumi/pulumi");',
  'const { Project, Instance, Provider } = require("pulumi-cloudinfra");',
].join(" ");

/** Creates a folder with a JavaScript program that loads this package from `dist`, as users do. */
export function programFolder(source: string, options: ProgramOptions = {}): ProgramFolder {
  const { name = "scenario", prelude = PRELUDE } = options;
  const dir = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-program-")));
  const put = (file: string, text: string): void => writeFileSync(path.join(dir, file), text);
  const write = (program: string): void => put("index.js", `${prelude}\n${program}\n`);
  put("Pulumi.yaml", `name: ${name}\nruntime:\n  name: nodejs\n  options:\n    typescript: false\n`);
  put("package.json", `${JSON.stringify({ name, version: "1.0.0", main: "index.js" })}\n`);
  write(source);
  linkModules(dir);
  return { dir, write, remove: () => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }) };
}
