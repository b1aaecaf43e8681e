import { isDeepStrictEqual } from "node:util";
import { redact } from "../diagnostics/redact";
import { type Labels, mentionsProperty, type PropertyPaths } from "./changes";
import { argumentsSent, type Pending } from "./pending";
import {
  type ArgumentName,
  type Arguments,
  type Field,
  instanceFields,
  projectFields,
  type RemoteValues,
} from "./resource-fields";
import {
  type Desired,
  outputNamesOf,
  propertyOf,
  type Recorded,
  type RecordedMembers,
  withProgramValues,
} from "./state";

/** The secrets of a resource, which must not appear in its errors. */
export interface Secrets {
  /** The names of arguments that are or were secret, and of outputs with a former secret. */
  readonly names: ReadonlySet<string>;
  /** All strings in secret values, both as given and as normalized by the service. */
  readonly strings: readonly string[];
}

/** A source of secrets: inputs, a state, or the values in a creation or update request. */
export type SecretSource = RemoteValues & Omit<RecordedMembers, ArgumentName>;

/** Returns the secrets in inputs and states, including the secrets of unfinished creations and updates. */
export function secretsOf(...sources: readonly SecretSource[]): Secrets {
  const all = sources.flatMap((source) => {
    const { pending } = source;
    return pending === undefined ? [source] : [source, requestedArguments(pending, namesIn(source))];
  });
  const strings = all.flatMap((source) => {
    const remoteValues: Labels = source.remoteValues ?? {};
    const applied: Labels = source.applied ?? {};
    const valuesOf = (name: string): unknown[] => [
      propertyOf(source, name),
      remoteValues[name],
      applied[name],
    ];
    return namesIn(source).flatMap(valuesOf).flatMap(stringsIn);
  });
  return { names: new Set(all.flatMap(namesIn)), strings };
}

export function secretsIn(args: unknown, names: readonly string[]): Secrets {
  return { names: new Set(names), strings: names.flatMap((name) => stringsIn(Object(args)[name])) };
}

/** Returns the arguments in a request. `otherwise` contains the names of the secrets if the request recorded none. */
export function requestedArguments(pending: Pending, otherwise?: readonly string[]): SecretSource {
  const { asked, secrets } = pending;
  const sent = argumentsSent([...projectFields, ...instanceFields], pending);
  return { ...sent, ...asked, secrets: secrets ?? otherwise };
}

/**
 * Returns the inputs of the program with additional secrets. Because of `ignoreChanges`, an input may keep a secret value from the state,
 * although the program now contains a plain value. The marks of prior inputs may be outdated (I4), so `olds` are the outputs.
 */
export function withKeptSecrets(news: Desired, olds: Recorded, ignored: PropertyPaths): Desired {
  const { secrets: declared = [] } = news;
  const { secrets: before = [] } = olds;
  const kept = before.filter((name) => !declared.includes(name) && mentionsProperty(ignored, name));
  return kept.length === 0 ? news : withProgramValues(news, { ...news, secrets: [...declared, ...kept] });
}

function namesIn({ secrets = [], formerSecrets = [] }: SecretSource): string[] {
  return [...secrets, ...formerSecrets];
}

/** The minimum length of a label key that is redacted. Shorter keys, such as "name" or "team", could be ordinary words. */
const MIN_KEY_LENGTH = 8;

/** Returns all strings in a value, including the keys of labels. */
function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  return [
    ...keys.filter(({ length }) => length >= MIN_KEY_LENGTH),
    ...Object.values(value).flatMap(stringsIn),
  ];
}

/** Outputs that may be derived from an input but not contain it literally, such as a URL with a slug of the name. */
const DERIVED: Readonly<Record<string, string>> = {
  ipAddress: "publicIp",
  url: "name",
  description: "name",
};

export interface SecretSources {
  /** The inputs. The engine marks an output as secret if the input of the same name is secret. */
  readonly given: Arguments & Pick<Desired, "secrets">;
  readonly before: SecretSource;
  /** All sources in which the call has found secrets. */
  readonly known: readonly SecretSource[];
}

/** Returns the names of the secret outputs. `former` contains the outputs that depend on an input that was secret before. */
export function secretOutputs(
  fields: readonly Field[],
  outputs: Recorded,
  { given, before, known }: SecretSources,
): { names: string[]; former: string[] } {
  const declared = new Set(given.secrets);
  const { names, strings } = secretsOf(...known);
  const isField = (name: string): boolean => fields.some((field) => field.name === name);
  const isKept = (name: string): boolean =>
    propertyOf(before, name) !== undefined &&
    isDeepStrictEqual(propertyOf(before, name), propertyOf(given, name));
  const former = new Set([...names].filter((name) => !declared.has(name) && !isKept(name)));
  const inClear = new Set(fields.flatMap(({ name }) => (declared.has(name) ? [] : stringsIn(given[name]))));
  const formerTexts = strings.filter((text) => !inClear.has(text));
  const holdsFormer = (name = ""): boolean => {
    const value = propertyOf(outputs, name);
    return former.has(name) && value !== undefined && !isDeepStrictEqual(value, propertyOf(given, name));
  };

  const own = outputNamesOf(outputs).filter((name) => !isField(name));
  const { strings: textsNow } = secretsOf({ ...outputs, formerSecrets: undefined, pending: undefined });
  // Programs mark additionalProperties as secret, but a refresh after `pulumi import` may run before any program.
  const secret = own.filter(
    (name) =>
      name === "additionalProperties" ||
      declared.has(DERIVED[name] ?? "") ||
      repeats(propertyOf(outputs, name), textsNow),
  );
  const wasSecret = (name: string): boolean => former.has(name) || former.has(DERIVED[name] ?? "");
  const isUnchanged = (name: string): boolean => {
    const [now, then] = [propertyOf(outputs, name), propertyOf(before, name)];
    return (
      isDeepStrictEqual(now, then) || (DERIVED[name] === "name" && sharesWord(now, then, outputs.endpoint))
    );
  };
  const isFormerSecret = (name: string): boolean =>
    !secret.includes(name) &&
    (holdsFormer(DERIVED[name]) ||
      repeats(propertyOf(outputs, name), formerTexts) ||
      (wasSecret(name) && isUnchanged(name)));

  const formerSecrets = [
    ...fields.map(({ name }) => name).filter(holdsFormer),
    ...own.filter(isFormerSecret),
  ].sort();
  // The engine would mark only labels that are secret now, but other labels may become secret later.
  return { names: [...declared, ...secret, ...formerSecrets], former: formerSecrets };
}

function repeats(value: unknown, texts: readonly string[]): boolean {
  return typeof value === "string" && redact(value, texts) !== value;
}

/** Reports whether two strings have a common word that the endpoint doesn't contain. For example, a URL may contain a slug of the name. */
function sharesWord(one: unknown, other: unknown, endpoint: unknown): boolean {
  const words = wordsIn(other).filter((word) => !wordsIn(endpoint).includes(word));
  return wordsIn(one).some((word) => words.includes(word));
}

function wordsIn(text: unknown): string[] {
  return typeof text === "string" ? (text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []) : [];
}
