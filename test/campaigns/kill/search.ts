import type { Leaks } from "../../harness/leaks";
import { withoutPulumisOwn } from "../../harness/watched-stack";
import { type Program, sourceOf } from "../programs";
import type { Commands } from "./commands";
import type { Machine } from "./machine";
import type { KillableStack } from "./stacks";

/** Searches the output and files of commands, including killed ones, for the token and for secret inputs. */
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

  /** Adds the secrets of a program that will run to the search. */
  program(program: Program): void {
    this.leaks.program(sourceOf(program));
  }

  /** Searches everything directly after a kill. */
  look(machine: Machine): void {
    for (const { words, output } of this.commands.all.slice(this.heard))
      this.leaks.said(`the output of \`${words}\``, withoutPulumisOwn(output));
    this.heard = this.commands.all.length;
    this.leaks.files("the journal,", machine.journal);
    this.leaks.files("the program's folder,", machine.dir);
    this.leaks.files("the folder for temporary files,", this.temporary, "anybody");
    this.leaks.state("the state", this.stack.state());
  }

  /** Searches everything at the end of a task, including the secrets in the state. @returns new findings */
  async end(machine: Machine): Promise<string[]> {
    this.look(machine);
    this.leaks.state("the export", await this.stack.withSecrets(machine));
    if (this.stack.kept !== undefined) this.leaks.files("the engine's files,", this.stack.kept, "anybody");
    const found = this.leaks.leaks().filter((leak) => !this.told.has(leak));
    for (const leak of found) this.told.add(leak);
    return found;
  }
}
