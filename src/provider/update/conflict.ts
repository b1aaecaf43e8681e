import type { Field } from "../../model/fields";
import {
  isChangedByOthers,
  isNormalizedForm,
  isProven,
  isToChange,
  isUpdateApplied,
  type PropertySides,
} from "../../model/three-way";

/**
 * What an update whose revision is not in force any more has to do: nothing, where all is as desired already; go again,
 * where nothing of the program's was changed; or give way, also where a property isn't shown and so may have been changed.
 */
export type Verdict = "made" | "again" | { readonly conflict: readonly PropertySides[] };

/**
 * @param unsure the sides before a request that may have been carried out, where there was one
 * @param countsNew whether a field that the program sets for the first time counts, too: it is not as the state has seen it
 * @param isKnown whether the object has the revision of the state, so that nobody has changed anything
 */
export function judgeConflict(
  sides: readonly PropertySides[],
  {
    unsure,
    countsNew,
    isKnown,
  }: {
    unsure?: readonly PropertySides[] | undefined;
    countsNew: (field: Field) => boolean;
    isKnown: boolean;
  },
): Verdict {
  const isOwn =
    unsure !== undefined && !unsure.some(isChangedByOthers) && isUpdateApplied(sides, isNormalizedForm);
  const conflict = sides.filter(
    (side) =>
      isChangedByOthers(side) &&
      !(isOwn && isToChange(side)) &&
      (side.inState !== undefined || countsNew(side.field)),
  );
  if (conflict.length > 0) return { conflict };
  if (isOwn || sides.filter(isToChange).every(isProven)) return "made";
  // Many services leave out what has no value, so that the absence of a property may show that it has none, as before or as desired.
  const untold = sides.filter(
    ({ isShown, inState, desired, field }) =>
      !isShown && inState !== undefined && desired !== undefined && field.change === "in place",
  );
  return isKnown || untold.length === 0 ? "again" : { conflict: untold };
}
