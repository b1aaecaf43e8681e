import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Behaviour, type Emulator, type LoggedRequest, startEmulator } from "../../src/emulator";
import type { ConfigValue, Engine, Stack, StackOptions } from "./engine";
import { Leaks } from "./leaks";
import { type ProgramFolder, programFolder } from "./program";
import { openWatched, type WatchedStack } from "./watched-stack";

export interface ScenarioOptions {
  /** The program, which can use the names that `PRELUDE` declares. */
  program: string;
  behaviour?: Partial<Behaviour>;
  /** Called after the service has answered a request, for example to simulate changes by somebody else. */
  onRequest?: (request: LoggedRequest) => void;
  /** Settings in addition to the emulator's `cloudinfra:endpoint` and `cloudinfra:token`. `undefined` removes a setting. */
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
  /** Searches further output, and registers further tokens and secrets. */
  readonly leaks: Leaks;
  /** The program's folder. */
  readonly dir: string;
  /** Replaces the program. */
  write(program: string): void;
  /**
   * Opens another stack of the same program with the same configuration. By default, it has the same name and its own
   * backend.
   */
  open(where?: OtherStack): Promise<Stack>;
}

type OtherStack = Partial<Pick<StackOptions, "stack" | "backendUrl" | "organization">>;

/**
 * Runs `body` with a service that has a unique token, a program, and a stack of that program on `engine`. Then it searches
 * all output and files for the token and secret inputs, and removes everything even if `body` fails.
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
  const searchFiles = (): void => {
    leaks.files("the program's folder,", folder.dir);
    leaks.files("the folder for temporary files,", temporary, "anybody");
  };
  try {
    const emulator = await startEmulator({
      token: leaks.token,
      behaviour: { operationMs: 100, ...options.behaviour },
      onRequest: (request) => {
        searchFiles(); // The journal contains an entry only while a creation is in progress.
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
        searchFiles();
        for (const { search } of opened) await search();
        leaks.expectNone();
      } finally {
        emulator.finishOperations(); // so that a waiting command can finish
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
