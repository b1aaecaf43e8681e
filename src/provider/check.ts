import * as v from "valibot";
import { comparableEndpoint } from "../api/endpoint";
import type { Entry } from "../journal/entry";
import type { CreationPurpose, Journal } from "../journal/journal";
import { stackOf } from "../journal/location";
import { changedFields, optionsOf } from "../model/changes";
import { withRecordedForm } from "../model/equality";
import type { Kind } from "../model/kinds";
import { generatedNameInputs, nameFailures } from "../model/names";
import { sentFields } from "../model/pending";
import { secretsOf } from "../model/secrets";
import {
  currentValuesOf,
  type Hidden,
  hiddenInputs,
  hiddenOf,
  type Properties,
  resourceName,
  toPlainJson,
} from "../model/state";
import { isUnknown } from "../model/unknown";
import { parseDuration } from "../polling/clock";
import { nameOfProvider } from "./context";
import { needsReplacement } from "./create/completion";
import { isRecordedInState, possiblePurposes } from "./create/unfinished";
import type { CheckFailure } from "./host";
import { alreadyManaged, claimForImport } from "./live-objects";
import type { EngineLog } from "./progress/engine-log";
import type { Sessions } from "./session";
import type { ResourceTracker } from "./tracker";

/**
 * Checks a resource: records it for the calls that follow, finds an unfinished creation of it, and checks its inputs.
 *
 * @param olds the inputs in the state; empty for a resource that is about to be created
 * @param news the inputs of the program
 */
export async function checkResource(
  kind: Kind,
  sessions: Sessions,
  log: EngineLog,
  { olds, news }: { olds: Properties; news: Properties },
): Promise<{ inputs: Properties; failures: CheckFailure[] }> {
  const findings = await recordAndInspectCheck(kind, sessions, log, { olds, news });
  const { inputs, failures } = check(kind, olds, news, findings);
  const { __key: key } = hiddenOf(inputs);
  const __autonamed = news.name === undefined || undefined;
  if (key !== undefined && !isUnknown(key))
    sessions.tracker.recordProgramValues(key, { ...currentValuesOf(news), __autonamed }, optionsOf(news));
  return { inputs: toPlainJson(inputs), failures };
}

/**
 * Checks a resource's inputs without asking the service. What is not known yet is let through wherever it stands. The
 * words name the property, and never its value, which may be a secret.
 *
 * @param noticed an unfinished creation of this resource, whose first key and generated name it keeps; and what prevents its management
 */
export function check(
  kind: Kind,
  olds: Properties,
  program: Properties,
  { left, failure }: CheckFindings = {},
): { inputs: Properties; failures: CheckFailure[] } {
  const exists = hiddenOf(olds).__key !== undefined;
  // Only this process needs these: they have no place in the state.
  const { __aliasUrns, __ignoreChanges, __replaceOnChanges, __retainOnDelete, ...given } = program;
  const news = left === undefined ? given : { ...given, __key: left.named.__key, __keyAt: left.at };
  const namedBefore = left?.named ?? olds;
  const named = { ...news, ...generatedNameInputs(kind, namedBefore, news) };
  const args = Object.fromEntries(Object.entries(news).filter(([key]) => !key.startsWith("__")));
  const parsed = v.safeParse(kind.arguments, args, { abortPipeEarly: true });
  const wrong = parsed.success ? [] : parsed.issues.map((issue) => formatIssue(issue, secretsOf(news).names));
  const failures = [
    ...new Set([
      ...(failure === undefined ? [] : [failure]),
      ...wrong,
      ...unknownArgumentFailures(kind, args),
      ...timeoutFailures(news),
      ...(exists ? [] : missingImportName(hiddenOf(news), args)),
      ...nameFailures(namedBefore, news),
    ]),
  ];
  return {
    inputs: exists ? withRecordedHiddenInputs(kind, olds, named) : named,
    failures: failures.map((reason) => ({ property: "", reason })),
  };
}

/**
 * A resource's key stays the first one. What else is hidden stays as it was where an argument differs, beside which a difference
 * in it would be shown, and else is what the program says now.
 */
function withRecordedHiddenInputs({ fields }: Kind, olds: Properties, news: Properties): Properties {
  const { __key, __keyAt, __import, __autonamed, ...others } = hiddenInputs(olds);
  const isShown = changedFields(fields, olds, news).length > 0;
  const spelt = withRecordedForm(fields, olds, news);
  return {
    ...spelt,
    __key,
    __keyAt,
    __import,
    __autonamed: __autonamed ?? news.__autonamed,
    ...(isShown && others),
  };
}

function missingImportName({ __import: id }: Hidden, { name }: Properties): string[] {
  const text = "name: is required with the `import` option: give the one that the object has";
  return id !== undefined && name === undefined ? [text] : [];
}

/** Of secret labels not even the keys are told. */
function formatIssue(issue: v.BaseIssue<unknown>, secrets: ReadonlySet<string>): string {
  const [name, ...rest] = (issue.path ?? []).map((item) => item.key);
  const isSecret = secrets.has(String(name));
  const steps = rest.map((key) => (isSecret && typeof key === "string" ? "[secret]" : pathStep(key)));
  const path = `${name}${steps.join("")}`;
  return issue.input === undefined ? `${path}: is required` : `${path}: ${issue.message}`;
}

function pathStep(key: unknown): string {
  if (typeof key === "number") return `[${key}]`;
  return /^\w+$/.test(String(key)) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function unknownArgumentFailures(kind: Kind, args: Properties): string[] {
  const known = kind.fields.map((field) => field.name);
  return Object.keys(args)
    .filter((name) => !known.includes(name))
    .map((name) => `${name}: is no argument of ${kind.article} ${kind.name}; these are: ${known.join(", ")}`);
}

function timeoutFailures(news: Properties): string[] {
  return Object.entries(hiddenOf(news).__timeouts ?? {})
    .filter(([, text]) => text !== undefined && !isUnknown(text) && parseDuration(text) === undefined)
    .map(([key]) => `customTimeouts.${key}: must be a duration such as "90s", "10m" or "1h30m"`);
}

/** What a check needs to know beside the inputs. */
interface CheckFindings {
  /** The unfinished creation that the create that follows resumes: the resource's key and name, and when the creation began. */
  readonly left?: { readonly named: Properties; readonly at: number | undefined } | undefined;
  /** Why the resource can't be managed as the state has it. */
  readonly failure?: string;
}

/** Records a check, removes a journal entry that the prior inputs settle, and finds an unfinished creation. */
async function recordAndInspectCheck(
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
  const { journal, tracker } = sessions;
  if (!tracker.isPreview) await journal?.run.add({ hasProgram: true });
  await moveFormerEntries(sessions, urn);
  const exists = Object.keys(olds).length > 0;
  const { __retainOnDelete: isRetained = false, __aliasUrns: formerUrns } = hidden;
  const { __key: heldKey, __keyAt: keyAt, __import: importedBefore } = hiddenOf(olds);
  tracker.recordRetained(isRetained, { urn, key: heldKey, formerUrns });
  if (exists) {
    const named = { ...news, ...generatedNameInputs(kind, olds, news) };
    const isChanged = changedFields(kind.fields, olds, named).length > 0;
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
    const object = sessions.identityOf(kind, imported);
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
