import { CloudInfraError } from "../diagnostics/error";
import { changedFields, withIgnoredValues, withReplaceOnChanges } from "../model/changes";
import { type Arguments, type Field, unknownArguments } from "../model/fields";
import { identityKey, type Kind } from "../model/kinds";
import { isPlaceholder } from "../model/pending";
import {
  type Desired,
  type DesiredArguments,
  type HiddenInputs,
  propertyOf,
  type Recorded,
} from "../model/state";
import { argumentsOf, requireRecordedEndpoint } from "./context";
import { needsReplacement } from "./create/completion";
import { isRecordedInState, possiblePurposes } from "./create/unfinished";
import { alreadyManaged, findOtherHolder, isLiveElsewhere } from "./live-objects";
import type { EngineLog } from "./progress/engine-log";
import type { Sessions } from "./session";

/** What the engine does because of a diff. */
export interface DiffResult {
  /** `undefined` lets the engine compare, so that it shows each property and honours its own options. */
  changes: boolean | undefined;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

/** Compares the state with the program, and takes unfinished work into account: create, update or delete then finishes it. */
export async function diffResource(
  kind: Kind,
  sessions: Sessions,
  log: EngineLog,
  { id, olds, news }: { id: string; olds: Recorded; news: Desired },
): Promise<DiffResult> {
  const { urn } = news;
  const { key, importId: importedBefore, endpoint, isResumed } = olds;
  const { journal, tracker } = sessions;
  const pending = olds.pending;
  const { checkedWithOlds = false, isChanged, imported, retried } = tracker.get(urn); // a refresh compares, too, in the other direction
  const isNewImport = checkedWithOlds && imported !== undefined && imported !== importedBefore;
  if (isNewImport && imported !== id && !isPlaceholder(id)) throw otherImport(kind, id, imported);
  const object = sessions.identityOf(kind, id);
  const other =
    checkedWithOlds && urn !== undefined ? findOtherHolder(tracker, object, { urn, key }) : undefined;
  if (other !== undefined) throw alreadyManaged(kind, id, other);
  const isDecided = checkedWithOlds && !tracker.isPreview;
  if (isDecided && (await isLiveElsewhere(journal, object))) throw alreadyManaged(kind, id);
  if (retried !== undefined && (retried.id === id || retried.key === pending?.key))
    await journal?.remove(retried.key);
  const answer = await judged();
  // With create before delete, the replacement would exist before the deletion of the old object fails.
  const session = sessions.openIfConfigured();
  if (checkedWithOlds && answer.changes !== false && session !== undefined && !isPlaceholder(id))
    requireRecordedEndpoint({ kind, session }, id, olds);
  const replaces = answer.replaces.length > 0;
  tracker.recordDiff(urn, object, { pending, replaces, at: endpoint, key, importedBefore });
  // Another process may be about to delete another record of the object, or to adopt it.
  if (isDecided && !replaces) await journal?.run.add({ live: identityKey(object) });
  return answer;

  async function judged(): Promise<DiffResult> {
    const options = tracker.optionsOf(key);
    // The dependents of a resource that is deleted before its replacement get a diff without a check. It is about what becomes unknown: their
    // inputs may differ from the object because of `ignoreChanges`, which no check has reported.
    const given =
      checkedWithOlds || tracker.isRefreshed(object) ? news : withPriorArguments(kind, olds, news);
    const wanted = withIgnoredValues(kind.fields, options.ignoreChanges ?? [], { olds, news: given });
    const plainly = diff(
      withReplaceOnChanges(kind.fields, options.replaceOnChanges, { olds, news: wanted }),
      olds,
      wanted,
    );
    if (pending?.failed) return { ...plainly, changes: true, replaces: ["__pending"] };
    const isGivenUp =
      isPlaceholder(id) && pending?.key !== undefined && (await journal?.isGivenUp(pending.key));
    if (isGivenUp) {
      await log.statusLogFor(urn).write(`its creation was given up; another ${kind.name} is created`);
      return { changes: true, replaces: ["__pending"], deleteBeforeReplace: false };
    }
    if (isPlaceholder(id)) {
      const isReplaced = pending !== undefined && needsReplacement(kind, pending, news, options);
      const fit = isReplaced ? "its object doesn't fit and is replaced" : "nothing is replaced";
      const end = isNewImport ? `then ${kind.name} ${imported} is imported in its place` : fit;
      await log.statusLogFor(urn).write(`its creation is resumed; ${end}`);
      // Created before the placeholder is deleted: in the other order, an interruption between the two would lose the object.
      return { changes: true, replaces: ["__pending"], deleteBeforeReplace: false };
    }
    const { replaces: fixed } = diff(kind.fields, olds, wanted);
    // The host can't mark the properties that require the replacement.
    if (fixed.length > 0 && checkedWithOlds)
      await log.statusLogFor(urn).write(`is replaced: ${fixed.join(", ")} can't be changed in place`);
    const mayBeUnseen = checkedWithOlds && !isChanged && (isResumed || pending?.key !== undefined);
    // The engine's inputs may be those of the program already: after a failed update, it doesn't see that `replaceOnChanges` applies; after a
    // resumed creation, that `ignoreChanges` no longer does; and after one that timed out again, that its request had other arguments.
    const isUnseen = mayBeUnseen && plainly.changes !== false;
    if (plainly.replaces.length > fixed.length || isUnseen) return { ...plainly, changes: true };
    if (plainly.changes !== false || urn === undefined) return plainly;
    // After a refresh, the engine does not know that a creation or an update is unfinished.
    if (pending !== undefined) return { ...plainly, changes: true };
    for (const purpose of possiblePurposes(urn, key).filter(
      ({ replaces }) => checkedWithOlds || replaces !== undefined,
    )) {
      const entry = await journal?.read(purpose);
      if (entry !== undefined && !isRecordedInState(entry, { key, id })) return { ...plainly, changes: true };
    }
    // Without an update, the engine would keep the outputs that are in the clear.
    const secret = checkedWithOlds ? newlySecret(olds, news) : [];
    if (secret.length > 0) {
      await log
        .statusLogFor(urn)
        .write(`becomes secret in the state: ${secret.join(", ")}; nothing else is changed`);
      return { ...plainly, changes: true };
    }
    return plainly;
  }
}

/** Returns the inputs with the arguments of the state in place of all that are known. */
function withPriorArguments(kind: Kind, olds: Recorded, news: Desired): Desired {
  const { isAutonamed } = olds;
  return { ...news, isAutonamed, ...argumentsOf({ kind }, olds), ...unknownArguments(kind.fields, news) };
}

function otherImport({ name }: Kind, id: string, imported: string): CloudInfraError {
  return new CloudInfraError(
    "import_differs",
    `the resource manages ${name} ${id}, but its \`import\` option names ${imported}: nothing was changed`,
    {
      hint:
        `Remove the \`import\` option to keep ${id}. To manage ${imported} instead, take ${id} out of the state with ` +
        "`pulumi state delete <urn>`, and run `pulumi up` again",
    },
  );
}

/** Names of the arguments that the program marks as secret, while the state has them, and what is derived from them, in the clear. */
function newlySecret(olds: Recorded, news: Desired): string[] {
  const { secrets: before = [], formerSecrets: sealed = [] } = olds;
  const { secrets: now = [] } = news;
  return now.filter((name) => propertyOf(olds, name) !== undefined && ![...before, ...sealed].includes(name));
}

/**
 * What the engine would have to do. Hidden inputs never make a difference; a name that the program gave may have to be
 * unique, so its resource is deleted before it is made anew.
 */
export function diff(
  fields: readonly Field[],
  olds: Arguments,
  news: Arguments & DesiredArguments & Pick<HiddenInputs, "isAutonamed">,
): DiffResult {
  const changed = changedFields(fields, olds, news);
  return {
    changes: changed.length > 0 ? undefined : false,
    replaces: changed.filter((field) => field.change === "replace").map((field) => field.name),
    deleteBeforeReplace: news.isAutonamed !== true,
  };
}
