import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import {
  asksForAddress,
  hasPublicAddress,
  isAddress,
  meansNoAddress,
  publicAddressIn,
} from "../../model/addresses";
import { type PropertyPaths, withIgnoredValues } from "../../model/changes";
import { isChanged, sameValue } from "../../model/equality";
import type { Arguments, Field, WireFields } from "../../model/fields";
import { withCaseSensitiveKeys } from "../../model/labels";
import { outputsOf } from "../../model/outputs";
import { remoteValueOf, remoteValuesAfter, toProgramValue } from "../../model/remote-values";
import { secretsOf } from "../../model/secrets";
import type { Desired, Recorded } from "../../model/state";
import { differsFromDesired, type PropertySides, sidesOf } from "../../model/three-way";
import { findFresh } from "../absence";
import { type Context, objectRefOf } from "../context";
import { importTable } from "../update/conflict";

/** An object that `import` names, beside what the program asks for. */
interface ImportComparison {
  readonly object: ApiObject;
  /** The state as it would be if the program had declared what the object has. */
  readonly there: Recorded;
  /** The inputs, without what the program ignores. */
  readonly wanted: Desired;
  /** What has to be changed in place. */
  readonly differences: readonly PropertySides[];
}

/**
 * Reads the object that `import` names, and compares it with the program.
 *
 * @throws CloudInfraError `not_found` if the service doesn't show it; `import_differs` if only a replacement could make it what the program asks
 * for
 */
export async function compareForImport(
  context: Context,
  inputs: Desired,
  id: string,
): Promise<ImportComparison> {
  const object = await findImported(context, inputs, id);
  const { kind, session } = context;
  // Nothing shows yet that the service keeps keys in lower case: a label whose key differs only in case may be somebody else's.
  const exact = { ...context, kind: withCaseSensitiveKeys(kind) };
  const ignored = session.tracker.ignoredBy(inputs.key);
  const there = stateAsFound(exact, object, inputs, ignored);
  const wanted = withIgnoredValues(kind.fields, ignored, { olds: there, news: inputs });
  // An empty list removes keys that aren't shown. But the update must not remove anything else that isn't shown.
  const isOther = ({ isShown, field, desired }: PropertySides): boolean => {
    const compare = canRemove(exact, object, field) ? isChanged : isDifferentValue;
    return !isShown && compare(field, there[field.name], desired);
  };
  const differences = sidesOf(exact.kind.fields, { olds: {}, news: wanted }, object.fields).filter(
    (side) => differsFromDesired(side) || isOther(side),
  );
  const lasting = differences.filter(({ field }) => field.change === "replace");
  if (lasting.length > 0) throw importDiffers(context, id, inputs, lasting);
  return { object, there, wanted, differences };
}

const isDifferentValue = (field: Field, one: unknown, other: unknown): boolean =>
  !sameValue(field, one, other);

/** Whether an update can't remove anything of an object but a certain field: everything else is shown, and so is the revision. */
function canRemove({ kind }: Context, { fields, revision }: ApiObject, field: Field): boolean {
  const others = kind.fields.filter((one) => one.change === "in place" && one !== field);
  const isShown = (one: Field): boolean =>
    fields[one.wire] !== undefined && (fields[one.wire] !== null || !hasPublicAddress(one, fields));
  return revision !== undefined && others.every(isShown);
}

async function findImported(context: Context, inputs: Desired, id: string): Promise<ApiObject> {
  const found = await findFresh(context, objectRefOf(context.kind, id, inputs));
  if (found !== undefined) return found;
  throw new CloudInfraError(
    "not_found",
    `the ${context.kind.name} ${id}, which \`import\` names, is not there`,
    {
      hint:
        "nothing was made. Correct the id (and the project), or take the `import` option out of the program: " +
        `then \`pulumi up\` makes ${context.kind.article} ${context.kind.name}`,
    },
  );
}

function stateAsFound(
  context: Context,
  object: ApiObject,
  inputs: Desired,
  ignored: PropertyPaths,
): Recorded {
  const values = Object.fromEntries(
    context.kind.fields
      .filter(({ name }) => inputs[name] !== undefined)
      .map((field) => [field.name, valueAsFound(field, object.fields, inputs, ignored)]),
  );
  const words = remoteValuesAfter(context.kind.fields, values, object.fields);
  // An address may be how the service shows the mode.
  const modes = context.kind.fields.filter(
    ({ name }) => isAddress(values[name]) && asksForAddress(inputs[name]),
  );
  const applied = Object.fromEntries(modes.map(({ name }) => [name, { value: inputs[name] }]));
  return outputsOf(context, object, { hidden: inputs, values, words, applied, before: {} });
}

/** The program's value if the object has it, or may have it: what is ignored and not shown may be hidden, and an update would remove it. */
function valueAsFound(field: Field, object: WireFields, inputs: Desired, ignored: PropertyPaths): unknown {
  const value = inputs[field.name];
  const sides = sidesOf([field], { olds: {}, news: inputs }, object);
  if (sides.some(isAbsentValue)) {
    const none: Arguments = {};
    const hidden = withIgnoredValues([field], ignored, { olds: inputs, news: none })[field.name];
    const isAddressIgnored = field.wire === "public_ip" && hidden !== undefined;
    return isAddressIgnored ? publicAddressIn(field, object) : hidden;
  }
  return sides.some(differsFromDesired) ? toProgramValue(field, remoteValueOf(field, object, value)) : value;
}

/** Whether a property that isn't shown counts as not set, because many services omit what has no value. The address may show elsewhere. */
function isAbsentValue({ field, isShown, desired, object }: PropertySides): boolean {
  if (isShown || field.change !== "in place") return false;
  if (field.wire !== "public_ip") return true;
  return isAddress(desired)
    ? !Object.values(object).includes(desired)
    : hasPublicAddress(field, object) === meansNoAddress(desired);
}

/**
 * The error about an imported object that can't become what the program asks for.
 *
 * @param cause the error of the update that should have made them equal
 */
export function importDiffers(
  { kind }: Context,
  id: string,
  inputs: Desired,
  sides: readonly PropertySides[],
  cause?: CloudInfraError,
): CloudInfraError {
  const secrets = secretsOf(inputs);
  const before = cause === undefined ? "nothing was changed. " : "";
  return new CloudInfraError(
    "import_differs",
    `${kind.name} ${id}, which \`import\` names, is not what the program asks for, and can't be made so in place`,
    {
      lines: importTable(sides, secrets),
      cause,
      hint:
        `${before}Write into the program what the service has; ` +
        "or take the `import` option out to get another one",
    },
  );
}
