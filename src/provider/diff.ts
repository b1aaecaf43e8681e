import { CloudInfraError } from "../diagnostics/error";
import type { Entry } from "../journal/entry";
import type { CreationPurpose, Journal } from "../journal/journal";
import { stackOf } from "../journal/location";
import { diff, newlySecret, withIgnoredValues, withReplaceOnChanges } from "../model/changes";
import type { Kind } from "../model/kinds";
import { generatedNameInputs } from "../model/names";
import { isPlaceholder, pendingOf, sentFields } from "../model/pending";
import { type Hidden, hiddenOf, optionsOf, resourceName } from "../model/state";
import { isUnknown, withUnknown } from "../model/unknown";
import { comparableEndpoint, identityKey, nameOfProvider, type ObjectIdentity } from "./context";
import { needsReplacement } from "./create/completion";
import { isRecordedInState, possiblePurposes } from "./create/unfinished";
import type { DiffResult, Properties } from "./host";
import { alreadyManaged, claimForImport, findOtherHolder, isLiveElsewhere } from "./live-objects";
import type { EngineLog } from "./progress/engine-log";
import type { Sessions } from "./session";
import type { ResourceTracker } from "./tracker";

/** What a check needs to know beside the inputs. */
export interface CheckFindings {
  /** The unfinished creation that the create that follows resumes: the resource's key and name, and when the creation began. */
  readonly left?: { readonly named: Properties; readonly at: number | undefined } | undefined;
  /** Why the resource can't be managed as the state has it. */
  readonly failure?: string;
}

/** Records a check, removes a journal entry that the prior inputs settle, and finds an unfinished creation. */
export async function recordAndInspectCheck(
  kind: Kind,
  sessions: Sessions,
  log: EngineLog,
  { olds, news }: { olds: Properties; news: Properties },
): Promise<CheckFindings> {
  const { __urn: urn, ...hidden } = hiddenOf(news);
  if (urn === undefined) return {};
  sessions.tracker.organization = hidden.__organization;
  sessions.tracker.projectFolder = hidden.__projectFolder;
  sessions.tracker.isPreview = isUnknown(news.__key);
  const { journal, tracker } = journalAndTracker(sessions);
  await moveFormerEntries(sessions, urn);
  const exists = Object.keys(olds).length > 0;
  const { __retainOnDelete: isRetained = false, __aliasUrns: formerUrns } = hidden;
  const { __key: heldKey, __keyAt: keyAt, __import: importedBefore } = hiddenOf(olds);
  tracker.recordRetained(isRetained, { urn, key: heldKey, formerUrns });
  if (exists) {
    const named = { ...news, ...generatedNameInputs(kind, olds, news) };
    const isChanged = diff(kind.fields, olds, named).changes !== false;
    const imports = { imported: hidden.__import, importedBefore };
    const other = tracker.recordCheck(urn, { key: heldKey, keyAt, isChanged, ...imports });
    if (heldKey === undefined) return {};
    const entry = await journal?.find(heldKey);
    if (entry?.key === heldKey) await journal?.remove(heldKey);
    else tracker.extend(urn, { retried: entry });
    const isHeldElsewhere = other !== undefined || (await journal?.run.hasOther({ settled: heldKey }));
    return isHeldElsewhere ? { failure: sameObjectTwice(kind, other) } : {};
  }
  const { key, placeholder } = tracker.get(urn);
  for (const live of tracker.recordCheckBeforeCreate(urn)) await journal?.run.retract({ live });
  tracker.extend(urn, { formerUrns });
  const { __import: imported } = hidden;
  if (imported !== undefined && !tracker.hasImported(urn, imported)) {
    const object = objectOf(kind, sessions, imported);
    const holder = claimForImport(tracker, object, urn);
    const taken = holder === urn ? undefined : alreadyManaged(kind, imported, holder);
    if (taken !== undefined) return { failure: `import: ${taken.message}. ${taken.hint}` };
    await log.statusLogFor(urn).write(`adopts ${kind.name} ${imported}; nothing is created`);
  }
  const entry = await unfinishedEntry(journal, tracker, { urn, replaces: key, aliases: hidden.__aliasUrns });
  const now = { endpoint: journal?.endpoint, provider: sessions.provider };
  if (entry !== undefined && (entry.endpoint !== now.endpoint || entry.provider !== now.provider))
    return { failure: unfinishedElsewhere(kind, entry, now) };
  const isLater = (entry?.at ?? 0) > (placeholder?.at ?? 0) || placeholder?.key === undefined;
  const first = isLater ? entry?.resource : (key ?? placeholder?.key);
  const unfinished = isLater ? entry : placeholder;
  if (first === undefined || unfinished === undefined) return {};
  if (key !== undefined) {
    tracker.recordHandover(key);
    await journal?.run.add({ replacing: key });
  }
  const named = { __key: first, __autonamed: unfinished.isAutonamed, name: sentFields(unfinished).name };
  // The object may be another resource's, which then has this key, or it is retained, and keeps this name. It isn't adopted.
  const wanted = { ...news, ...generatedNameInputs(kind, named, news) };
  const isKept = (isLater && entry?.id !== undefined) || hidden.__retainOnDelete;
  if (isKept && needsReplacement(kind, unfinished, wanted, optionsOf(news))) return {};
  return { left: { named, at: unfinished.at } };
}

