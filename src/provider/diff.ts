import { CloudInfraError } from "../diagnostics/error";
import { changedFields, withIgnoredValues, withReplaceOnChanges } from "../model/changes";
import { isPlaceholder } from "../model/pending";
import { withRemoteForm } from "../model/remote-values";
import { type Arguments, type Field, type Kind, unknownArguments } from "../model/resource-fields";
import {
  type Desired,
  type DesiredArguments,
  type HiddenInputs,
  propertyOf,
  type Recorded,
} from "../model/state";
import { argumentsOf, requireRecordedEndpoint, type Sessions } from "./context";
import { needsReplacement } from "./create/completion";
import { isRecordedInState, possiblePurposes } from "./create/unfinished";
import { addLiveObject, alreadyManaged, findOtherHolder, isLiveElsewhere } from "./object-ownership";
import type { StatusLogs } from "./progress";

/** The result of a diff. */
export interface DiffResult {
  /** Whether the resource has changed. If `undefined`, the engine itself compares the inputs and displays each changed property. */
  changes: boolean | undefined;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

/** Compares the state with the program. Unfinished work is reported as a change, so that the engine calls the provider again. */
export async function diffResource(
  kind: Kind,
  sessions: Sessions,
  log: StatusLogs,
  { id, olds: saved, news }: { id: string; olds: Recorded; news: Desired },
): Promise<DiffResult> {
  const olds = withRemoteForm(kind.fields, saved, news);
  const { urn } = news;
  const { key, importId: importedBefore, pending } = olds;
  const { journal, tracker } = sessions;
  const { checkedWithOlds = false, changed = [], imported, entry } = tracker.get(urn); // a refresh calls diff without a check
  const isNewImport = checkedWithOlds && imported !== undefined && imported !== importedBefore;
  const object = sessions.identityOf(kind, id);
  // With `deleteBeforeReplace`, the engine compares a dependent resource after its deletion, when a new object may already have the same id.
  const isDeleted = tracker.isDeletedResource(key);
  const isInUse = checkedWithOlds && !isDeleted;
  const other = isInUse && urn !== undefined ? findOtherHolder(tracker, object, { urn, key }) : undefined;
  if (other !== undefined) throw alreadyManaged(kind, id, other);
  if (isNewImport && !isPlaceholder(id)) {
    if (imported !== id) {
      const message = `the resource manages ${kind.name} ${id}, but its \`import\` option specifies ${imported}`;
      const hint =
        `Remove the \`import\` option to keep ${id}. To manage ${imported} instead, remove ${id} from the state with ` +
        "`pulumi state delete <urn>`, and run `pulumi up` again";
      throw new CloudInfraError("import_differs", message, { hint });
    }
    // The next create would replace the object.
    if (pending?.failed) {
      const message = `the state records ${kind.name} ${id} as failed, so its \`import\` option has no effect`;
      const hint =
        `To import ${id}, remove it from the state with \`pulumi state delete <urn>\`, and run \`pulumi up\` again. ` +
        `To replace ${id}, remove the \`import\` option`;
      throw new CloudInfraError("import_differs", message, { hint });
    }
  }
  const isDecided = isInUse && !tracker.isPreview;
  // The entry of a placeholder may contain objects that other resources have imported.
  if (entry !== undefined && !isPlaceholder(id)) await journal?.remove(entry.key);
  // After a change of the endpoint, the engine would create a replacement before the deletion of the old object fails. For an unchanged
  // resource, the engine calls nothing but diff.
  const session = sessions.openIfConfigured();
  if (checkedWithOlds && session !== undefined && !isPlaceholder(id))
    requireRecordedEndpoint({ kind, session }, id, olds);
  const answer = await judged();
  const replaces = answer.replaces.length > 0;
  tracker.recordDiff(urn, object, olds, replaces || isDeleted);
  // Another process may otherwise delete or adopt the same object.
  if (isDecided && !replaces && journal !== undefined) await addLiveObject(journal, object, key);
  // Two processes may check the same object. Each process records the object before the check, so one of them finds the other's record.
  if (isDecided && (await isLiveElsewhere(journal, object))) throw alreadyManaged(kind, id);
  return answer;

  async function judged(): Promise<DiffResult> {
    const options = tracker.optionsOf(key);
    const show = (message: string): Promise<void> => log.statusLogFor(urn).write(message);
    // If a resource must be deleted before its replacement is created, the engine calls diff for its dependents without a check. The result
    // determines which properties become unknown. Because of `ignoreChanges`, the inputs of dependents may differ from the object.
    const { isAutonamed } = olds;
    const prior = { isAutonamed, ...argumentsOf({ kind }, olds), ...unknownArguments(kind.fields, news) };
    const given = checkedWithOlds || tracker.isRefreshed(object) ? news : { ...news, ...prior };
    const wanted = withIgnoredValues(kind.fields, options.ignoreChanges ?? [], { olds, news: given });
    const fields = withReplaceOnChanges(kind.fields, options.replaceOnChanges, { olds, news: wanted });
    const plainly = diff(fields, olds, options.keepsName ? { ...wanted, isAutonamed: undefined } : wanted);
    if (pending?.failed) return { ...plainly, changes: true, replaces: ["__pending"] };
    if (isPlaceholder(id) && (await journal?.isMarked(pending?.key, "given-up"))) {
      const next = isNewImport ? `importing ${kind.name} ${imported}` : `creating another ${kind.name}`;
      await show(`${next}: the unfinished creation was given up`);
      return { changes: true, replaces: ["__pending"], deleteBeforeReplace: false };
    }
    if (isPlaceholder(id)) {
      const isReplaced = pending !== undefined && needsReplacement(kind, pending, news, options);
      const isDeleted = await journal?.isMarked(pending?.key, "discarded");
      const fit = isDeleted
        ? "its object is being deleted and is replaced"
        : isReplaced
          ? "its object doesn't match the program and is replaced"
          : "nothing is replaced";
      const end = isNewImport ? `then ${kind.name} ${imported} is imported in its place` : fit;
      await show(`resuming its creation; ${end}`);
      // The placeholder must be deleted after the create, because an interruption between the two steps would otherwise lose the object.
      return { changes: true, replaces: ["__pending"], deleteBeforeReplace: false };
    }
    const different = changedFields(kind.fields, olds, wanted);
    const fixed = different.flatMap(({ name, change }) => (change === "replace" ? name : []));
    // The host can't display which properties require the replacement.
    if (fixed.length > 0 && checkedWithOlds)
      await show(`requires replacement: ${fixed.join(", ")} can't be changed in place`);
    // The recorded inputs may already match the program, so the engine doesn't detect some changes. Examples are `replaceOnChanges` after a
    // failed update, or a removed `ignoreChanges` after an incomplete creation.
    const unseen = different.flatMap(({ name }) => (checkedWithOlds && !changed.includes(name) ? name : []));
    if (unseen.length > 0 && plainly.replaces.length === 0)
      await show(`changing ${unseen.join(", ")}, because the state differs from the program`);
    const isUnseen = changed.length === 0 && unseen.length > 0;
    if (plainly.replaces.length > fixed.length || isUnseen) return { ...plainly, changes: true };
    if (plainly.changes !== false || urn === undefined) return plainly;
    // After a refresh, the engine doesn't detect an unfinished creation or update.
    if (pending !== undefined) return { ...plainly, changes: true };
    for (const purpose of possiblePurposes(urn, key)) {
      if (!checkedWithOlds && purpose.replaces === undefined) continue;
      const found = await journal?.read(purpose);
      if (found !== undefined && !isRecordedInState(found, { key, keyAt: olds.keyAt, id }))
        return { ...plainly, changes: true };
    }
    // Without an update, secret arguments and the outputs that are derived from them would stay in plaintext in the state.
    const known = [...(olds.secrets ?? []), ...(olds.formerSecrets ?? [])];
    const secret = (checkedWithOlds ? (news.secrets ?? []) : []).filter(
      (name) => propertyOf(olds, name) !== undefined && !known.includes(name),
    );
    if (secret.length > 0) {
      await show(`marking as secret in the state: ${secret.join(", ")}; nothing else changes`);
      return { ...plainly, changes: true };
    }
    return plainly;
  }
}

/**
 * Compares the arguments, without hidden inputs. If the program sets the name, the resource is deleted before its replacement is created,
 * because names may have to be unique.
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
