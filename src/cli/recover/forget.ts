import type { Entry } from "../../journal/entry";
import type { Journal } from "../../journal/journal";
import type { RecoverArgs } from "./args";
import { howToClear } from "./clear";
import type { PendingCreations } from "./creations";
import type { Deployment } from "./deployment";
import { organizationOf } from "./organization";

/**
 * Removes the journal entries of a resource, and prints what it does. There may be two: that of its creation, and that of its replacement.
 *
 * @returns false if there is no such entry, or if one can't be removed
 */
export async function forgetNote(
  journals: readonly Journal[],
  urn: string,
  deployment: Deployment,
  { cutOff }: PendingCreations,
  args: Pick<RecoverArgs, "cwd" | "dryRun" | "stack">,
): Promise<boolean> {
  const { dryRun } = args;
  const entriesIn = async (journal: Journal): Promise<Entry[]> =>
    (await journal.list()).filter((entry) => entry.urn === urn);
  const keys = new Set<string>();
  for (const journal of journals) {
    for (const { key } of await entriesIn(journal)) {
      keys.add(key);
      if (!dryRun) await journal.remove(key);
    }
    if (!dryRun && (await entriesIn(journal)).length > 0) return false; // the journal has printed why
  }
  if (keys.size === 0) {
    const unknown = organizationOf(deployment, args) === undefined ? UNKNOWN_ORGANIZATION : "";
    console.error(`no journal entry for ${urn}${unknown}`);
    return false;
  }
  const what = keys.size === 1 ? "the journal entry" : `${keys.size} journal entries`;
  console.log(
    `${dryRun ? "would remove" : "removed"} ${what} for ${urn}\n` +
      "The next `pulumi up` creates the object again. If the interrupted creation made an object, delete it in the service. If the " +
      "state holds the resource, run `pulumi state delete` for it, too.",
  );
  if (cutOff.some(({ begun }) => begun !== undefined && keys.has(begun.key)))
    console.log(howToClear(deployment, args));
  return true;
}

const UNKNOWN_ORGANIZATION =
  "\nIf the stack belongs to an organization, name it with `--stack <organization>/<project>/<stack>`.";
