import * as v from "valibot";
import { comparableEndpoint } from "../api/endpoint";
import type { Entry } from "../journal/entry";
import type { CreationPurpose, Journal } from "../journal/journal";
import { stackOf } from "../journal/location";
import { changedFields, mentionsProperty, withRecordedForm } from "../model/changes";
import { generatedName, hasRandomName, keepsName, type NamedInputs, nameFailures } from "../model/names";
import { sentFields } from "../model/pending";
import { isUnknown, type Kind, pathStep } from "../model/resource-fields";
import { secretsOf } from "../model/secrets";
import { type Declared, type Desired, programValuesOf, resourceName, savedInputsOf } from "../model/state";
import { parseDuration } from "../polling/clock";
import { nameOfProvider, type Sessions } from "./context";
import { needsReplacement } from "./create/completion";
import { isRecordedInState, possiblePurposes } from "./create/unfinished";
import { alreadyManaged, claimForImport } from "./object-ownership";
import type { StatusLogs } from "./progress";
import type { ResourceTracker } from "./resource-tracker";

/** The prior inputs and the program's inputs of a check. */
interface CheckedInputs {
  /** The inputs in the state, or `undefined` for a resource that is about to be created. */
  readonly olds: Desired | undefined;
  readonly news: Declared;
}

/** Checks a resource: records the resource for later calls, looks up an unfinished creation, and validates the inputs. */
export async function checkResource(
  kind: Kind,
  sessions: Sessions,
  log: StatusLogs,
  { olds, news }: CheckedInputs,
): Promise<CheckResult> {
  const findings = await recordAndInspectCheck(kind, sessions, log, { olds, news });
  const checked = check(kind, { olds, news }, findings);
  const { key } = checked.inputs;
  // Because of `ignoreChanges`, the engine passes the former name, although a replacement gets a new one.
  const isKept = mentionsProperty(news.ignoreChanges ?? [], "name") && hasRandomName(olds ?? {});
  const isAutonamed = news.given.name === undefined || isKept || undefined;
  const options = { ...news, keepsName: keepsName(kind, olds, news) };
  if (key !== undefined && !isUnknown(key))
    sessions.tracker.recordProgramValues(key, { ...programValuesOf(news), isAutonamed }, options);
  return checked;
}

/** The checked inputs. */
interface CheckResult {
  readonly inputs: Desired;
  /** The reasons why the inputs are invalid. */
  readonly failures: readonly string[];
}

/**
 * Validates the inputs of a resource without sending a request. Unknown values are valid. Messages contain the name of a property but never
 * its value, which may be a secret.
 *
 * @param findings the unfinished creation whose key and generated name the resource keeps, and the reason why the resource can't be managed
 */
export function check(
  kind: Kind,
  { olds, news: declared }: CheckedInputs,
  { unfinished: left, failure }: CheckFindings = {},
): CheckResult {
  const { given } = declared;
  const news = left === undefined ? declared : { ...declared, key: left.named.key, keyAt: left.at };
  const namedBefore = left?.named ?? olds ?? {};
  const named = { ...news, ...generatedName(kind, namedBefore, news) };
  const parsed = v.safeParse(kind.arguments, given, { abortPipeEarly: true });
  const wrong = parsed.success ? [] : parsed.issues.map((issue) => formatIssue(issue, secretsOf(news).names));
  const isNamelessImport = olds?.key === undefined && news.importId !== undefined && given.name === undefined;
  const failures = [
    ...(failure === undefined ? [] : [failure]),
    ...wrong,
    ...unknownArgumentFailures(kind, given),
    ...timeoutFailures(news),
    ...(isNamelessImport ? ["name: is required with the `import` option: set it to the object's name"] : []),
    ...nameFailures(namedBefore, news),
  ];
  const inputs = olds?.key === undefined ? named : withRecordedHiddenInputs(kind, olds, named);
  return { inputs, failures: [...new Set(failures)] };
}

/**
 * Returns the inputs with the resource's original key. If an argument has changed, the other hidden inputs keep their recorded values,
 * because Pulumi would otherwise display their changes. If no argument has changed, the hidden inputs get their current values.
 */
function withRecordedHiddenInputs({ fields }: Kind, olds: Desired, news: Desired): Desired {
  const { key, keyAt, importId, isAutonamed = news.isAutonamed, ...others } = savedInputsOf(olds);
  const isShown = changedFields(fields, olds, news).length > 0;
  const form = withRecordedForm(fields, olds, news);
  return { ...form, key, keyAt, importId, isAutonamed, ...(isShown && others) };
}

