import type { Properties } from "../host";
import { hiddenOf } from "../values/state";

/** What of a resource must not be seen by whoever reads its errors. */
export interface Secrets {
  /** Names of the arguments that are secret, now or before. */
  readonly names: ReadonlySet<string>;
  /** Every string in their values, as given and as the service normalizes them. */
  readonly texts: readonly string[];
}

export function secretsOf(...states: readonly Properties[]): Secrets {
  const each = states.map((state) => ({ state, names: hiddenOf(state).__secrets ?? [] }));
  return {
    names: new Set(each.flatMap(({ names }) => names)),
    texts: each.flatMap(({ state, names }) =>
      names.flatMap((name) => [state, ...remembered(state)].flatMap((values) => textsIn(values[name]))),
    ),
  };
}

function remembered(state: Properties): Properties[] {
  const { __words: words = {}, __applied: applied = {} } = hiddenOf(state);
  return [words, applied];
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
