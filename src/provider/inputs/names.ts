import type { Properties } from "../host";
import type { Kind } from "../kind";
import { hiddenOf, resourceName } from "../values/state";
import { isUnknown, UNKNOWN } from "./unknowns";

const KEY_DIGITS = 7;

/**
 * A name for a resource that was given none: the resource's name and the first digits of its idempotency key, kept
 * from then on. Unknown while the key is, so that a preview never shows a name that `up` will not use.
 */
export function madeUpName(kind: Kind, olds: Properties, news: Properties): Properties {
  if (news.name !== undefined) return {};
  if (isMadeUp(olds)) return { name: olds.name };
  return { ...freshName(kind, olds, news), ...(hiddenOf(olds).__key === undefined && { __autonamed: true }) };
}

function freshName(kind: Kind, olds: Properties, news: Properties): Properties {
  const hidden = hiddenOf(news);
  const key = hiddenOf(olds).__key ?? hidden.__key;
  if (key === undefined || isUnknown(key)) return { name: UNKNOWN };
  return { name: `${resourceName(hidden) || kind.name}${ending(key)}` };
}

/** Whether a resource's name was made up, and not given by the program; somebody may have changed it since. */
function isMadeUp(inputs: Properties): boolean {
  const { __key: key, __autonamed } = hiddenOf(inputs);
  if (key === undefined || typeof inputs.name !== "string") return false;
  return __autonamed === true || inputs.name.endsWith(ending(key));
}

const ending = (key: string): string => `-${key.slice(0, KEY_DIGITS)}`;
