import path from "node:path";
import { type Behaviour, type Emulator, startEmulator } from "../../src/emulator";
import type { ConfigValue, Engine, Stack } from "./engine";
import { type ProgramFolder, programFolder } from "./program";

export interface ScenarioOptions {
  /** The program, without the names of `PRELUDE`. */
  program: string;
  behaviour?: Partial<Behaviour>;
  /** Added to `cloudinfra:endpoint` and `cloudinfra:token` of the emulator; undefined takes one of them out. */
  config?: Readonly<Record<string, ConfigValue | undefined>>;
  env?: Readonly<Record<string, string>>;
  /** Name of the Pulumi project. @default "scenario" */
  project?: string;
  /** @default "dev" */
  stackName?: string;
}

export interface Scenario {
  readonly stack: Stack;
  readonly emulator: Emulator;
  /** The program's folder. */
  readonly dir: string;
  /** Makes this the program from now on. */
  write(program: string): void;
}

/** A service, a program and a stack of it on `engine`; all of them are gone when `body` has ended, however it ends. */
export async function withStack(
  engine: Engine,
  options: ScenarioOptions,
  body: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const folder = programFolder(options.program, { name: options.project ?? "scenario" });
  try {
    const emulator = await startEmulator({ behaviour: { operationMs: 100, ...options.behaviour } });
    try {
      const stack = await openStack(engine, folder, emulator, options);
      try {
        await body({ stack, emulator, dir: folder.dir, write: folder.write });
      } finally {
        emulator.finishOperations(); // a run that still waits can end by itself
        await stack.dispose();
      }
    } finally {
      await emulator.stop();
    }
  } finally {
    folder.remove();
  }
}

function openStack(
  engine: Engine,
  { dir }: ProgramFolder,
  emulator: Emulator,
  { project = "scenario", stackName = "dev", config, env }: ScenarioOptions,
): Promise<Stack> {
  const all: Record<string, ConfigValue | undefined> = {
    "cloudinfra:endpoint": emulator.endpoint,
    "cloudinfra:token": { secret: emulator.token },
    ...config,
  };
  return engine.open({
    dir,
    project,
    stack: stackName,
    config: Object.fromEntries(
      Object.entries(all).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    ),
    env: { CLOUDINFRA_JOURNAL_DIR: path.join(dir, "journal"), ...env },
  });
}
