import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Emulator, type LoggedRequest, startEmulator } from "../../../src/emulator";
import { type Journal, openJournal } from "../../../src/journal/journal";
import { identityKey } from "../../../src/model/kinds";
import { Leaks } from "../../harness/leaks";
import { fastClock } from "../../polling/fast-clock";
import { openProviders, type Providers } from "../../provider/providers";
import { CreateCalls } from "./create-calls";
import { World } from "./world";

/** So many times faster than a clock on the wall; the service's goes with it. */
const SPEED = 50;
const START = Date.parse("2026-01-01T00:00:00Z");

/** A process of the provider, and where the journal of its machine is. */
export interface Process extends Providers {
  readonly journalDir: string;
}

/** A service, what it must hold, and two machines on which the provider runs. */
export interface Setting {
  readonly emulator: Emulator;
  readonly world: World;
  readonly calls: CreateCalls;
  readonly leaks: Leaks;
  /** What the provider has warned of. */
  readonly warnings: string[];
  process(machine: "usual" | "other"): Promise<Process>;
  /** Removes the journal entry of a creation on both machines, as `recover --forget` does. */
  forget(key: string): Promise<void>;
  /** Whether the machine of this process has a record that it has requested the deletion of a project. */
  hasRequestedDeletion(process: Process, project: string): Promise<boolean>;
  /** Searches the journals for the token. */
  lookIntoJournals(): void;
  /** Resolves when no request is under way any more, also none that its client has given up. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

export async function openSetting(): Promise<Setting> {
  const clock = fastClock(SPEED);
  const leaks = new Leaks();
  const calls = new CreateCalls();
  const warnings: string[] = [];
  let answered = 0;
  let watch: (request: LoggedRequest) => void = () => {};
  const emulator = await startEmulator({
    token: leaks.token,
    now: () => START + clock.now(),
    onRequest: (request) => {
      answered += 1;
      watch(request);
    },
  });
  const world = new World(emulator, (name) => calls.madeOne(name));
  watch = (request) => world.answered(request);
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-faults-"));
  const { endpoint, token } = emulator;
  const warn = (message: string): void => void warnings.push(message);
  const journalIn = (dir: string): Journal =>
    openJournal({ endpoint, dir, token: () => token, cwd: process.cwd(), env: {}, warn });
  return {
    emulator,
    world,
    calls,
    leaks,
    warnings,
    process: async (machine) => {
      const journalDir = path.join(root, machine);
      return { journalDir, ...(await openProviders({ endpoint, token, journalDir }, { clock, warn })) };
    },
    forget: async (key) => {
      for (const machine of ["usual", "other"]) await journalIn(path.join(root, machine)).remove(key);
    },
    hasRequestedDeletion: ({ journalDir }, id) =>
      journalIn(journalDir).deletions.has(identityKey({ endpoint, kind: "project", id })),
    lookIntoJournals: () => leaks.files("the journal,", root),
    quiet: async () => {
      while (answered < emulator.requests.length) await delay(20);
    },
    close: async () => {
      await emulator.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
