import type { ApiObject } from "../../api/client";
import { isCloudInfraError, withDetails } from "../../diagnostics/error";
import type { Entry } from "../../journal/entry";
import type { For } from "../../journal/journal";
import { type Call, requireRecordedEndpoint } from "../call";
import type { Properties } from "../host";
import { isLive } from "../live";
import type { Seen } from "../memory";
import { removeObject } from "../removal";
import { hiddenOf } from "../values/state";
import { carryOut } from "./carry-out";
import { advice, ifRejected, PartialState } from "./partial";
import { type Pending, pendingOf, placeholderId, sentFields } from "./pending";
import { nextKey } from "./post";
import { warnOfLeftAlone, warnOfLost } from "./unclear";

/** A creation that an earlier run has not finished, and what proves whose its object is. */
export interface Unfinished extends Pending {
  /** Whether the state of this stack records the creation. */
  readonly isInState: boolean;
  /** Id of the object, if it was reported to the engine. */
  readonly id?: string | undefined;
  /** Key of the resource that the creation replaces. */
  readonly replaces?: string | undefined;
  /** Whether the user may have kept the object on purpose, with `retainOnDelete` for example. */
  readonly isLate?: boolean;
}

/**
 * @param keyAt when the key was made that the state holds for the URN. An earlier creation under that URN was another resource's: another
 * machine may have finished it since, and the program may have renamed or released that resource
 */
function ofEntry(entry: Entry, keyAt = 0): Unfinished {
  const isLate = entry.isLate === true || (entry.replaces === undefined && entry.at < keyAt);
  return { ...entry, isInState: false, isLate };
}

/**
 * What an unfinished creation of a resource that exists may be for: to replace it; or, because `--replace` and taint don't tell the
 * provider that it exists, to create it.
 */
export function purposesOf(urn: string, key: string | undefined): For[] {
  return [...(key === undefined ? [] : [{ urn, replaces: key }]), { urn }];
}

/** Whether an entry of the journal is about what the state already holds. */
export function isHeld({ key, id, operation }: Entry, seen: Seen): boolean {
  return [
    [key, seen.key],
    [id, seen.id],
    [operation?.id, seen.operation],
  ].some(([one, other]) => one !== undefined && one === other);
}

/**
 * Whether the object of an unfinished creation may be deleted (I3): the state records the creation; or nothing else may have the object, and it
 * was never reported to the engine, or the state still holds what the creation replaces, so the engine never saved it.
 */
function mayDelete({ session }: Call, { isInState, id, replaces, isLate = false }: Unfinished): boolean {
  return (
    isInState ||
    (!isLate && (id === undefined || (replaces !== undefined && session.memory.isCurrent(replaces))))
  );
}

/**
 * Returns the unfinished creation of a resource that is about to be created, from the state or from the journal. If there are two,
 * the later one counts, and the other is settled (C1).
 */
export async function leftOverOf(call: Call, inputs: Properties): Promise<Unfinished | undefined> {
  const { session } = call;
  const { __urn: urn } = hiddenOf(inputs);
  if (urn === undefined) return undefined;
  const seen = session.memory.of(urn);
  const { placeholderAt, resumes = { urn, replaces: seen.key } } = seen;
  const placeholder = (await isOver(call, seen.placeholder ?? {}))
    ? undefined
    : seen.placeholder && { ...seen.placeholder, isInState: true };
  if (placeholder !== undefined)
    requireRecordedEndpoint(call, placeholderId(placeholder), { __endpoint: placeholderAt });
  const entry = await session.journal.read(await ownUrn(call, resumes, urn));
  if (entry === undefined || isHeld(entry, seen) || session.memory.claim(entry.key, urn) !== urn)
    return placeholder;
  if (placeholder === undefined) return ofEntry(entry, seen.keyAt);
  if (placeholder.key === entry.key) return { ...placeholder, ...entry };
  if (isRetry(entry, placeholder)) return placeholder;
  const isLater = entry.at >= (placeholder.at ?? 0);
  await settle(call, inputs, isLater ? placeholder : ofEntry(entry, seen.keyAt));
  if (isLater) return ofEntry(entry, seen.keyAt);
  await call.session.journal.remove(entry.key);
  return placeholder;
}

/** Moves an entry that is under a former URN of its resource, because a new resource may have that URN now. */
async function ownUrn({ session }: Call, purpose: For, urn: string): Promise<For> {
  if (purpose.urn === urn) return purpose;
  await session.journal.move(purpose, { urn });
  session.memory.knows(urn, { resumes: { urn } });
  return { urn };
}

/**
 * Whether an entry is about the retry of an unfinished creation that may have failed. `recover` can't know whether its key was ever sent, so
 * it counts only once the creation is known to have failed.
 */
