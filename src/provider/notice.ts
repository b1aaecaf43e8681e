import type { Journal } from "../journal/journal";
import { isHeld } from "./creation/left-over";
import { isPlaceholder, type Pending, pendingOf } from "./creation/pending";
import { diff } from "./diff";
import type { Difference, Properties } from "./host";
import type { Kind } from "./kind";
import type { Memory } from "./memory";
import type { Sessions } from "./session";
import type { EngineLog } from "./shown/engine-log";
import { hiddenOf } from "./values/state";

/**
 * What a check tells this process about a resource.
 *
 * @returns a creation that was cut off, where the create that follows will go on with it
 */
export async function noticeCheck(
  kind: Kind,
  sessions: Sessions,
  log: EngineLog,
  { olds, news }: { olds: Properties; news: Properties },
): Promise<Pick<Pending, "key" | "at"> | undefined> {
  const { __urn: urn, profile } = hiddenOf(news);
  if (urn === undefined) return undefined;
  const { journal, memory } = at(sessions, profile);
  const { __key: key } = hiddenOf(olds);
  const exists = Object.keys(olds).length > 0;
  memory.checked(urn, exists ? { key } : undefined);
  const entry = await journal?.read(urn);
  if (exists) {
    if (entry !== undefined && entry.key === key) await journal?.remove(urn, key);
    return undefined;
  }
  const { placeholder, id } = memory.of(urn);
  const { __import: imported } = hiddenOf(news);
  if (imported !== undefined && imported !== id) {
    await log.row(urn).write(`takes over ${kind.name} ${imported}; nothing is made`);
  }
  const left = entry !== undefined && !isHeld(entry, memory.of(urn)) ? entry : undefined;
  return (left?.at ?? 0) > (placeholder?.at ?? 0) || placeholder?.key === undefined ? left : placeholder;
}

/** A difference with what was cut off taken into account: a change that create, update or delete then settles. */
export async function noticeDiff(
  kind: Kind,
  sessions: Sessions,
  log: EngineLog,
  { id, olds, news }: { id: string; olds: Properties; news: Properties },
): Promise<Difference> {
  const { __urn: urn, profile } = hiddenOf(news);
  const { journal, memory } = at(sessions, profile);
  const pending = pendingOf(olds);
  const { checkedWithOlds = false } = memory.of(urn); // a refresh asks for differences, too, the other way round
  const answer = await judged();
  memory.diffed(urn, id, pending, answer.replaces.length > 0, hiddenOf(olds).__endpoint);
  return answer;

  async function judged(): Promise<Difference> {
    // Created before the placeholder is deleted: the other order would lose the object where the hand-over itself is cut off.
    const anew: Difference = { changes: true, replaces: ["__pending"], deleteBeforeReplace: false };
    if (isPlaceholder(id)) {
      await log.row(urn).write("its creation goes on; nothing is replaced");
      return anew;
    }
    if (pending?.failed) return anew;
    const plainly = diff(kind.fields, olds, news);
    // The host can't mark the properties that make a replacement necessary.
    if (plainly.replaces.length > 0 && checkedWithOlds)
      await log.row(urn).write(`is replaced: ${plainly.replaces.join(", ")} can't be changed in place`);
    if (plainly.changes !== false || urn === undefined) return plainly;
    // A creation that goes on, of which the engine knows nothing any more after a refresh.
    if (pending?.key !== undefined) return { ...plainly, changes: true };
    const entry = await journal?.read(urn);
    const { __key: key } = hiddenOf(olds);
    const isLeft = entry !== undefined && !isHeld(entry, { key, id, operation: pending?.operation?.id });
    return isLeft ? { ...plainly, changes: true } : plainly;
  }
}

/** What check and diff have of a profile: without settings no journal. */
function at(
  sessions: Sessions,
  profile: string | undefined,
): { readonly journal: Journal | undefined; readonly memory: Memory } {
  return sessions.ifSet(profile) ?? { journal: undefined, memory: sessions.memory };
}
