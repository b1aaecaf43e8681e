import type { Entry } from "../../journal/entry";
import type { Journal } from "../../journal/journal";
import type { RecoverArgs } from "./args";
import { clearPendingHint } from "./clear";
import { type PendingCreations, placeholderKeys } from "./creations";
import type { Deployment } from "./deployment";
import { organizationOf } from "./organization";

/**
 * Removes the journal entries of a resource, at all endpoints unless the command line names one, gives up its creations that the state records,
 * and prints what it does. There may be several entries, such as that of its creation and that of its replacement.
 *
 * @returns false if there is nothing to forget, or if an entry can't be removed
 */
export async function forgetEntry(
  journals: readonly Journal[],
  urn: string,
  deployment: Deployment,
  { cutOff }: PendingCreations,
  args: Pick<RecoverArgs, "cwd" | "dryRun" | "stack" | "endpoint" | "forget">,
): Promise<boolean> {
  const { dryRun, endpoint } = args;
  const entriesIn = async (journal: Journal): Promise<Entry[]> =>
    (await (endpoint === undefined ? journal.listEverywhere() : journal.list())).filter(
      (entry) => entry.urn === urn,
    );
  const keys = new Set<string>();
  for (const journal of journals) {
    for (const { key } of await entriesIn(journal)) {
      keys.add(key);
      if (!dryRun) await journal.remove(key);
    }
    if (!dryRun && (await entriesIn(journal)).length > 0) return false; // the journal has printed why
  }
  const inState = placeholderKeys(deployment, urn);
  for (const key of dryRun ? [] : inState) {
    await journals[0]?.giveUp(key);
    if (!(await journals[0]?.isGivenUp(key))) return false; // the same
  }
  const isListed = cutOff.some((creation) => creation.urn === urn);
  if (keys.size + inState.length === 0 && !isListed) {
    const unknown = organizationOf(deployment, args) === undefined ? UNKNOWN_ORGANIZATION : "";
    console.error(`no journal entry for ${urn}${unknown}`);
    return false;
  }
  const entries = keys.size === 1 ? "the journal entry" : `${keys.size} journal entries`;
  const removed = `${keys.size === 0 ? "no journal entry" : `${dryRun ? "would remove" : "removed"} ${entries}`} for ${urn}`;
  const givenUp = `${dryRun ? "would give up" : "gave up"} the creation that the state records. This counts on this machine only`;
  console.log([removed, ...(inState.length > 0 ? [givenUp] : []), WHAT_FOLLOWS].join("\n"));
  if (isListed) console.log(clearPendingHint(deployment, args));
  return true;
}

const WHAT_FOLLOWS =
  "The next `pulumi up` creates the object again. If the interrupted creation made an object, delete it in the service.";

const UNKNOWN_ORGANIZATION =
  "\nIf the stack belongs to an organization, name it with `--stack <organization>/<project>/<stack>`.";
