import { addressBeside, hasLostAddress, isAddress, isLateAddress } from "./addresses";
import { isSameJson, referencedValue, sameValue } from "./equality";
import type { Arguments, Field, Json, RemoteValues, WireFields } from "./fields";
import { isUnreadable, labelsOf, remoteKeysOf } from "./labels";

/**
 * The service's own word for a field. `undefined` where the reply does not carry it, which says nothing about it.
 * Of labels, only those in `managed`: what others set is no concern of the program.
 */
export function remoteValueOf(field: Field, object: WireFields, ...managed: unknown[]): unknown {
  const word =
    field.type === "text" ? remoteTextOf(field, object[field.wire], ...managed) : object[field.wire];
  // What only a replacement changes always has a value: null tells nothing.
  if (word === undefined || (word === null && field.change === "replace")) return undefined;
  if (isUnreadable(field, word)) return undefined;
  if (field.type === "text") return word;
  if (field.type === "keys") return word ?? [];
  const shown = labelsOf(word);
  const keys = [...new Set(managed.flatMap((value) => Object.keys(labelsOf(value))))];
  const own = [...remoteKeysOf(field, shown, keys)].map(([key, shownKey]) => [key, shown[shownKey]]);
  return Object.fromEntries(own.filter(([, label]) => label !== null));
}

/** The text that a field shows, or the value of a reference. An empty text stands for none. */
export function remoteTextOf(field: Field, word: unknown, ...own: unknown[]): unknown {
  return word === "" ? null : referencedValue(field, word, ...own);
}

/**
 * The words to remember after the program's values were applied: where the service spells a value in its own way.
 * A word that this reply does not carry stays as remembered.
 */
export function remoteValuesAfter(
  fields: readonly Field[],
  values: Arguments,
  object: WireFields,
  before: RemoteValues = {},
): RemoteValues {
  const words: Record<string, Json> = {};
  for (const field of fields) {
    const value = values[field.name];
    if (value === undefined) continue;
    const word = remoteValueOf(field, object, value);
    if (word === undefined ? Object.hasOwn(before, field.name) : !sameValue(field, word, value)) {
      words[field.name] = word === undefined ? before[field.name] : word;
    }
  }
  return words;
}

/**
 * A value that the program applied, and the service's word for it, which is another; no word if the first one that was read may have been
 * somebody else's.
 */
export interface Applied {
  readonly value: unknown;
  readonly word?: unknown;
}

/** The value that was applied before somebody changed the property, as the state has it. */
export function appliedIn(applied: Readonly<Record<string, Json>>, name: string): Applied | undefined {
  const pair: unknown = Object.hasOwn(applied, name) ? applied[name] : undefined;
  return isApplied(pair) ? pair : undefined;
}

function isApplied(pair: unknown): pair is Applied {
  return typeof pair === "object" && pair !== null && "value" in pair;
}

/** What the service holds now, in terms of the program's values. */
export interface DriftResult {
  /** The program's values; where the service's word moved since the last apply, that word. */
  readonly values: Arguments;
  readonly words: RemoteValues;
  /** What was applied to the fields that somebody has changed, if the service has a word of its own for it. */
  readonly applied: RemoteValues;
  /** Names of the fields that somebody changed, and of those that the reply does not carry. */
  readonly drifted: readonly string[];
  readonly untold: readonly string[];
}

/** What the state knows of the fields. */
interface KnownValues {
  readonly values: Arguments;
  readonly words: RemoteValues;
  readonly applied?: RemoteValues;
  readonly ipAddress?: unknown;
  /** Whether the words aren't known yet, because nothing has shown the object since the reply to its creation request. */
  readonly isEcho?: boolean | undefined;
}

/** Compares what the service holds with what it held after the last apply. Fields without a value are not managed. */
export function compareRemoteValues(
  fields: readonly Field[],
  known: KnownValues,
  object: WireFields,
): DriftResult {
  const values: Record<string, Json> = {};
  const words: Record<string, Json> = {};
  const applied: Record<string, Json> = {};
  const drifted: string[] = [];
  const untold: string[] = [];
  for (const field of fields) {
    const { name } = field;
    const value = known.values[name];
    if (value === undefined) continue;
    const word = Object.hasOwn(known.words, name) ? known.words[name] : undefined;
    const now = addressBeside(field, value, object) ?? remoteValueOf(field, object, value, word);
    const { applied: all = {}, ipAddress, isEcho } = known;
    const isLost = hasLostAddress(field, ipAddress, object);
    if (now === undefined || isLost === undefined) untold.push(name);
    // A service that shows null beside an address shows the same without one.
    const seen: ComparedValue =
      isLost && (now ?? null) === null && isAddress(value)
        ? { value: undefined, isDrifted: true }
        : compareField(field, { value, word, applied: all[name], ipAddress, isEcho }, now, object);
    if (seen.isDrifted) drifted.push(name);
    if (seen.value !== undefined) values[name] = seen.value;
    if (seen.word !== undefined) words[name] = seen.word;
    if (seen.applied !== undefined) applied[name] = seen.applied;
  }
  return { values, words, applied, drifted, untold };
}

