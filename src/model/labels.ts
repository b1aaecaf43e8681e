import type { Arguments, Field, Json, WireFields } from "./fields";
import type { Kind } from "./kinds";
import type { Recorded } from "./state";

export type Labels = Readonly<Record<string, Json>>;

/** Labels as a map; anything else is none. */
export function labelsOf(value: unknown): Labels {
  return isMap(value) ? Object.fromEntries(Object.entries(value)) : {};
}

/** Whether labels are shown in a form that isn't known: that says nothing about them. */
export function isUnreadable({ type }: Field, word: unknown): boolean {
  return type === "labels" && word !== undefined && word !== null && !isMap(word);
}

export function isMap(value: unknown): value is Labels {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the key under which each of the program's labels is shown: the same one or, if that isn't shown, the same one in lower case. A service
 * may keep keys in lower case, unless the field is known to keep the case.
 */
export function remoteKeysOf(
  { keepsCase = false }: Pick<Field, "keepsCase">,
  shown: Labels,
  own: readonly string[],
): ReadonlyMap<string, string> {
  return new Map(
    own.flatMap((key): [string, string][] => {
      if (Object.hasOwn(shown, key)) return [[key, key]];
      const folded = key.toLowerCase();
      return keepsCase || !Object.hasOwn(shown, folded) || own.includes(folded) ? [] : [[key, folded]];
    }),
  );
}

/** Returns the state without the labels whose keys only change their case: once that is done, what is shown is the program's new label. */
export function withoutRecasedKeys<Olds extends Arguments>(
  fields: readonly Field[],
  olds: Olds,
  news: Arguments,
): Olds {
  const labels = fields.filter(({ type, keepsCase }) => type === "labels" && !keepsCase);
  const kept = labels.map(({ name }) => {
    const own = Object.keys(labelsOf(news[name]));
    const folded = own.map((key) => key.toLowerCase());
    const isKept = ([key]: [string, unknown]): boolean =>
      own.includes(key) || !folded.includes(key.toLowerCase());
    return [name, Object.fromEntries(Object.entries(labelsOf(olds[name])).filter(isKept))];
  });
  return { ...olds, ...Object.fromEntries(kept) };
}

/** Returns the kind with label keys that aren't compared in lower case. */
export function withCaseSensitiveKeys(kind: Kind): Kind {
  const exact = (field: Field): Field => (field.type === "labels" ? { ...field, keepsCase: true } : field);
  return kind.fields.some(({ type }) => type === "labels")
    ? { ...kind, fields: kind.fields.map(exact) }
    : kind;
}

/** Returns the kind with label keys as the service is known to show them: `call` of an object with this state. */
export function withRecordedKeyCase<Call extends { readonly kind: Kind }>(
  context: Call,
  state: Recorded,
): Call {
  return state.keepsCase ? { ...context, kind: withCaseSensitiveKeys(context.kind) } : context;
}

/** Whether the service shows a label of the program whose key has capital letters, so that it keeps their case. */
export function showsUpperCaseKey(fields: readonly Field[], values: Arguments, object: WireFields): boolean {
  return fields.some(({ type, name, wire }) => {
    const shown = type === "labels" ? labelsOf(object[wire]) : {};
    return Object.keys(labelsOf(values[name])).some(
      (key) => key !== key.toLowerCase() && Object.hasOwn(shown, key),
    );
  });
}
