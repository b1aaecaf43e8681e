import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Emulator, type LoggedRequest, startEmulator } from "../../../src/emulator";
import { type Journal, openJournal } from "../../../src/journal/journal";
import { identityKey } from "../../../src/model/resource-fields";
import { Leaks } from "../../harness/leaks";
import { passDatesWith, restoreDates } from "../../polling/dates";
import { fastClock } from "../../polling/fast-clock";
import { openProviders, type Providers } from "../../provider/providers";
import { CreateCalls } from "./create-calls";
import { World } from "./world";

/** The speed of the clock, compared with real time. The service's clock has the same speed. */
const SPEED = 50;

/** A provider process, and the journal folder of its machine. */
export interface Process extends Providers {
  readonly journalDir: string;
}

/** A service, its expected objects, and two machines with providers. */
export interface Setting {
  readonly emulator: Emulator;
  readonly world: World;
  readonly calls: CreateCalls;
  readonly leaks: Leaks;
  /** The provider's warnings. */
  readonly warnings: string[];
  process(machine: "usual" | "other"): Promise<Process>;
  /** Removes the journal entry of a creation on both machines, as `recover --forget` does. */
  forget(key: string): Promise<void>;
  /** Whether this machine's journal records a requested deletion of the project. */
  hasRequestedDeletion(process: Process, project: string): Promise<boolean>;
  /** Searches the journals for the token. */
  lookIntoJournals(): void;
  /** Resolves when no request is running, including those that their clients have abandoned. */
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
    now: passDatesWith(clock),
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
    hasRequestedDeletion: async ({ journalDir }, id) => {
      const object = identityKey({ endpoint, kind: "project", id });
      return (await journalIn(journalDir).deletions.requestedAt(object)) !== undefined;
    },
    lookIntoJournals: () => leaks.files("the journal,", root),
    quiet: async () => {
      while (answered < emulator.requests.length) await delay(20);
    },
    close: async () => {
      restoreDates();
      await emulator.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