function isRetry({ key, recovered = false }: Entry, { key: first }: Pending): boolean {
  return recovered && first !== undefined && key === nextKey(first);
}

/** Returns the retry of an unfinished creation, if `recover` has written an entry about it. */
export async function retryOf(
  { session }: Call,
  inputs: Properties,
  left: Unfinished,
): Promise<Unfinished | undefined> {
  const { __urn: urn = "" } = hiddenOf(inputs);
  const { resumes } = session.memory.of(urn);
  const entry = resumes && (await session.journal.read(resumes));
  return entry !== undefined && isRetry(entry, left) ? ofEntry(entry) : undefined;
}

/**
 * Settles the unfinished creations of a resource that exists.
 *
 * @param purposes what they were for: only a call that knows the resource's present URN may give it
 */
export async function settleLeftOver(
  call: Call,
  id: string,
  state: Properties,
  purposes: readonly For[],
): Promise<void> {
  const { journal } = call.session;
  const { __key: key, __keyAt: keyAt } = hiddenOf(state);
  for (const purpose of purposes) {
    const entry = await journal.read(purpose);
    if (entry === undefined || isHeld(entry, { key, id, operation: pendingOf(state)?.operation?.id }))
      continue;
    if (call.session.memory.claim(entry.key, purpose.urn) !== purpose.urn) continue;
    const unfinished = ofEntry(entry, keyAt);
    const inputs = { __urn: purpose.urn, project: state.project };
    await settle(call, inputs, unfinished);
    await journal.remove(entry.key);
  }
}

/**
 * Settles the creation of an entry: waits for its end or resends its request, and deals with its object according to I3.
 *
 * @returns whether it has made an object, or may have
 */
export function settleEntry(call: Call, inputs: Properties, entry: Entry): Promise<boolean> {
  return settle(call, inputs, ofEntry(entry));
}

/**
 * Brings an unfinished creation that nobody wants any longer to its end. Its object is deleted if I3 allows it; otherwise, it is
 * left alone with a warning.
 *
 * @param mayBeLost whether to warn, and not to fail, if the outcome can't be found out
 * @returns whether it has made an object, or may have
 * @throws CloudInfraError, never PartialState: the call is about another resource, whose state stays as it is
 */
export async function settle(
  call: Call,
  inputs: Properties,
  unfinished: Unfinished,
  { mayBeLost = unfinished.isLate === true } = {},
): Promise<boolean> {
  try {
    return await call.progress.during("waiting for the end of an interrupted creation", () =>
      brought(call, inputs, unfinished),
    );
  } catch (error) {
    if (!mayBeLost || !isCloudInfraError(error) || error.code !== "key_expired") throw error;
    await warnOfLost(call, unfinished);
    await settled(call, unfinished); // so that no other call of this run reports it again
    return true;
  }
}

async function brought(call: Call, inputs: Properties, unfinished: Unfinished): Promise<boolean> {
  const end = await carryOut(call, inputs, unfinished, true).catch((error: unknown) => {
    if (!(error instanceof PartialState)) throw error;
    const hint = `${advice(error.why, call.session.settings.provider)}Run the command again: it finishes an interrupted creation whose object is not needed${ifRejected(error.why)}`;
    throw withDetails(error.why, { hint });
  });
  const object = end.kind === "key spent" ? undefined : end.object;
  if (object !== undefined) await discard(call, inputs, object, unfinished);
  await settled(call, unfinished);
  return object !== undefined;
}

/**
 * Deletes the object of a creation that nobody wants any longer, or leaves it alone with a warning: because of I3, or because the program's
 * resource has the option `retainOnDelete`, which the state's record of the creation may lack.
 *
 * @param inputs of the resource whose creation it is
 */
export async function discard(
  call: Call,
  inputs: Properties,
  object: ApiObject,
  unfinished: Unfinished,
): Promise<void> {
  if (unfinished.imported?.includes(object.id)) return;
  const isRetained = call.session.memory.isRetained(hiddenOf(inputs));
  if (!isRetained && mayDelete(call, unfinished))
    await removeObject(call, object.id, sentFields(unfinished).project);
  else if (!(await isLive(call, object.id))) await warnOfLeftAlone(call, object, { isRetained });
}

/** Whether an unfinished creation is to be neither resumed nor settled: this run has done it already, or the user has given the creation up. */
export async function isOver(call: Call, { key }: Pending): Promise<boolean> {
  if (key === undefined) return false;
  const { journal } = call.session;
  if (await journal.run.has({ settled: key })) return true;
  const isGivenUp = await journal.isGivenUp(key);
  if (isGivenUp) await settled(call, { key }); // so that create takes another key
  return isGivenUp;
}

/** Tells all processes of this run that a creation has come to its end. */
export async function settled({ session }: Call, { key }: Pending): Promise<void> {
  if (key !== undefined) await session.journal.run.add({ settled: key });
}
