import { type Arguments, type Field, isMap, type Json, type Kind } from "./resource-fields";
import type { Recorded } from "./state";

export type Labels = Readonly<Record<string, Json>>;

/** Returns labels as a map, or an empty map if the value is not a map. */
export function labelsOf(value: unknown): Labels {
  return isMap(value) ? value : {};
}

/** Reports whether labels have an unknown form. */
export function isUnreadable({ type }: Field, remote: unknown): boolean {
  return type === "labels" && remote !== undefined && remote !== null && !isMap(remote);
}

/**
 * Maps each label key in the program to its remote key. If the object doesn't have the key itself, the remote key is the key in lower case,
 * unless the service preserves the case. If the object has one of the keys with its capital letters, the service preserves the case.
 */
export function remoteKeysOf(
  { keepsCase = false }: Pick<Field, "keepsCase">,
  shown: Labels,
  own: readonly string[],
): ReadonlyMap<string, string> {
  const isExact = keepsCase || own.some((key) => key !== key.toLowerCase() && Object.hasOwn(shown, key));
  return new Map(
    own.flatMap((key): [string, string][] => {
      if (Object.hasOwn(shown, key)) return [[key, key]];
      const folded = key.toLowerCase();
      return isExact || !Object.hasOwn(shown, folded) || own.includes(folded) ? [] : [[key, folded]];
    }),
  );
}

/** Returns the state without label keys whose case changes. The service may return the new label under the old key. */
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

/** Returns a copy of the kind with case-sensitive label keys. */
export function withCaseSensitiveKeys(kind: Kind): Kind {
  const exact = (field: Field): Field => (field.type === "labels" ? { ...field, keepsCase: true } : field);
  return kind.fields.some(({ type }) => type === "labels")
    ? { ...kind, fields: kind.fields.map(exact) }
    : kind;
}

/** Returns the context with case-sensitive label keys, if the state records that the service preserves the case. */
export function withRecordedKeyCase<Call extends { readonly kind: Kind }>(
  context: Call,
  state: Recorded,
): Call {
  return state.keepsCase ? { ...context, kind: withCaseSensitiveKeys(context.kind) } : context;
}