/** After a move of the service, the entries of interrupted creations are at its former address. */
async function moveFormerEntries(sessions: Sessions, urn: string): Promise<void> {
  const { settings, journal } = sessions.openIfConfigured() ?? {};
  if (settings === undefined || settings.formerEndpoints.length === 0) return;
  const former = settings.formerEndpoints.map(comparableEndpoint);
  await journal?.moveFormerEndpoints(
    stackOf(urn),
    ({ endpoint, provider }) =>
      former.includes(comparableEndpoint(endpoint)) && provider === settings.provider,
  );
}

/**
 * Reads the journal entry for a resource that is about to be created: one that replaces what the state holds, or one that began under the
 * resource's URN or an alias of it in this stack (I2). No entry is for two resources.
 */
async function unfinishedEntry(
  journal: Journal | undefined,
  tracker: ResourceTracker,
  { urn, replaces, aliases = [] }: CreationPurpose & { aliases: Hidden["__aliasUrns"] },
): Promise<Entry | undefined> {
  const others = await formerPurposes(journal, tracker, { urn, replaces, aliases });
  for (const purpose of [...possiblePurposes(urn, replaces), ...others]) {
    const entry = await journal?.read(purpose);
    if (entry === undefined || isRecordedInState(entry, tracker.get(urn))) continue;
    const owner = tracker.claim(entry.key, urn);
    if (owner !== urn) {
      if (purpose.urn === urn && purpose.replaces === undefined)
        tracker.extend(urn, { displaces: { purpose, to: owner } });
      continue;
    }
    tracker.extend(urn, { resumes: purpose });
    return entry;
  }
  return undefined;
}

/**
 * What an unfinished creation may be for, beside the resource's own URN: the same at another endpoint; and if the state doesn't hold the
 * resource, a former URN, or to replace what has left the state since, because the program no longer declared it or a refresh didn't find it.
 */
async function formerPurposes(
  journal: Journal | undefined,
  tracker: ResourceTracker,
  { urn, replaces: current, aliases }: CreationPurpose & { aliases: readonly string[] },
): Promise<CreationPurpose[]> {
  const earlier = (await journal?.entriesAtStart()) ?? [];
  const isNew = current === undefined;
  const urns = isNew ? [urn, ...aliases] : [urn];
  const others = earlier.filter(({ urn: one, replaces, endpoint }) => {
    const isOurs = replaces === undefined ? urns.includes(one) : replaces === current;
    const isOrphan = isNew && replaces !== undefined && urns.includes(one) && !tracker.isCurrent(replaces);
    return isOrphan || (isOurs && endpoint !== journal?.endpoint);
  });
  return [
    ...(isNew ? aliases.map((alias) => ({ urn: alias })) : []),
    ...others.toReversed().map(({ urn: one, replaces, endpoint }) => ({ urn: one, replaces, endpoint })),
  ];
}

