import type { Journal } from "../../journal/journal";
import type { RecoverArgs } from "./args";
import { howToClear } from "./clear";
import type { PendingCreations } from "./creations";
import type { Deployment } from "./deployment";

/**
 * Removes the journal entry of a creation, and prints what it does.
 *
 * @returns false if there is no such entry, or if it can't be removed
 */
export async function forgetNote(
  journals: readonly Journal[],
  urn: string,
  deployment: Deployment,
  { cutOff }: PendingCreations,
  args: Pick<RecoverArgs, "cwd" | "dryRun" | "stack">,
): Promise<boolean> {
  const { dryRun } = args;
  const find = async (journal: Journal) => (await journal.list()).find((entry) => entry.urn === urn);
  const found = await Promise.all(journals.map(async (journal) => ({ journal, noted: await find(journal) })));
  const keys = new Set<string>();
  for (const { journal, noted } of found) {
    if (noted === undefined) continue;
    keys.add(noted.key);
    if (!dryRun) await journal.remove(noted.key);
    if (!dryRun && (await find(journal)) !== undefined) return false; // the journal has printed why
  }
  if (keys.size === 0) {
    console.error(`no journal entry for ${urn}`);
    return false;
  }
  console.log(
    `${dryRun ? "would remove" : "removed"} the journal entry for ${urn}\n` +
      "The next `pulumi up` creates the object again. If the interrupted creation made an object, delete it in the service.",
  );
  if (cutOff.some(({ begun }) => begun !== undefined && keys.has(begun.key)))
    console.log(howToClear(deployment, args));
  return true;
}
