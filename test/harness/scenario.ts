import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Behaviour, type Emulator, type LoggedRequest, startEmulator } from "../../src/emulator";
import type { ConfigValue, Engine, Stack, StackOptions } from "./engine";
import { Leaks } from "./leaks";
import { type ProgramFolder, programFolder } from "./program";
import { openWatched, type WatchedStack } from "./watched-stack";

export interface ScenarioOptions {
  /** The program, without the names of `PRELUDE`. */
  program: string;
  behaviour?: Partial<Behaviour>;
  /** Told of each request when the service has answered it: the place for what others do in the meantime. */
  onRequest?: (request: LoggedRequest) => void;
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
  /** For what else a scenario reads, and for further tokens and secrets. */
  readonly leaks: Leaks;
  /** The program's folder. */
  readonly dir: string;
  /** Makes this the program from now on. */
  write(program: string): void;
  /**
   * Opens another stack of the same program, with the same configuration. It has a backend of its own, unless
   * `backendUrl` says otherwise, and the same name, unless `stack` does.
   */
  open(where?: OtherStack): Promise<Stack>;
}

type OtherStack = Partial<Pick<StackOptions, "stack" | "backendUrl" | "organization">>;

/**
 * A service with a token that nobody else has, a program and a stack of it on `engine`; all of them are gone when `body` has
 * ended, however it ends. All that was said and kept is searched for the token and for secret inputs.
 */
export async function withStack(
  engine: Engine,
  options: ScenarioOptions,
  body: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const folder = programFolder(options.program, { name: options.project ?? "scenario" });
  const temporary = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-scenario-"));
  const leaks = new Leaks();
  leaks.program(options.program);
  const write = (program: string): void => {
    leaks.program(program);
    folder.write(program);
  };
  const lookAtDisk = (): void => {
    leaks.files("the program's folder,", folder.dir);
    leaks.files("the folder for temporary files,", temporary, "anybody");
  };
  try {
    const emulator = await startEmulator({
      token: leaks.token,
      behaviour: { operationMs: 100, ...options.behaviour },
      onRequest: (request) => {
        lookAtDisk(); // while a creation goes on, the journal knows of it
        options.onRequest?.(request);
      },
    });
    try {
      const opened: WatchedStack[] = [];
      const open = async (where: OtherStack = {}): Promise<Stack> => {
        const watched = await openStack(engine, folder, { emulator, leaks, temporary, where }, options);
        opened.push(watched);
        return watched.stack;
      };
      try {
        await body({ stack: await open(), emulator, leaks, dir: folder.dir, write, open });
        lookAtDisk();
        for (const { look } of opened) await look();
        leaks.expectNone();
      } finally {
        emulator.finishOperations(); // a run that still waits can end by itself
        for (const { stack } of opened) await stack.dispose();
      }
    } finally {
      await emulator.stop();
    }
  } finally {
    folder.remove();
    rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
  }
}

function openStack(
  engine: Engine,
  { dir }: ProgramFolder,
  {
    emulator,
    leaks,
    temporary,
    where,
  }: { emulator: Emulator; leaks: Leaks; temporary: string; where: OtherStack },
  { project = "scenario", stackName = "dev", config, env }: ScenarioOptions,
): Promise<WatchedStack> {
  const all: Record<string, ConfigValue | undefined> = {
    "cloudinfra:endpoint": emulator.endpoint,
    "cloudinfra:token": { secret: emulator.token },
    ...config,
  };
  const given = Object.fromEntries(
    Object.entries(all).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  const places = {
    CLOUDINFRA_JOURNAL_DIR: path.join(dir, "journal"),
    ...Object.fromEntries(["TMPDIR", "TMP", "TEMP"].map((name) => [name, temporary])),
  };
  return openWatched(
    engine,
    { dir, project, stack: stackName, config: given, env: { ...places, ...env }, ...where },
    leaks,
  );
}
