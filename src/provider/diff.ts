import type { DiffResult, Properties } from "./host";
import { type Field, isChanged } from "./values/fields";
import { hiddenOf } from "./values/state";

/** Names of the fields in which two sets of properties differ. What is not known yet differs from all that is. */
export function changedFields(fields: readonly Field[], olds: Properties, news: Properties): Field[] {
  return fields.filter((field) => isChanged(field, olds[field.name], news[field.name]));
}

/** Names of the arguments that the program marks as secret, while the state has them, and what is derived from them, in the clear. */
export function newlySecret(olds: Properties, news: Properties): string[] {
  const { __secrets: before = [], __sealed: sealed = [] } = hiddenOf(olds);
  const { __secrets: now = [] } = hiddenOf(news);
  return now.filter((name) => olds[name] !== undefined && ![...before, ...sealed].includes(name));
}

/**
 * What the engine would have to do. Hidden inputs never make a difference; a name that the program gave may have to be
 * unique, so its resource is deleted before it is made anew.
 */
export function diff(fields: readonly Field[], olds: Properties, news: Properties): DiffResult {
  const changed = changedFields(fields, olds, news);
  return {
    changes: changed.length > 0 ? undefined : false,
    replaces: changed.filter((field) => field.change === "replace").map((field) => field.name),
    deleteBeforeReplace: hiddenOf(news).__autonamed !== true,
  };
}
