import { type Entry, visibleId } from "../../journal/entry";
import type { CreationPurpose, Journal, NewEntry } from "../../journal/journal";
import { stackOf } from "../../journal/location";
import { shellWord } from "../command";
import type { RecoverArgs } from "./args";
import { type InterruptedCreation, type PendingCreations, placeholderKeys } from "./creations";
import type { Deployment } from "./export";
import { organizationOf } from "./stored-settings";

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

/**
 * Describes the journal entries of this stack whose objects the state has, or whose resources it doesn't have, and what to do about each. Only the
 * program can tell whether it still declares them.
 */
export async function findStrayEntries(journal: Journal, deployment: Deployment): Promise<string[]> {
  const pending = deployment.pending_operations.map(({ resource }) => resource);
  const known = [...deployment.resources, ...pending].map(({ urn }) => urn);
  const stack = known[0] && stackOf(known[0]);
  // Another resource may have imported the object.
  const isHeld = (entry: Entry): boolean =>
    deployment.resources.some(
      ({ id, type }) => id !== undefined && id === entry.id && entry.urn.split("::")[2]?.endsWith(type),
    );
  // An empty state doesn't name its stack, and the entries of other stacks are none of its business.
  const own = (await journal.list()).filter(({ urn }) => stackOf(urn) === stack);
  return own.flatMap((entry) => {
    const [urn, id] = [entry.urn, visibleId(entry)];
    if (isHeld(entry))
      return `journal entry for an object that the stack has${id === undefined ? "" : ` (${id})`}: keep the object\n  ${urn}`;
    if (known.includes(urn)) return [];
    return (
      `journal entry for a resource that the state doesn't have${id === undefined ? "" : ` (object ${id})`}\n` +
      "If your program still declares the resource, `pulumi up` resumes the creation. Otherwise, delete the object in the service " +
      `if it exists, and remove the entry:\n  npx pulumi-cloudinfra recover --forget ${shellWord(urn)}`
    );
  });
}

/**
 * Explains how to clear Pulumi's list of pending operations. Pulumi keeps creations in the list even after an `up` has resumed them, so
 * they would be found again once the state no longer holds their resources. With the stack itself as the target, nothing is refreshed.
 */
export function clearPendingHint(
  { resources }: Deployment,
  { cwd, stack, forget }: Pick<RecoverArgs, "cwd" | "stack" | "forget">,
): string {
  const urn = resources.find(({ type }) => type === "pulumi:pulumi:Stack")?.urn;
  const options = [
    ...(urn === undefined ? [] : [`--target '${urn}'`]),
    ...(stack === undefined ? [] : [`--stack ${shellWord(stack)}`]),
    ...(cwd === "." ? [] : [`--cwd ${shellWord(cwd)}`]),
  ];
  const when =
    forget === undefined
      ? [
          "Pulumi keeps these creations in its list of pending operations. After the next successful `pulumi up`, clear the list, or they",
          "may be found again. If the list has creations of other packages too, settle those first.",
        ]
      : [
          "Pulumi keeps the creation in its list of pending operations. Clear the list before you run `recover` again, or it is found again.",
          "If the list has other creations too, settle those first.",
        ];
  return [
    ...when,
    `  ${["pulumi refresh --yes --skip-preview --clear-pending-creates", ...options].join(" ")}`,
  ].join("\n");
}
