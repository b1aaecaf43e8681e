import type { CreationPurpose, Journal, NewEntry } from "../../journal/journal";
import { stackOf } from "../../journal/place";
import type { InterruptedCreation } from "./creations";

/**
 * Writes a journal entry for each creation, and prints what it does. Existing entries stay as they are: they may hold more.
 *
 * @returns whether each creation has an entry now, or will have one after the next `up`
 */
export async function writeEntries(
  journal: Journal,
  cutOff: readonly InterruptedCreation[],
  { dryRun }: { readonly dryRun: boolean },
): Promise<boolean> {
  const keys = new Map<string, string>();
  let allNoted = true;
  for (const creation of cutOff) {
    const noted = await writeEntry(journal, keys, creation, dryRun);
    allNoted &&= noted;
  }
  return allNoted;
}

/** A resource may have two entries: that of its creation, and that of its replacement. */
function purposeOf({ urn, replaces }: CreationPurpose): string {
  return JSON.stringify([urn, replaces]);
}

/**
 * After `pulumi stack rename`, the entry is under the stack's former name, which another stack may have now. If `--endpoint` names another address,
 * the entry is at the former one.
 */
async function moveRenamedEntry(journal: Journal, { urn, key, resource }: NewEntry): Promise<void> {
  const entry = await journal.find(resource);
  if (entry?.key !== key || withinStack(entry.urn) !== withinStack(urn)) return;
  const isThere = entry.endpoint === journal.endpoint && (entry.urn === urn || entry.replaces !== undefined);
  if (!isThere) await journal.move(entry, { urn, replaces: entry.replaces });
}

const withinStack = (urn: string): string => urn.slice(stackOf(urn).length);

async function writeEntry(
  journal: Journal,
  keys: Map<string, string>,
  { what, urn, begun }: InterruptedCreation,
  dryRun: boolean,
): Promise<boolean> {
  const print = (text: string): void => console.log(`interrupted creation of ${what}: ${text}\n  ${urn}`);
  if (begun === undefined) {
    print(
      "can't be resumed, because the state doesn't hold its key and all arguments. Look for the object in the service " +
        "before you run `pulumi up`, which creates another one",
    );
    return false;
  }
  if (!dryRun) await moveRenamedEntry(journal, begun);
  const known = keys.get(purposeOf(begun)) ?? (await journal.read(begun))?.key;
  if (known === undefined && !dryRun) {
    await journal.begin(begun);
    if ((await journal.read(begun))?.key !== begun.key) {
      print(
        "the journal entry can't be written. Don't run `pulumi up` before it is, or a second object is created",
      );
      return false;
    }
  }
  keys.set(purposeOf(begun), known ?? begun.key);
  if (known === undefined)
    print(`${dryRun ? "would write" : "wrote"} a journal entry, so that \`pulumi up\` resumes it`);
  else if (known === begun.key) print("already has a journal entry. `pulumi up` resumes it");
  else print("another creation has a journal entry and comes first. Run `pulumi up`, then `recover` again");
  return true;
}
