import type { Leaks } from "../../harness/leaks";
import { withoutPulumisOwn } from "../../harness/watched-stack";
import { type Program, sourceOf } from "../programs";
import type { Commands } from "./commands";
import type { Machine } from "./machine";
import type { KillableStack } from "./stacks";

/** Looks for the token and for secret inputs in all that commands have said and left, killed ones too. */
export class Search {
  private heard = 0;
  private readonly told = new Set<string>();

  constructor(
    private readonly leaks: Leaks,
    private readonly commands: Commands,
    private readonly stack: KillableStack,
    /** The folder for temporary files. */
    private readonly temporary: string,
  ) {}

  /** A program that is to be run: its secrets are looked for from now on. */
  program(program: Program): void {
    this.leaks.program(sourceOf(program));
  }

  /** What is there now, while a kill is just over. */
  look(machine: Machine): void {
    for (const { words, output } of this.commands.all.slice(this.heard))
      this.leaks.said(`what \`${words}\` said`, withoutPulumisOwn(output));
    this.heard = this.commands.all.length;
    this.leaks.files("the journal,", machine.journal);
    this.leaks.files("the program's folder,", machine.dir);
    this.leaks.files("the folder for temporary files,", this.temporary, "anybody");
    this.leaks.state("the state", this.stack.state());
  }

  /** What is there when a task is done, also what the state has in secrets. @returns what was not found before */
  async end(machine: Machine): Promise<string[]> {
    this.look(machine);
    this.leaks.state("the export", await this.stack.withSecrets(machine));
    if (this.stack.kept !== undefined) this.leaks.files("what the engine keeps,", this.stack.kept, "anybody");
    const found = this.leaks.leaks().filter((leak) => !this.told.has(leak));
    for (const leak of found) this.told.add(leak);
    return found;
  }
}