/** Formats a validation problem without the keys of secret labels. */
function formatIssue(issue: v.BaseIssue<unknown>, secrets: ReadonlySet<string>): string {
  const [name, ...rest] = (issue.path ?? []).map((item) => item.key);
  const isSecret = secrets.has(String(name));
  const steps = rest.map((key) => (isSecret && typeof key === "string" ? "[secret]" : pathStep(key)));
  const path = `${name}${steps.join("")}`;
  return issue.input === undefined ? `${path}: is required` : `${path}: ${issue.message}`;
}

function unknownArgumentFailures(kind: Kind, args: Declared["given"]): string[] {
  const known = kind.fields.map((field): string => field.name);
  return Object.keys(args)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const similar = known.find((one) => isSimilar(one.toLowerCase(), name.toLowerCase()));
      const hint =
        similar === undefined ? `the arguments are ${known.join(", ")}` : `did you mean "${similar}"?`;
      return `unknown argument "${name}" of ${kind.article} ${kind.name}; ${hint}`;
    });
}

/** Reports whether two names differ only in one character or in two swapped characters. */
function isSimilar(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  let at = 0;
  while (at < short.length && short[at] === long[at]) at++;
  const swapped = `${short.slice(at + 1, at + 2)}${short.slice(at, at + 1)}${short.slice(at + 2)}`;
  return [short.slice(at), short.slice(at + 1)].includes(long.slice(at + 1)) || swapped === long.slice(at);
}

function timeoutFailures(news: Desired): string[] {
  return Object.entries(news.timeouts ?? {})
    .filter(([, text]) => text !== undefined && !isUnknown(text) && parseDuration(text) === undefined)
    .map(([key]) => `customTimeouts.${key}: must be a duration such as "90s", "10m" or "1h30m"`);
}

/** Additional information for the check of a resource. */
interface CheckFindings {
  /** The key and the name of the unfinished creation that create will resume, and the start time of that creation. */
  readonly unfinished?: { readonly named: NamedInputs; readonly at: number | undefined } | undefined;
  /** The reason why the resource can't be managed. */
  readonly failure?: string;
}

/** Records a check, and looks up an unfinished creation. */
async function recordAndInspectCheck(
  kind: Kind,
  sessions: Sessions,
  log: StatusLogs,
  { olds, news }: CheckedInputs,
): Promise<CheckFindings> {
  const { urn, isRetained = false, aliasUrns: formerUrns, importId: imported } = news;
  if (urn === undefined) return {};
  const { journal, tracker } = sessions;
  tracker.organization = news.organization;
  tracker.projectFolder = news.projectFolder;
  tracker.isPreview = isUnknown(news.key);
  if (!tracker.isPreview) await journal?.run.add({ hasProgram: true });
  await moveFormerEntries(sessions, urn);
  const { key: heldKey, keyAt, importId: importedBefore } = olds ?? {};
  tracker.recordRetained(isRetained, { urn, key: heldKey, formerUrns });
  if (olds !== undefined) {
    const named = { ...news, ...generatedName(kind, olds, news) };
    const changed = changedFields(kind.fields, olds, named).map(({ name }) => name);
    const other = tracker.recordCheck(urn, { key: heldKey, keyAt, changed, imported, importedBefore });
    if (heldKey === undefined) return {};
    const entry = await journal?.find(heldKey);
    tracker.extend(urn, { entry });
    if (entry !== undefined) tracker.claim(entry.key, urn, { isManager: true });
    const isHeldElsewhere = other !== undefined || (await journal?.run.hasOther({ finished: heldKey }));
    return isHeldElsewhere ? { failure: sameObjectTwice(kind, other) } : {};
  }
  const { key, placeholder: recorded } = tracker.get(urn);
  const placeholder = (await journal?.isMarked(recorded?.key, "given-up")) ? undefined : recorded;
  for (const live of tracker.recordCheckBeforeCreate(urn)) await journal?.run.retract({ live });
  tracker.extend(urn, { formerUrns });
  if (imported !== undefined && !tracker.hasImported(urn, imported)) {
    const object = sessions.identityOf(kind, imported);
    const holder = claimForImport(tracker, object, urn);
    const taken = holder === urn ? undefined : alreadyManaged(kind, imported, holder);
    if (taken !== undefined) return { failure: `import: ${taken.message}. ${taken.hint}` };
    await log.statusLogFor(urn).write(`adopting ${kind.name} ${imported}`);
  }
  const entry = await unfinishedEntry(journal, tracker, { urn, replaces: key, aliases: formerUrns });
  const now = { endpoint: journal?.endpoint, provider: sessions.provider };
  if (entry !== undefined && (entry.endpoint !== now.endpoint || entry.provider !== now.provider))
    return { failure: unfinishedElsewhere(kind, entry, now) };
  const isLater = (entry?.at ?? 0) > (placeholder?.at ?? 0) || placeholder?.key === undefined;
  const first = isLater ? entry?.resource : (key ?? placeholder?.key);
  const unfinished = isLater ? entry : placeholder;
  if (first === undefined || unfinished === undefined) return {};
  if (key !== undefined) await journal?.run.add({ replacing: key });
  const named = { key: first, isAutonamed: unfinished.isAutonamed, name: sentFields(unfinished).name };
  // If the object would require a replacement, the creation isn't resumed in two cases: another resource may manage the object, or
  // `retainOnDelete` would keep it.
  const wanted = { ...news, ...generatedName(kind, named, news) };
  const isKept = (isLater && entry?.id !== undefined) || isRetained;
  if (isKept && needsReplacement(kind, unfinished, wanted, news)) return {};
  return { unfinished: { named, at: unfinished.at } };
}