/** A value, and the service's word for it if that is another. */
interface ComparedValue {
  readonly value: unknown;
  readonly word?: unknown;
  readonly applied?: unknown;
  readonly isDrifted?: boolean;
}

interface KnownValue {
  readonly value: unknown;
  readonly word: unknown;
  readonly applied: unknown;
  readonly ipAddress?: unknown;
  readonly isEcho?: boolean | undefined;
}

function compareField(field: Field, known: KnownValue, now: unknown, object: WireFields): ComparedValue {
  if (now === undefined) return known;
  if (field.type === "labels") return compareLabels(field, known, now, object);
  const applied = isApplied(known.applied) ? known.applied : undefined;
  return compareOne(field, { ...known, applied }, now, object);
}

function compareOne(
  field: Field,
  known: KnownValue & { applied: Applied | undefined },
  now: unknown,
  object: WireFields,
): ComparedValue {
  const { value, word, applied } = known;
  const isRemembered = word !== undefined;
  if (sameValue(field, now, isRemembered ? word : value)) return known;
  if (applied?.word !== undefined && sameValue(field, now, applied.word))
    return { value: applied.value, word: applied.word };
  if (sameValue(field, now, value) || isSameIgnoringCase(field, now, value)) return known; // in another reply, it may be as before
  const isEcho = known.isEcho && field.change === "replace";
  if (isEcho || isLateAddress(field, known, now, object)) return { ...known, word: now };
  const last = isRemembered ? { value, word } : applied;
  return { value: toProgramValue(field, now), applied: last, isDrifted: true };
}

/** Compares each label, so that only those are taken over that somebody has changed. */
function compareLabels(field: Field, known: KnownValue, now: unknown, object: WireFields): ComparedValue {
  const [shown, words, applied] = [labelsOf(now), labelsOf(known.word), labelsOf(known.applied)];
  const label: Field = { ...field, type: "text" };
  const each = Object.entries(labelsOf(known.value)).map(([key, value]) => {
    const isLost = known.word !== undefined && !Object.hasOwn(words, key) && !Object.hasOwn(shown, key);
    const word = Object.hasOwn(words, key) ? words[key] : isLost ? null : undefined;
    const pair = { value, word, applied: appliedIn(applied, key) };
    return { key, ...compareOne(label, pair, Object.hasOwn(shown, key) ? shown[key] : null, object) };
  });
  const isDrifted = each.some((one) => one.isDrifted);
  const present = each.filter(({ value }) => value !== undefined);
  const value = Object.fromEntries(present.map((one) => [one.key, one.value]));
  const word = Object.fromEntries(present.map((one) => [one.key, one.word ?? one.value]));
  const pairs = each.flatMap((one) => (one.applied === undefined ? [] : [[one.key, one.applied]]));
  return {
    value,
    word: isDrifted ? (isSameJson(word, value) ? undefined : word) : known.word,
    applied: pairs.length === 0 ? undefined : Object.fromEntries(pairs),
    isDrifted,
  };
}

/**
 * Whether another word must be the service's spelling of the value. The reply to a creation may repeat what was sent, so the service's own
 * spelling need not be known, and what looks like a change of such a field would lead to a replacement.
 */
function isSameIgnoringCase({ change, isFixed }: Field, word: unknown, value: unknown): boolean {
  if (change !== "replace" || typeof word !== "string" || typeof value !== "string") return false;
  return isFixed || word.trim().toLowerCase() === value.trim().toLowerCase();
}

/** The service's word as a value of the program's type; `undefined` where the service says there is none. */
export function toProgramValue(field: Field, word: unknown): unknown {
  if (word === null || word === undefined || isUnreadable(field, word)) return undefined;
  if (field.type === "text") return toText(referencedValue(field, word));
  if (field.type === "keys") return word;
  const labels = Object.entries(labelsOf(word)).filter(([, label]) => label !== null);
  return Object.fromEntries(labels.map(([key, label]) => [key, toText(label)]));
}

function toText(word: unknown): string {
  return typeof word === "string" ? word : JSON.stringify(word);
}
