import type { ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import { type Call, soughtOf, valuesOf } from "../call";
import type { Properties } from "../host";
import { identityOf, textOf } from "../identity";
import { keepingIgnored, type Paths } from "../inputs/ignored";
import { secretsOf } from "../inputs/secrets";
import type { Kind } from "../kind";
import { alreadyManaged, becomesLive, holderOf, isLiveElsewhere } from "../live";
import { findNow } from "../looks/absence";
import { NotApplied, update } from "../update";
import { differing, type Side, sidesOf } from "../updates/conflict";
import { importTable } from "../updates/conflict-table";
import {
  asksForAddress,
  hasPublicAddress,
  isAddress,
  meansNoAddress,
  publicAddressIn,
} from "../values/addresses";
import { type Field, sameValue } from "../values/fields";
import { withExactKeys } from "../values/label-keys";
import { outputsOf, outputsOfNew } from "../values/outputs";
import { hiddenOf } from "../values/state";
import { asValue, type WireFields, wordOf, wordsAfter } from "../values/words";
import { leftOverOf, settle, type Unfinished } from "./left-over";
import { type Maker, makersOf, releaseFrom } from "./makers";
import { PartialState } from "./partial";
import { isKeyKept } from "./pending";

/**
 * Returns the id of the object to adopt because of the `import` option. Undefined if the resource had the object before: its replacement
 * creates another one.
 *
 * @throws CloudInfraError `not_found` if this run has deleted the object as another resource's
 */
export async function importedId(call: Call, inputs: Properties): Promise<string | undefined> {
  const { memory, journal } = call.session;
  const { __import: id, __urn: urn } = hiddenOf(inputs);
  if (id === undefined) return undefined;
  const object = identityOf(call, id);
  // An error hook makes the engine repeat a create that has failed after the adoption.
  const live = memory.liveAs(object);
  const isRepeated = live?.urn === urn && live?.adoptedFor !== undefined;
  if (!isRepeated && memory.hasImported(urn, id)) return undefined;
  if (await journal.run.has({ gone: textOf(object) })) return undefined;
  if (memory.isGone(object)) throw deletedBefore(call.kind, id);
  return id;
}

/** The error about an object that was that of an unfinished creation which no longer fitted, for example. */
function deletedBefore({ name }: Kind, id: string): CloudInfraError {
  return new CloudInfraError(
    "not_found",
    `${name} ${id} was deleted in this run, before it could be imported`,
    {
      hint: `Correct the \`import\` option, or remove it: \`pulumi up\` then creates another ${name}`,
    },
  );
}

/**
 * Takes over an object that exists, in place of making one: the host can't import. It is compared with the program first;
 * what can be changed in place is, on condition of its revision.
 *
 * @throws CloudInfraError `not_found` where the service does not show it; `import_differs` where it could only be made what the
 * program asks for by replacing it. Nothing was changed then
 */
export async function adopt(
  call: Call,
  inputs: Properties,
  id: string,
): Promise<{ id: string; outs: Properties }> {
  await requireUnmanaged(call, inputs, id);
  const object = await toTakeOver(call, inputs, id);
  const { kind, session } = call;
  const { __key: key } = hiddenOf(inputs);
  // Nothing shows yet that the service keeps keys in lower case: a label whose key differs only in case may be somebody else's.
  const exact = { ...call, kind: withExactKeys(kind) };
  const ignored = session.memory.ignoredBy(key);
  const there = asItStands(exact, object, inputs, ignored);
  const wanted = keepingIgnored(kind.fields, ignored, { olds: there, news: inputs });
  const differences = sidesOf(exact.kind.fields, { olds: {}, news: wanted }, object.fields).filter(
    (side) =>
      differing(side) || (!side.isShown && !sameValue(side.field, there[side.field.name], side.desired)),
  );
  const lasting = differences.filter(({ field }) => field.change === "replace");
  if (lasting.length > 0) throw differs(call, id, inputs, lasting);
  const left = await leftOverOf(call, inputs);
  await requireUnmanaged(call, inputs, id); // the diff of the resource that has it may have come since
  await becomesLive(call, inputs, id, { isAdopted: true });
  const makers = await makersOf(call, object, inputs);
  if (left !== undefined) await endBefore(call, inputs, left, makers);
  const release = async (): Promise<void> => {
    await releaseFrom(makers, call, id);
    if (left?.key !== undefined) await session.journal.remove(left.key);
  };
  try {
    const outs =
      differences.length === 0
        ? { ...outputsOfNew(call, object, inputs, valuesOf(call, wanted)), ...RESUMED }
        : (await update(call, id, { ...there, ...RESUMED }, wanted)).outs;
    await release();
    return { id, outs };
  } catch (error) {
    if (error instanceof PartialState) await release(); // the state has the object then
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "refused") throw differs(call, id, inputs, differences, error);
    if (!(error instanceof NotApplied)) throw error;
    const unmade = differences.filter(({ field }) => error.fields.includes(field));
    throw differs(call, id, inputs, unmade, error);
  }
}

/** If the engine replaces the resource without telling, an earlier record of the same object may be left to be deleted. */
const RESUMED = { __resumed: true };

/** Two resources never share an object. */
async function requireUnmanaged(call: Call, inputs: Properties, id: string): Promise<void> {
  const { __urn: urn = "" } = hiddenOf(inputs);
  const { memory, journal } = call.session;
  const object = identityOf(call, id);
  const holder = holderOf(memory, object, urn);
  if (holder !== urn) throw alreadyManaged(call.kind, id, holder);
  if (await isLiveElsewhere(journal, object)) throw alreadyManaged(call.kind, id);
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

/** The state as it would be if the program had declared what the object has. */
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
 * Brings an interrupted creation of the resource, which now gets another object, to its end while nothing has been changed yet. If nothing can
 * tell its end, its record stays until the import has succeeded.
 */
async function endBefore(
  call: Call,
  inputs: Properties,
  left: Unfinished,
  makers: readonly Maker[],
): Promise<void> {
  const isSame = makers.some(({ key, isCertain }) => isCertain && key === left.key);
  if (isSame || (left.operation === undefined && !isKeyKept(left))) return;
  await settle(call, inputs, left);
  if (left.key !== undefined) await call.session.journal.remove(left.key);
}

/** @param cause the error of the update that should have made them equal */
function differs(
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
