import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { systemClock } from "../../src/polling/clock";
import type { HostProvider } from "../../src/provider/host";
import { overTheWire } from "../../test/campaigns/host/wire";
import { openProviders } from "../../test/provider/providers";
import type { Service } from "../service/service";

interface Opened {
  readonly journalDir: string;
  readonly instances: HostProvider;
  readonly projects: HostProvider;
  /** Removes the journal of the provider. */
  close(): void;
}

/** Opens a provider in this process, as the engine starts it in its own. Further settings have no namespace. */
export async function openProvider(
  { endpoint, token }: Service,
  settings: Readonly<Record<string, string>> = {},
): Promise<Opened> {
  const journalDir = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-bench-"));
  const warn = (message: string): void => console.error(message);
  const { instances, projects } = await openProviders(
    { endpoint, token, journalDir, ...settings },
    { clock: systemClock, warn },
  );
  return {
    journalDir,
    instances: overTheWire(instances),
    projects: overTheWire(projects),
    close: () => rmSync(journalDir, { recursive: true, force: true }),
  };
}