/** Another service, or another account of this one, may have the object. */
function unfinishedElsewhere(
  { name }: Kind,
  { urn, endpoint, provider }: Entry,
  now: { readonly endpoint: string | undefined; readonly provider: string | undefined },
): string {
  const moved =
    endpoint === now.endpoint
      ? ""
      : "If the service itself has moved, list its old address in `formerEndpoints`. ";
  return (
    `an interrupted creation of this ${name} with ${nameOfProvider(provider)} at ${endpoint} is unfinished, and may have made an object ` +
    `there, but now it would be created with ${nameOfProvider(now.provider)} at ${now.endpoint}: nothing is created. Change this back, ` +
    `and run \`pulumi up\`, which finishes that creation. ${moved}If you no longer want that object, delete it there if it exists. ` +
    `Then run \`npx pulumi-cloudinfra recover --forget '${urn}'\``
  );
}

function sameObjectTwice({ name }: Kind, other: string | undefined): string {
  const holder = other === undefined ? "another resource" : `"${resourceName({ __urn: other })}"`;
  return (
    `${holder} and this resource have the same ${name}. If this resource has an alias of the other one, correct the alias. ` +
    "If the state records both, remove one of them with `pulumi state delete <urn>`. Then run `pulumi up` again"
  );
}

/** Compares the state with the program, and takes unfinished work into account: create, update or delete then finishes it. */
export async function diffResource(
  kind: Kind,
  sessions: Sessions,
  log: EngineLog,
  { id, olds, news }: { id: string; olds: Properties; news: Properties },
): Promise<DiffResult> {
  const { __urn: urn } = hiddenOf(news);
  const { __key: key, __import: importedBefore, __endpoint: endpoint, __resumed: isResumed } = hiddenOf(olds);
  const { journal, tracker } = journalAndTracker(sessions);
  const pending = pendingOf(olds);
  const { checkedWithOlds = false, isChanged, imported, retried } = tracker.get(urn); // a refresh compares, too, in the other direction
  const isNewImport = checkedWithOlds && imported !== undefined && imported !== importedBefore;
  if (isNewImport && imported !== id && !isPlaceholder(id)) throw otherImport(kind, id, imported);
  const object = objectOf(kind, sessions, id);
  const other =
    checkedWithOlds && urn !== undefined ? findOtherHolder(tracker, object, { urn, key }) : undefined;
  if (other !== undefined) throw alreadyManaged(kind, id, other);
  const isDecided = checkedWithOlds && !tracker.isPreview;
  if (isDecided && (await isLiveElsewhere(journal, object))) throw alreadyManaged(kind, id);
  if (retried !== undefined && (retried.id === id || retried.key === pending?.key))
    await journal?.remove(retried.key);
  const answer = await judged();
  const replaces = answer.replaces.length > 0;
  tracker.recordDiff(urn, object, { pending, replaces, at: endpoint, key, importedBefore });
  // Another process may be about to delete another record of the object, or to adopt it.
  if (isDecided && !replaces) await journal?.run.add({ live: identityKey(object) });
  return answer;

  async function judged(): Promise<DiffResult> {
    const options = tracker.optionsOf(key);
    // The dependents of a resource that is deleted before its replacement get a diff without a check. It is about what becomes unknown: their
    // inputs may differ from the object because of `ignoreChanges`, which no check has reported.
    const given = checkedWithOlds || tracker.isRefreshed(object) ? news : withUnknown(olds, news);
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

/** Identifies an object. Without settings, its endpoint isn't known. */
function objectOf(kind: Kind, sessions: Sessions, id: string): ObjectIdentity {
  return { endpoint: sessions.openIfConfigured()?.client.endpoint ?? "", kind: kind.name, id };
}

/** What check and diff use: without settings, there is no journal. */
function journalAndTracker(sessions: Sessions): {
  readonly journal: Journal | undefined;
  readonly tracker: ResourceTracker;
} {
  return { journal: sessions.openIfConfigured()?.journal, tracker: sessions.tracker };
}
