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

/** An object to import, compared with the program. */
interface ImportComparison {
  readonly object: ApiObject;
  /** The state as if the program had declared the object as it is. */
  readonly there: Recorded;
  /** The inputs, with the object's values for what the program ignores. */
  readonly wanted: Desired;
  /** What must be updated in place. */
  readonly differences: readonly PropertySides[];
}

/**
 * Reads the object that `import` names, and compares it with the program.
 *
 * @throws CloudInfraError `not_found` if it doesn't exist, `import_differs` if it requires a replacement
 */
export async function compareForImport(
  context: Context,
  inputs: Desired,
  id: string,
): Promise<ImportComparison> {
  const object = await findImported(context, inputs, id);
  const { kind, session } = context;
  // Until the service has shown that it changes keys to lower case, a label whose key differs in case may be somebody else's.
  const exact = { ...context, kind: withCaseSensitiveKeys(kind) };
  const ignored = session.tracker.ignoredBy(inputs.key);
  const there = stateAsFound(exact, object, inputs, ignored);
  const wanted = withIgnoredValues(kind.fields, ignored, { olds: there, news: inputs });
  // An empty list removes keys that aren't shown. The update must not remove anything else that isn't shown.
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

/** Whether an update can remove nothing but this field, because the object shows everything else and its revision. */
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
    `${context.kind.name} ${id}, which the \`import\` option names, doesn't exist`,
    {
      hint:
        "Nothing was created. Correct the id (and the project), or remove the `import` option from the program: " +
        `then \`pulumi up\` creates ${context.kind.article} ${context.kind.name}`,
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
  const remoteValues = remoteValuesAfter(context.kind.fields, values, object.fields);
  // The service may show an address in place of the mode.
  const modes = context.kind.fields.filter(
    ({ name }) => isAddress(values[name]) && asksForAddress(inputs[name]),
  );
  const applied = Object.fromEntries(modes.map(({ name }) => [name, { value: inputs[name] }]));
  return outputsOf(context, object, { hidden: inputs, values, remoteValues, applied, before: {} });
}

/** Returns the program's value if the object has it, or may have it: an update must not remove an ignored value that isn't shown. */
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

/** Whether an omitted property counts as not set, as in many services. The address may be shown in another field. */
function isAbsentValue({ field, isShown, desired, object }: PropertySides): boolean {
  if (isShown || field.change !== "in place") return false;
  if (field.wire !== "public_ip") return true;
  return isAddress(desired)
    ? !Object.values(object).includes(desired)
    : hasPublicAddress(field, object) === meansNoAddress(desired);
}

/**
 * Returns the error for an imported object that can't be updated to what the program asks for.
 *
 * @param cause the error of the update
 */
export function importDiffers(
  { kind }: Context,
  id: string,
  inputs: Desired,
  sides: readonly PropertySides[],
  cause?: CloudInfraError,
): CloudInfraError {
  const secrets = secretsOf(inputs);
  const before = cause === undefined ? "Nothing was changed. " : "";
  return new CloudInfraError(
    "import_differs",
    `${kind.name} ${id}, which the \`import\` option names, differs from the program and can't be changed in place`,
    {
      lines: importTable(sides, secrets),
      cause,
      hint: `${before}Change the program to match the object, or remove the \`import\` option to create another ${kind.name}`,
    },
  );
}
