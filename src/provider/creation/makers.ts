import type { ApiObject } from "../../api/client";
import type { Entry } from "../../journal/entry";
import { isTerminal } from "../../operations/operation";
import type { Context } from "../call";
import { isUrnOf } from "../kind";
import { fetchOperation } from "./being-made";
import { markFinished } from "./left-over";

/** An unfinished creation that has made an object which `import` names, or that may have made it. */
export interface PossibleCreator {
  readonly key: string;
  readonly isCertain: boolean;
}

/** Returns the unfinished creations, of this or of another resource, that have made an object which `import` names, or may have made it. */
export async function findPossibleCreators(context: Context, { id }: ApiObject): Promise<PossibleCreator[]> {
  const makers: PossibleCreator[] = [];
  for (const entry of await context.session.journal.list()) {
    if (!isUrnOf(context.kind, entry.urn)) continue;
    const made = entry.id ?? (await createdBy(context, entry));
    if (made === id || made === undefined) makers.push({ key: entry.key, isCertain: made === id });
  }
  return makers;
}

/** Returns the id of the object that a creation has made, if its operation tells: one that still runs may name another object in the end. */
async function createdBy(context: Context, { operation }: Entry): Promise<string | undefined> {
  // The import doesn't fail because of another resource's operation: the object is then treated as one that it may have made.
  const seen = operation && (await fetchOperation(context, operation).catch(() => undefined));
  return seen && isTerminal(seen) ? context.session.client.resultId(seen) : undefined;
}

/** Once the state has an object, no unfinished creation may delete it or adopt it as its own (I3). */
export async function releaseObject(
  makers: readonly PossibleCreator[],
  context: Context,
  { id }: ApiObject,
): Promise<void> {
  const { journal } = context.session;
  for (const { key, isCertain } of makers) {
    if (isCertain) {
      // A check of the creation's resource may have taken the key over: it would lead to the imported object.
      await markFinished(context, { key });
      await journal.remove(key);
    } else await journal.extend(key, { imported: [id] });
  }
}
