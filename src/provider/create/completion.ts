import { isDeepStrictEqual } from "node:util";
import type { ApiObject } from "../../api/client";
import { isCloudInfraError } from "../../diagnostics/error";
import { addressBeside, hasPublicAddress, isUnspecifiedMode, meansNoAddress } from "../../model/addresses";
import {
  type ChangeOptions,
  changedFields,
  labelsOf,
  referencedValue,
  sameValue,
  withIgnoredValues,
  withReplaceOnChanges,
} from "../../model/changes";
import { isSameName } from "../../model/names";
import { initialOutputs } from "../../model/outputs";
import { argumentsSent, type Pending } from "../../model/pending";
import { contradicts } from "../../model/property-comparison";
import { isUnreadable, remoteKeysOf, toProgramValue } from "../../model/remote-values";
import {
  type Arguments,
  type Field,
  isUnknown,
  type Kind,
  type WireFields,
} from "../../model/resource-fields";
import type { Desired, Recorded } from "../../model/state";
import { argumentsOf, type Context } from "../context";
import { claimCreated } from "../object-ownership";
import { PartialState } from "../partial-state";
import { applyUpdate, NotApplied } from "../update/apply";
import { requestUnknown, warnOfObjectAdoptedElsewhere } from "../warnings";
import { discard, giveUp, type UnfinishedCreation } from "./unfinished";

/**
 * Updates the object of a resumed creation to match the current program (C5).
 *
 * @returns `undefined` if another resource manages the object, or if the object was discarded, because it can't be used (I3)
 * @throws CloudInfraError `key_expired` if the original request is unknown. In that case, nothing is changed, adopted or deleted
 */
export async function fitToProgram(
  context: Context,
  object: ApiObject,
  unfinished: UnfinishedCreation,
  inputs: Desired,
): Promise<Recorded | undefined> {
  const { fields } = context.kind;
  const asked = argumentsSent(fields, unfinished);
  if (asked === undefined) throw requestUnknown(context, object);
  const options = context.session.tracker.optionsOf(inputs.key);
  const isReplaced = needsReplacement(context.kind, unfinished, inputs, options);
  if (isReplaced || (await context.session.journal.isMarked(unfinished.key, "discarded"))) {
    await discard(context, inputs, object, unfinished);
    return undefined;
  }
  const { ignoreChanges = [] } = options;
  const wanted = withIgnoredValues(fields, ignoreChanges, { olds: asked, news: inputs });
  if (unfinished.imported?.includes(object.id) || (await claimCreated(context, wanted, object.id))) {
    await warnOfObjectAdoptedElsewhere(context, inputs, object);
    await giveUp(context, unfinished);
    return undefined;
  }
  return completeCreation(context, object, asked, wanted, unfinished, { isResumed: true });
}

/** Reports whether the program's known arguments require a replacement of the created object. */
export function needsReplacement(
  { fields }: Kind,
  pending: Pending,
  inputs: Desired,
  { ignoreChanges = [], replaceOnChanges }: ChangeOptions,
): boolean {
  const asked = argumentsSent(fields, pending);
  if (asked === undefined) return false;
  const wanted = withIgnoredValues(fields, ignoreChanges, { olds: asked, news: inputs });
  const known = fields.filter(({ name }) => !isUnknown(wanted[name]));
  const judged = withReplaceOnChanges(known, replaceOnChanges, { olds: asked, news: wanted });
  return changedFields(judged, asked, wanted).some(({ change }) => change === "replace");
}

/**
 * Completes a creation with an update of arguments that the service ignored, or that the program has changed in the meantime.
 *
 * @param asked the arguments of the creation request
 * @param isResumed whether an earlier run may have sent the request
 * @throws PartialState if the update fails. The state then contains the object
 */
export async function completeCreation(
  context: Context,
  object: ApiObject,
  asked: Arguments,
  inputs: Desired,
  pending: Pending,
  { isResumed = false, isEcho }: { isResumed?: boolean; isEcho?: boolean | undefined } = {},
): Promise<Recorded> {
  const { fields } = context.kind;
  const made = appliedArguments(context, object, asked, !isResumed);
  const state = { ...initialOutputs(context, object, inputs, made), isEcho };
  const isAsAsked =
    changedFields(fields, made, inputs).length === 0 &&
    isDeepStrictEqual(argumentsOf(context, inputs), argumentsOf(context, made));
  if (isAsAsked) return state;
  try {
    return (await applyUpdate(context, object.id, state, inputs, {}, [])).outs;
  } catch (error) {
    await context.session.journal.extend(pending.key, { id: object.id }); // the engine saves the object
    if (!isCloudInfraError(error) || error instanceof PartialState) throw error; // its state already contains the update's operation
    const outs = error instanceof NotApplied ? error.outs : state;
    throw new PartialState(
      error,
      object.id,
      outs,
      "The object is in the state. Run `pulumi up` again to update it",
    );
  }
}

export function outputsOfCreation(context: Context, object: ApiObject, state: Recorded): Recorded {
  return initialOutputs(context, object, state, appliedArguments(context, object, state));
}

function appliedArguments(
  { kind: { fields } }: Context,
  object: ApiObject,
  asked: Arguments,
  isFresh = false,
): Arguments {
  const isSparse = fields.some(
    ({ name, wire }) =>
      wire !== "public_ip" && asked[name] !== undefined && object.fields[wire] === undefined,
  );
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      appliedValue(field, asked[field.name], object.fields, { isSparse, isFresh }),
    ]),
  );
}

/**
 * Returns an argument as the service has applied it. Services may ignore labels in the creation request, which the specification doesn't
 * include (§2.2). A sparse reply may omit the mode of an address, or contain only the address. If the service doesn't return modes, an
 * unspecified mode can't be checked.
 */
function appliedValue(
  field: Field,
  asked: unknown,
  object: WireFields,
  { isSparse, isFresh }: { isSparse: boolean; isFresh: boolean },
): unknown {
  const shown = object[field.wire];
  const now = addressBeside(field, asked, object) ?? referencedValue(field, shown, asked);
  // Another user may have set a different address or different keys since the object was created.
  if (isFresh && contradicts({ field, now, desired: asked })) return undefined;
  if (field.wire === "public_ip" && !isSparse && (shown ?? "") === "")
    return isUnspecifiedMode(asked) || hasPublicAddress(field, object) !== meansNoAddress(asked)
      ? asked
      : undefined;
  if (asked === undefined || shown === undefined || isUnreadable(field, shown)) return asked;
  if (field.type === "keys") {
    const isIgnored = Array.isArray(shown) && shown.length === 0 && !sameValue(field, asked, []);
    return isIgnored ? undefined : asked;
  }
  if (field.type !== "labels") return asked;
  const labels = labelsOf(toProgramValue(field, shown));
  const own = Object.entries(labelsOf(asked));
  const remoteKeys = remoteKeysOf(field, labels, Object.keys(labelsOf(asked)));
  const inAnyCase = new Map(Object.entries(labels).map(([key, label]) => [key.toLowerCase(), label]));
  const isSame = ([key, value]: [string, unknown]): boolean =>
    isSameName(inAnyCase.get(key.toLowerCase()), value);
  // If no label has the requested value, a key in lower case may belong to a default label.
  const isAccepted = own.some(isSame);
  const kept = own.filter((label) => {
    const [key] = label;
    return Object.hasOwn(labels, key) || isSame(label) || (isAccepted && remoteKeys.has(key));
  });
  return kept.length === 0 && own.length > 0 ? undefined : Object.fromEntries(kept);
}
