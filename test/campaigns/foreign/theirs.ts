import type { Emulator } from "../../../src/emulator";
import type { DeclaredInstance } from "../programs";
import type { Ledger } from "./ledger";
import { atService, isLabel } from "./targets";

/** Somebody deletes our project with all that is in it. @returns whether there was one */
export function loseProject(emulator: Emulator, ledger: Ledger): boolean {
  const [project] = [...emulator.projects.keys()].filter((id) => !ledger.isForeign(id));
  if (project === undefined) return false;
  for (const [id, { fields }] of emulator.instances) {
    if (fields.project !== project) continue;
    if (ledger.isForeign(id)) ledger.removeForeign(id);
    else ledger.removed(id);
    emulator.remove(id);
  }
  emulator.remove(project);
  return true;
}

/** An instance as the service must have it: with what somebody has made that is none of the program's business. */
export function withTheirs(
  instance: DeclaredInstance,
  id: string,
  { emulator, ledger }: { readonly emulator: Emulator; readonly ledger: Ledger },
): DeclaredInstance {
  const theirs = new Map(ledger.entriesOf(id).map(({ target, value }) => [target, value]));
  const labels = [...theirs].filter(([target, value]) => isLabel(target) && typeof value === "string");
  const own = labels.map(([target, value]) => [target.slice("labels.".length), value]);
  const fields = emulator.instances.get(id)?.fields ?? {};
  const kept = ["publicIp", "sshKeys"].filter((name) => theirs.has(name));
  return {
    ...Object.fromEntries(kept.map((name) => [name, atService(name, fields) ?? undefined])),
    ...instance,
    labels: { ...Object.fromEntries(own), ...instance.labels },
  };
}
