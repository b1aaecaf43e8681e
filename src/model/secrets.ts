import { isDeepStrictEqual } from "node:util";
import { redact } from "../diagnostics/redact";
import { mentionsProperty, type PropertyPaths } from "./changes";
import { type Field, instanceFields, projectFields } from "./fields";
import { argumentsSent, type Pending, pendingOf } from "./pending";
import type { Properties } from "./state";
import { currentValuesOf, hiddenOf } from "./state";

/** What of a resource must not be seen by whoever reads its errors. */
export interface Secrets {
  /** Names of the arguments that are secret, now or before, and of the outputs that hold what such an argument was. */
  readonly names: ReadonlySet<string>;
  /** Every string in their values, as given and as the service normalizes them. */
  readonly strings: readonly string[];
}

/** The secrets of states and inputs, each by its own marks, and of what is pending in them. */
export function secretsOf(...states: readonly Properties[]): Secrets {
  const each = states.flatMap(withPending).map((state) => ({ state, names: namesIn(state) }));
  return {
    names: new Set(each.flatMap(({ names }) => names)),
    strings: each.flatMap(({ state, names }) =>
      names.flatMap((name) => [state, ...remembered(state)].flatMap((values) => stringsIn(values[name]))),
    ),
  };
}

/**
 * What a creation or an update asked for, by argument, with its own secrets.
 *
 * @param otherwise the names of the secrets if it was recorded without them
 */
export function requestedArguments(pending: Pending, otherwise?: readonly string[]): Properties {
  const { asked, secrets } = pending;
  const sent = argumentsSent([...projectFields, ...instanceFields], pending);
  return { ...sent, ...asked, __secrets: secrets ?? otherwise };
}

/**
 * The program's inputs, whose secrets include those of the state that `ignoreChanges` keeps although the program now gives another value in
 * the clear.
 *
 * @param olds the outputs before: prior inputs may have older marks (I4)
 */
export function withKeptSecrets(news: Properties, olds: Properties, ignored: PropertyPaths): Properties {
  const { __secrets: declared = [] } = hiddenOf(news);
  const { __secrets: before = [] } = hiddenOf(olds);
  const kept = before.filter((name) => !declared.includes(name) && mentionsProperty(ignored, name));
  return kept.length === 0
    ? news
    : { ...news, __now: { ...currentValuesOf(news), __secrets: [...declared, ...kept] } };
}

function withPending(state: Properties): Properties[] {
  const pending = pendingOf(state);
  return pending === undefined ? [state] : [state, requestedArguments(pending, namesIn(state))];
}

function namesIn(state: Properties): string[] {
  const { __secrets = [], __sealed = [] } = hiddenOf(state);
  return [...__secrets, ...__sealed];
}

function remembered(state: Properties): Properties[] {
  const { __words: words = {}, __applied: applied = {} } = hiddenOf(state);
  return [words, applied];
}

/** A shorter key of a label, such as "name" or "team", may be an ordinary word. */
const MIN_KEY_LENGTH = 8;

/** The strings in a value. The keys of secret labels are secret, too. */
function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  return [
    ...keys.filter(({ length }) => length >= MIN_KEY_LENGTH),
    ...Object.values(value).flatMap(stringsIn),
  ];
}

/** How a provider marks a value as secret for the engine, which does so by itself only if an input of the same name is secret. */
const SIGN = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

const asSecret = (value: unknown): unknown =>
  Object(value)[SIGN] === SECRET ? value : { [SIGN]: SECRET, value };

/** The inputs that the service may derive outputs from, in a form that can't be recognized: a URL with a slug of the name. */
const DERIVED: Readonly<Record<string, string>> = {
  ipAddress: "publicIp",
  url: "name",
  description: "name",
};

/** What tells which outputs are secret. */
export interface SecretSources {
  /** The inputs, whose marks the engine copies to the outputs of the same name. */
  readonly given: Properties;
  /** The state before. */
  readonly before: Properties;
  /** All in which the call has seen secrets. */
  readonly known: readonly Properties[];
}

/**
 * Outputs in which these are secret, too: whatever repeats a secret input, or may be derived from one; and whatever still holds, repeats or
 * is derived from an input that was secret before, which `__sealed` lists for as long as it does.
 */
export function markSecretOutputs(
  fields: readonly Field[],
  { __sealed: _, ...outputs }: Properties,
  { given, before, known }: SecretSources,
): Properties {
  const declared = new Set(hiddenOf(given).__secrets);
  const { names, strings } = secretsOf(...known);
  const isKept = (name: string): boolean =>
    before[name] !== undefined && isDeepStrictEqual(before[name], given[name]);
  const former = new Set([...names].filter((name) => !declared.has(name) && !isKept(name)));
  const inClear = new Set(fields.flatMap(({ name }) => (declared.has(name) ? [] : stringsIn(given[name]))));
  const formerTexts = strings.filter((text) => !inClear.has(text));
  const holdsFormer = (name = ""): boolean =>
    former.has(name) && outputs[name] !== undefined && !isDeepStrictEqual(outputs[name], given[name]);

  const isField = (name: string): boolean => fields.some((field) => field.name === name);
  const isOwn = (name: string): boolean => !name.startsWith("__") && !isField(name);
  const { strings: textsNow } = secretsOf({ ...outputs, __pending: undefined });
  // A program marks additionalProperties as secret, but after `pulumi import` a refresh may come before any program.
  const isSecretNow = (name: string, value: unknown): boolean =>
    isOwn(name) &&
    (name === "additionalProperties" || declared.has(DERIVED[name] ?? "") || repeats(value, textsNow));
  const secret = Object.keys(outputs).filter((name) => isSecretNow(name, outputs[name]));
  const wasSecret = (name: string): boolean => former.has(name) || former.has(DERIVED[name] ?? "");
  const isLeft = (name: string, value: unknown): boolean =>
    isDeepStrictEqual(value, before[name]) ||
    (DERIVED[name] === "name" && sharesWord(value, before[name], outputs.__endpoint));
  const isFormerSecret = (name: string, value: unknown): boolean =>
    isField(name)
      ? holdsFormer(name)
      : isOwn(name) &&
        !secret.includes(name) &&
        (holdsFormer(DERIVED[name]) ||
          repeats(value, formerTexts) ||
          (wasSecret(name) && isLeft(name, value)));

  const formerSecrets = Object.keys(outputs)
    .filter((name) => isFormerSecret(name, outputs[name]))
    .sort();
  return {
    // The engine would mark no more than the secret labels, and no label that becomes secret beside another one.
    ...markSecret(outputs, [...declared, ...secret, ...formerSecrets]),
    ...(formerSecrets.length > 0 && { __sealed: formerSecrets }),
  };
}

/** Properties of which some are marked as secret for the engine. */
export function markSecret(properties: Properties, names: readonly string[]): Properties {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, names.includes(name) ? asSecret(value) : value]),
  );
}

function repeats(value: unknown, texts: readonly string[]): boolean {
  return typeof value === "string" && redact(value, texts) !== value;
}

/** Whether a text has a word of another one, beside those of the endpoint: of a URL with a slug of a name, a part may change. */
function sharesWord(one: unknown, other: unknown, endpoint: unknown): boolean {
  const words = wordsIn(other).filter((word) => !wordsIn(endpoint).includes(word));
  return wordsIn(one).some((word) => words.includes(word));
}

/** Of two characters or more, in lower case. */
function wordsIn(text: unknown): string[] {
  return typeof text === "string" ? (text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []) : [];
}
