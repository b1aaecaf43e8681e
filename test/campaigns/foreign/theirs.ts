import type { Emulator } from "../../../src/emulator";
import type { DeclaredInstance } from "../programs";
import type { Ledger } from "./ledger";
import { atService, isLabel } from "./targets";

/** Returns an instance with its expected values at the service, including unmanaged changes by somebody else. */
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
