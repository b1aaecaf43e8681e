import type { Properties } from "./host";
import type { Kind } from "./kind";
import { hiddenOf, resourceName } from "./state";
import { isUnknown, UNKNOWN } from "./unknowns";

const KEY_DIGITS = 7;

/**
 * A name for a resource that was given none: the resource's name and the first digits of its idempotency key, kept
 * from then on. Unknown while the key is, so that a preview never shows a name that `up` will not use.
 */
export function madeUpName(kind: Kind, olds: Properties, news: Properties): Properties {
  if (news.name !== undefined) return { __autonamed: undefined };
  const before = hiddenOf(olds);
  if (before.__autonamed && typeof olds.name === "string") return { name: olds.name, __autonamed: true };
  const { __key: fresh, ...hidden } = hiddenOf(news);
  const key = before.__key ?? fresh;
  if (key === undefined || isUnknown(key)) return { name: UNKNOWN, __autonamed: true };
  return {
    name: `${resourceName({ ...hidden, __key: key }) ?? kind.name}-${key.slice(0, KEY_DIGITS)}`,
    __autonamed: true,
  };
}
