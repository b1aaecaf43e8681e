import type { Entry } from "../../journal/entry";
import type { Journal } from "../../journal/journal";
import { stackOf } from "../../journal/place";
import { summarizeEntry } from "../../journal/unsettled";
import { shellWord } from "../command";
import type { Deployment } from "./deployment";

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
    const { urn, id } = summarizeEntry(entry);
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
