import type { Journal } from "../../journal/journal";
import { howToClear } from "./clear";
import type { PendingCreations } from "./creations";
import type { Deployment } from "./deployment";

/**
 * Drops the note of a creation, and says so.
 *
 * @returns whether it is gone, or would be; not where there was none
 */
export async function forgetNote(
  journals: readonly Journal[],
  urn: string,
  deployment: Deployment,
  { cutOff }: PendingCreations,
  { dryRun }: { readonly dryRun: boolean },
): Promise<boolean> {
  const find = async (journal: Journal) => (await journal.list()).find((entry) => entry.urn === urn);
  const found = await Promise.all(journals.map(async (journal) => ({ journal, noted: await find(journal) })));
  const keys = new Set<string>();
  for (const { journal, noted } of found) {
    if (noted === undefined) continue;
    keys.add(noted.key);
    if (!dryRun) await journal.remove(noted.key);
    if (!dryRun && (await find(journal)) !== undefined) return false; // the journal has said why
  }
  if (keys.size === 0) {
    console.error(`no creation of ${urn} is noted here`);
    return false;
  }
  console.log(
    `${dryRun ? "this would be" : "this is"} forgotten: ${urn}\n` +
      "The next `pulumi up` makes the object anew. Look at the service: one that was made before is yours to delete.",
  );
  if (cutOff.some(({ begun }) => begun !== undefined && keys.has(begun.key)))
    console.log(howToClear(deployment));
  return true;
}
