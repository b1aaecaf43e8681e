import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Behaviour, type Emulator, type LoggedRequest, startEmulator } from "../../../src/emulator";
import { Leaks } from "../../harness/leaks";
import { passDatesWith, restoreDates } from "../../polling/dates";
import { FakeClock } from "../../polling/fake-clock";
import { openProviders } from "../../provider/providers";
import type { Machine } from "../host/resource";
import type { Random } from "../random";
import { foreignBehaviour } from "./behaviour";
import { Ledger } from "./ledger";
import type { Kind } from "./program";

/** A service with an object of somebody else, and the provider's machine. Time passes only while something waits. */
export interface Setting {
  readonly emulator: Emulator;
  readonly ledger: Ledger;
  readonly leaks: Leaks;
  /** A project of somebody else, in which the campaign creates instances. */
  readonly home: string;
  /** The provider's warnings. */
  readonly warnings: readonly string[];
  /** Called with each request, after the ledger. */
  listener: (request: LoggedRequest) => void;
  /** Starts a new provider process on the machine. */
  process(kind: Kind): Promise<Machine>;
  close(): Promise<void>;
}

export async function openSetting(random: Random): Promise<Setting> {
  const clock = new FakeClock({ auto: true });
  const leaks = new Leaks();
  const behaviour = racedBehaviour(random);
  const emulator = await startEmulator({
    token: leaks.token,
    behaviour,
    now: passDatesWith(clock),
    onRequest: (request) => {
      ledger.answered(request);
      setting.listener(request);
    },
  });
  const ledger = new Ledger(emulator);
  const home = emulator.addProject({ name: "home" }).id;
  for (const { id } of [
    emulator.addInstance({ project: home, name: "web" }),
    emulator.addProject({ name: "web" }),
  ])
    ledger.addForeign(id);
  ledger.addForeign(home);
  const journalDir = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-foreign-"));
  const warnings: string[] = [];
  const { revisionField } = behaviour;
  const settings = {
    ...{ endpoint: emulator.endpoint, token: emulator.token, journalDir },
    ...(revisionField !== undefined && { revisionField }),
  };
  const setting: Setting = {
    ...{ emulator, ledger, leaks, home, warnings },
    listener: () => {},
    process: async (kind) => {
      const surroundings = { clock, warn: (message: string): void => void warnings.push(message) };
      const { instances, projects } = await openProviders(settings, surroundings);
      return { provider: kind === "project" ? projects : instances, journalDir };
    },
    close: async () => {
      restoreDates();
      leaks.files("the journal,", journalDir);
      await emulator.stop();
      rmSync(journalDir, { recursive: true, force: true });
    },
  };
  return setting;
}

/** Draws a service that reports revisions in one of all possible ways. */
function racedBehaviour(random: Random): Partial<Behaviour> {
  const usual = foreignBehaviour(random);
  const hasOwnField = random.chance(0.15);
  return {
    ...usual,
    operationMs: random.pick([100, 1_500, 5_000]),
    ...(hasOwnField && { revision: random.pick(["body", "both"]), revisionField: "generation" }),
  };
}
