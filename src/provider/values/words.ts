import type { Properties } from "../host";
import { type Field, labelsOf, sameValue } from "./fields";
import { shownKeys } from "./label-keys";

/** An object's fields as the service sent them. */
export type WireFields = Readonly<Record<string, unknown>>;

/**
 * The service's own word for a field. `undefined` where the reply does not carry it, which says nothing about it.
 * Of labels, only those in `managed`: what others set is no concern of the program.
 */
export function wordOf(field: Field, object: WireFields, ...managed: unknown[]): unknown {
  const word = object[field.wire];
  if (word === undefined) return undefined;
  if (field.type === "text") return idOf(word);
  if (field.type === "keys") return word ?? [];
  const shown = labelsOf(word);
  const keys = [...new Set(managed.flatMap((value) => Object.keys(labelsOf(value))))];
  const own = [...shownKeys(shown, keys)].map(([key, shownKey]) => [key, shown[shownKey]]);
  return Object.fromEntries(own.filter(([, label]) => label !== null));
}

/** A reference may be shown as an object, whose other members are not the instance's. */
export function idOf(word: unknown): unknown {
  const id: unknown = typeof word === "object" && word !== null ? Reflect.get(word, "id") : undefined;
  return typeof id === "string" || typeof id === "number" ? id : word;
}

/**
 * The words to remember after the program's values were applied: where the service spells a value in its own way.
 * A word that this reply does not carry stays as remembered.
 */
export function wordsAfter(
  fields: readonly Field[],
  values: Properties,
  object: WireFields,
  before: Properties = {},
): Properties {
  const words: Properties = {};
  for (const field of fields) {
    const value = values[field.name];
    if (value === undefined) continue;
    const word = wordOf(field, object, value);
    if (word === undefined ? Object.hasOwn(before, field.name) : !sameValue(field, word, value)) {
      words[field.name] = word === undefined ? before[field.name] : word;
    }
  }
  return words;
}

/** A value that the program applied, and the service's word for it, which is another. */
export interface Applied {
  readonly value: unknown;
  readonly word: unknown;
}

/** The value that was applied before somebody changed the property, as the state has it. */
export function appliedIn(applied: Properties, name: string): Applied | undefined {
  const pair: unknown = Object.hasOwn(applied, name) ? applied[name] : undefined;
  return typeof pair === "object" && pair !== null && "value" in pair && "word" in pair ? pair : undefined;
}

/** What the service holds now, in terms of the program's values. */
export interface Sighting {
  /** The program's values; where the service's word moved since the last apply, that word. */
  readonly values: Properties;
  readonly words: Properties;
  /** What was applied to the fields that somebody has changed, if the service has a word of its own for it. */
  readonly applied: Properties;
  /** Names of the fields that somebody changed, and of those that the reply does not carry. */
  readonly drifted: readonly string[];
  readonly untold: readonly string[];
}

/** Compares what the service holds with what it held after the last apply. Fields without a value are not managed. */
export function compareWords(
  fields: readonly Field[],
  known: { readonly values: Properties; readonly words: Properties; readonly applied?: Properties },
  object: WireFields,
): Sighting {
  const values: Properties = {};
  const words: Properties = {};
  const applied: Properties = {};
  const drifted: string[] = [];
  const untold: string[] = [];
  for (const field of fields) {
    const value = known.values[field.name];
    if (value === undefined) continue;
    const word = wordOf(field, object, value);
    const isRemembered = Object.hasOwn(known.words, field.name);
    if (word === undefined) untold.push(field.name);
    const last = appliedIn(known.applied ?? {}, field.name);
    if (last !== undefined && word !== undefined && sameValue(field, word, last.word)) {
      values[field.name] = last.value;
      words[field.name] = last.word;
      continue;
    }
    if (last !== undefined) applied[field.name] = last;
    if (word === undefined || sameValue(field, word, isRemembered ? known.words[field.name] : value)) {
      values[field.name] = value;
      if (isRemembered) words[field.name] = known.words[field.name];
    } else if (sameValue(field, word, value) || isSpelling(field, word, value)) {
      values[field.name] = value; // where it is asked in another way, it may be as before
      if (isRemembered) words[field.name] = known.words[field.name];
    } else {
      drifted.push(field.name);
      if (isRemembered && field.type === "text")
        applied[field.name] = { value, word: known.words[field.name] };
      const own = asValue(field, word);
      if (own !== undefined) values[field.name] = own;
    }
  }
  return { values, words, applied, drifted, untold };
}

/**
 * Whether another word must be the service's spelling of the value. The reply to a creation may repeat what was sent, so the service's own
 * spelling need not be known, and what looks like a change of such a field would lead to a replacement.
 */
function isSpelling({ change, isFixed }: Field, word: unknown, value: unknown): boolean {
  if (change !== "replace" || typeof word !== "string" || typeof value !== "string") return false;
  return isFixed || word.trim().toLowerCase() === value.trim().toLowerCase();
}

/** The service's word as a value of the program's type; `undefined` where the service says there is none. */
export function asValue(field: Field, word: unknown): unknown {
  if (word === null || word === undefined) return undefined;
  if (field.type === "text") return asText(word);
  if (field.type === "keys") return word;
  const labels = Object.entries(labelsOf(word)).filter(([, label]) => label !== null);
  return Object.fromEntries(labels.map(([key, label]) => [key, asText(label)]));
}

function asText(word: unknown): string {
  return typeof word === "string" ? word : JSON.stringify(word);
}
