import { argumentsSent, type Pending, pendingOf } from "../creation/pending";
import type { Properties } from "../host";
import { instanceFields, projectFields } from "../values/fields";
import { currentValuesOf, hiddenOf } from "../values/state";
import { mentionsProperty, type PropertyPaths } from "./ignored";

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
export function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  return [
    ...keys.filter(({ length }) => length >= MIN_KEY_LENGTH),
    ...Object.values(value).flatMap(stringsIn),
  ];
}
