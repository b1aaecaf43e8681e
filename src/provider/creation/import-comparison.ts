import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import { type Call, soughtOf } from "../call";
import type { Properties } from "../host";
import { keepingIgnored, type Paths } from "../inputs/ignored";
import { secretsOf } from "../inputs/secrets";
import { findNow } from "../looks/absence";
import { differing, type Side, sidesOf } from "../updates/conflict";
import { importTable } from "../updates/conflict-table";
import {
  asksForAddress,
  hasPublicAddress,
  isAddress,
  meansNoAddress,
  publicAddressIn,
} from "../values/addresses";
import { type Field, isChanged, sameValue } from "../values/fields";
import { withExactKeys } from "../values/label-keys";
import { outputsOf } from "../values/outputs";
import { hiddenOf } from "../values/state";
import { asValue, type WireFields, wordOf, wordsAfter } from "../values/words";

/** An object that `import` names, beside what the program asks for. */
interface Compared {
  readonly object: ApiObject;
  /** The state as it would be if the program had declared what the object has. */
  readonly there: Properties;
  /** The inputs, without what the program ignores. */
  readonly wanted: Properties;
  /** What has to be changed in place. */
  readonly differences: readonly Side[];
}

/**
 * Reads the object that `import` names, and compares it with the program.
 *
 * @throws CloudInfraError `not_found` if the service doesn't show it; `import_differs` if only a replacement could make it what the program asks
 * for
 */
export async function compared(call: Call, inputs: Properties, id: string): Promise<Compared> {
  const object = await toTakeOver(call, inputs, id);
  const { kind, session } = call;
  // Nothing shows yet that the service keeps keys in lower case: a label whose key differs only in case may be somebody else's.
  const exact = { ...call, kind: withExactKeys(kind) };
  const ignored = session.memory.ignoredBy(hiddenOf(inputs).__key);
  const there = asItStands(exact, object, inputs, ignored);
  const wanted = keepingIgnored(kind.fields, ignored, { olds: there, news: inputs });
  // An empty list removes keys that aren't shown. But the update must not remove anything else that isn't shown.
  const isOther = ({ isShown, field, desired }: Side): boolean => {
    const compare = canRemove(exact, object, field) ? isChanged : isUnlike;
    return !isShown && compare(field, there[field.name], desired);
  };
  const differences = sidesOf(exact.kind.fields, { olds: {}, news: wanted }, object.fields).filter(
    (side) => differing(side) || isOther(side),
  );
  const lasting = differences.filter(({ field }) => field.change === "replace");
  if (lasting.length > 0) throw importDiffers(call, id, inputs, lasting);
  return { object, there, wanted, differences };
}

const isUnlike = (field: Field, one: unknown, other: unknown): boolean => !sameValue(field, one, other);

/** Whether an update can't remove anything of an object but a certain field: everything else is shown, and so is the revision. */
function canRemove({ kind }: Call, { fields, revision }: ApiObject, field: Field): boolean {
  const others = kind.fields.filter((one) => one.change === "in place" && one !== field);
  const isShown = (one: Field): boolean =>
    fields[one.wire] !== undefined && (fields[one.wire] !== null || !hasPublicAddress(one, fields));
  return revision !== undefined && others.every(isShown);
}

async function toTakeOver(call: Call, inputs: Properties, id: string): Promise<ApiObject> {
  const found = await findNow(call, soughtOf(call.kind, id, inputs));
  if (found !== undefined) return found;
  throw new CloudInfraError(
    "not_found",
    `the ${call.kind.name} ${id}, which \`import\` names, is not there`,
    {
      hint:
        "nothing was made. Correct the id (and the project), or take the `import` option out of the program: " +
        `then \`pulumi up\` makes ${call.kind.article} ${call.kind.name}`,
    },
  );
}

function asItStands(call: Call, object: ApiObject, inputs: Properties, ignored: Paths): Properties {
  const values = Object.fromEntries(
    call.kind.fields
      .filter(({ name }) => inputs[name] !== undefined)
      .map((field) => [field.name, valueThere(field, object.fields, inputs, ignored)]),
  );
  const words = wordsAfter(call.kind.fields, values, object.fields);
  // An address may be how the service shows the mode.
  const modes = call.kind.fields.filter(
    ({ name }) => isAddress(values[name]) && asksForAddress(inputs[name]),
  );
  const applied = Object.fromEntries(modes.map(({ name }) => [name, { value: inputs[name] }]));
  return outputsOf(call, object, { hidden: inputs, values, words, applied, before: {} });
}

/** The program's value if the object has it, or may have it: what is ignored and not shown may be hidden, and an update would remove it. */
function valueThere(field: Field, object: WireFields, inputs: Properties, ignored: Paths): unknown {
  const value = inputs[field.name];
  const sides = sidesOf([field], { olds: {}, news: inputs }, object);
  if (sides.some(isUnset)) {
    const hidden = keepingIgnored([field], ignored, { olds: inputs, news: {} })[field.name];
    const isAddressIgnored = field.wire === "public_ip" && hidden !== undefined;
    return isAddressIgnored ? publicAddressIn(field, object) : hidden;
  }
  return sides.some(differing) ? asValue(field, wordOf(field, object, value)) : value;
}

/** Whether a property that isn't shown counts as not set, because many services omit what has no value. The address may show elsewhere. */
function isUnset({ field, isShown, desired, object }: Side): boolean {
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
  { kind }: Call,
  id: string,
  inputs: Properties,
  sides: readonly Side[],
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
