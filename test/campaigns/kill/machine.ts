import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findMarked, killProcess } from "../../../demo/leftovers";
import { linkModules } from "../../harness/modules";
import { PRELUDE } from "../../harness/program";
import { type Program, sourceOf } from "../programs";

/** The file with a stack's configuration, which the real CLI keeps next to the program. */
const STACK_SETTINGS = "Pulumi.dev.yaml";

/** A machine of a user: a copy of the program, a journal, and processes, which end with the machine. */
export class Machine {
  readonly dir: string;
  readonly journal: string;
  /** A mark in the environment of every process of this machine only. */
  readonly mark: string;

  constructor(
    private readonly root: string,
    private readonly number = 1,
    from?: Machine,
  ) {
    const folder = path.join(root, `machine-${number}`);
    this.dir = path.join(folder, "program");
    this.journal = path.join(folder, "journal");
    this.mark = `${folder}${path.sep}`;
    mkdirSync(this.dir, { recursive: true });
    this.#put("Pulumi.yaml", "name: kills\nruntime:\n  name: nodejs\n  options:\n    typescript: false\n");
    this.#put("package.json", '{ "name": "kills", "version": "1.0.0", "main": "index.js" }\n');
    linkModules(this.dir);
    for (const name of ["index.js", STACK_SETTINGS]) {
      const file = path.join(from?.dir ?? "", name);
      if (from && existsSync(file)) this.#put(name, readFileSync(file, "utf8"));
    }
  }

  write(program: Program): void {
    this.#put("index.js", `${PRELUDE}\n${sourceOf(program)}\n`);
  }

  /** Returns another machine that has only a copy of the program. */
  another(): Machine {
    return new Machine(this.root, this.number + 1, this);
  }

  env(): Record<string, string> {
    return { CLOUDINFRA_JOURNAL_DIR: this.journal };
  }

  /** Returns the journal's files, including its entries. */
  journalFiles(): { name: string; text: string }[] {
    if (!existsSync(this.journal)) return [];
    return readdirSync(this.journal).map((name) => ({
      name,
      text: readFileSync(path.join(this.journal, name), "utf8"),
    }));
  }

  /** Kills every process of this machine. */
  async killAll(): Promise<void> {
    for (let tries = 0; tries < 100; tries += 1) {
      const left = await findMarked(this.mark);
      if (left.length === 0) return;
      for (const { pid } of left) killProcess(pid);
      await delay(10);
    }
    throw new Error(`processes of ${this.mark} can't be killed`);
  }

  /** Kills the processes for dynamic resources. Returns whether there was one. */
  async killProviders(): Promise<boolean> {
    const providers = (await findMarked(this.mark)).filter(({ command }) =>
      command.includes("/cmd/dynamic-provider"),
    );
    for (const { pid } of providers) killProcess(pid);
    return providers.length > 0;
  }

  #put(name: string, text: string): void {
    writeFileSync(path.join(this.dir, name), text);
  }
}