/** If the service has moved, assigns the journal entries of interrupted creations to the current endpoint. */
async function moveFormerEntries(sessions: Sessions, urn: string): Promise<void> {
  const { settings, journal } = sessions.openIfConfigured() ?? {};
  if (settings === undefined || settings.formerEndpoints.length === 0) return;
  const former = settings.formerEndpoints.map(comparableEndpoint);
  await journal?.moveFormerEndpoints(
    stackOf(urn),
    ({ endpoint, provider }) =>
      former.includes(comparableEndpoint(endpoint)) && provider === settings.provider,
    sessions.tracker.isPreview,
  );
}

/**
 * Returns the journal entry that create should resume. The entry's creation replaces this resource, or was started in this stack with the
 * resource's URN or an alias (I2). Each entry belongs to only one resource.
 */
async function unfinishedEntry(
  journal: Journal | undefined,
  tracker: ResourceTracker,
  { urn, replaces, aliases = [] }: CreationPurpose & { aliases: Declared["aliasUrns"] },
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
 * Returns other purposes for which an unfinished creation may be recorded. The entry may be for a former endpoint or, if the resource is
 * new, for a former URN. The creation may also replace a resource that is no longer in the state.
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
    const isOrphan =
      isNew && replaces !== undefined && urns.includes(one) && tracker.holderOf(replaces) === undefined;
    return isOrphan || (isOurs && endpoint !== journal?.endpoint);
  });
  return [
    ...(isNew ? aliases.map((alias) => ({ urn: alias })) : []),
    ...others.toReversed().map(({ urn: one, replaces, endpoint }) => ({ urn: one, replaces, endpoint })),
  ];
}

/** Returns the failure for a creation that was started with a different provider or endpoint, where the object may exist. */
function unfinishedElsewhere(
  { name }: Kind,
  { endpoint, provider }: Entry,
  now: { readonly endpoint: string | undefined; readonly provider: string | undefined },
): string {
  const moved =
    endpoint === now.endpoint
      ? ""
      : "If the service itself has moved, list its old address in `formerEndpoints`. ";
  return (
    `an interrupted creation of this ${name} with ${nameOfProvider(provider)} at ${endpoint} may have created an object ` +
    `there, but the resource now uses ${nameOfProvider(now.provider)} at ${now.endpoint}. Switch back to the original provider and endpoint, ` +
    `and run \`pulumi up\` to finish that creation. ${moved}If you no longer want that object, delete it there if it exists. ` +
    `Then run \`npx pulumi-cloudinfra recover --forget <urn>\``
  );
}

function sameObjectTwice({ name }: Kind, other: string | undefined): string {
  const holder = other === undefined ? "another resource" : `"${resourceName(other)}"`;
  return (
    `${holder} and this resource manage the same ${name}. If this resource has the other resource as an alias, correct the alias. ` +
    "If the state records both, remove one of them with `pulumi state delete <urn>`. Then run `pulumi up` again"
  );
}
