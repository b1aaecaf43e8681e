import type { ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import type { Entry } from "../../journal/entry";
import {
  asksForAddress,
  hasPublicAddress,
  isAddress,
  meansNoAddress,
  publicAddressIn,
} from "../../model/addresses";
import { isChanged, type PropertyPaths, sameValue, withIgnoredValues } from "../../model/changes";
import { isSameName } from "../../model/names";
import { initialOutputs, outputsOf } from "../../model/outputs";
import { sentFields } from "../../model/pending";
import {
  type ComparedProperty,
  compareProperties,
  differsFromDesired,
} from "../../model/property-comparison";
import {
  remoteValueOf,
  remoteValuesAfter,
  toProgramValue,
  withCaseSensitiveKeys,
} from "../../model/remote-values";
import {
  type Arguments,
  type Field,
  identityKey,
  isUrnOf,
  type Kind,
  type WireFields,
} from "../../model/resource-fields";
import { secretsOf } from "../../model/secrets";
import type { Desired } from "../../model/state";
import { isTerminal } from "../../polling/wait";
import { findFresh } from "../absence";
import { argumentsOf, type Context, fetchOperation, identityOf, objectRefOf } from "../context";
import { alreadyManaged, claimForImport, isLiveElsewhere, markLive } from "../object-ownership";
import { PartialState } from "../partial-state";
import { applyUpdate, NotApplied } from "../update/apply";
import { importTable } from "../update/conflict-table";
import type { Begun } from "./run";
import { findUnfinishedCreation, finishAndDiscard, markFinished } from "./unfinished";

/** Returns the id in the `import` option, unless the resource has already imported that object. */
export async function idToAdopt(context: Context, inputs: Desired): Promise<string | undefined> {
  const { tracker, journal } = context.session;
  const { importId: id, urn } = inputs;
  if (id === undefined) return undefined;
  const object = identityOf(context, id);
  // With an error hook, the engine may repeat a `create` call that failed after the object was adopted.
  const live = tracker.liveOwner(object);
  const isRepeated = live?.urn === urn && live?.isAdopted === true;
  if (!isRepeated && tracker.hasImported(urn, id)) return undefined;
  if (await journal.run.has({ gone: identityKey(object) })) return undefined;
  if (!tracker.wasDeleted(object)) return id;
  // For example, the object may have been discarded with its unfinished creation.
  const { name } = context.kind;
  const message = `${name} ${id} was deleted in this run, before it could be imported`;
  const hint = `Correct the \`import\` option, or remove it: \`pulumi up\` then creates another ${name}`;
  throw new CloudInfraError("not_found", message, { hint });
}

/**
 * Adopts an existing object, because dynamic providers don't support Pulumi's own import. Differences between the object and the program
 * are updated in place with If-Match.
 *
 * @throws CloudInfraError `not_found` if the object doesn't exist, or `import_differs` if it requires a replacement. In both cases, nothing
 * is changed
 */
export async function adopt(context: Context, inputs: Desired, id: string) {
  await requireUnmanaged(context, inputs, id);
  const before = await compareForImport(context, inputs, id);
  const unfinished = await findUnfinishedCreation(context, inputs);
  await requireUnmanaged(context, inputs, id); // the diff of another resource may have claimed the object in the meantime
  await markLive(context, inputs, id, { isAdopted: true });
  await requireUnmanagedElsewhere(context, id); // another process may have recorded the object at the same time
  // The unfinished creations of other resources that may have created the imported object.
  const creators = (await context.session.journal.list()).filter(
    (entry) =>
      isUrnOf(context.kind, entry.urn) && [id, undefined].includes(entry.id) && entry.key !== unfinished?.key,
  );
  const isFinished = unfinished === undefined || (await hasCreated(context, unfinished, before.object));
  // The user may be importing the object because the outcome of the creation is unknown. The journal entry is kept until the import has
  // succeeded, because the creation may have created the imported object.
  if (!isFinished) await finishAndDiscard(context, inputs, unfinished, { mayBeLost: true });
  const compared = isFinished ? before : await compareForImport(context, inputs, id);
  const { object, found, wanted, differences } = compared;
  const release = async (): Promise<void> => {
    await releaseObject(creators, context, before.object);
    if (unfinished === undefined) return;
    await markFinished(context, unfinished);
    await context.session.journal.remove(unfinished.key);
  };
  try {
    const outs =
      differences.length === 0
        ? initialOutputs(context, object, inputs, argumentsOf(context, wanted))
        : (await applyUpdate(context, id, found, wanted)).outs;
    await release();
    return { id, outs };
  } catch (error) {
    // Otherwise, the state would contain the object, although nothing is left to finish.
    if (error instanceof PartialState && error.code === "operation_failed") throw error.why;
    if (error instanceof PartialState) await release(); // the state contains the object
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "refused") throw importDiffers(context, id, inputs, differences, error);
    if (!(error instanceof NotApplied)) throw error;
    const unapplied = differences.filter(({ field }) => error.fields.includes(field));
    throw importDiffers(context, id, inputs, unapplied, error);
  }
}

async function requireUnmanaged(context: Context, inputs: Desired, id: string): Promise<void> {
  const { urn = "" } = inputs;
  await requireUnmanagedElsewhere(context, id);
  const holder = claimForImport(context.session.tracker, identityOf(context, id), urn);
  if (holder !== urn) throw alreadyManaged(context.kind, id, holder);
}

async function requireUnmanagedElsewhere(context: Context, id: string): Promise<void> {
  if (await isLiveElsewhere(context.session.journal, identityOf(context, id)))
    throw alreadyManaged(context.kind, id);
}

/** Reports whether an unfinished creation has made the object. A running operation may still contain a different id. */
async function hasCreated(context: Context, unfinished: Begun, { id, fields }: ApiObject) {
  const { id: known, operation } = unfinished;
  // The service may return the end of an operation only once. The call that resumes the creation then needs that reply.
  const isOtherName = fields.name !== undefined && !isSameName(fields.name, sentFields(unfinished).name);
  if (known !== undefined || operation === undefined || isOtherName) return known === id;
  // The import must not fail because of an operation that can't be read.
  const seen = await fetchOperation(context, operation).catch(() => undefined);
  return seen !== undefined && isTerminal(seen) && context.session.client.resultId(seen) === id;
}

/** Records that the state contains the object, so that no unfinished creation deletes or adopts the object (I3). */
async function releaseObject(creators: readonly Entry[], context: Context, object: ApiObject) {
  const { journal } = context.session;
  for (const entry of creators) {
    const { key } = entry;
    if (entry.id === object.id || (!journal.held.has(key) && (await hasCreated(context, entry, object)))) {
      // A check may have assigned the key of the creation to its resource. A request with this key would return the imported object.
      await markFinished(context, { key });
      await journal.mark(key, "given-up"); // the state may contain the creation
      await journal.remove(key);
    } else await journal.extend(key, { imported: [object.id] });
  }
}

/**
 * Reads the object to import, and compares it with the program. `found` is the state that matches the object. `wanted` are the inputs, with
 * the object's values for ignored properties.
 *
 * @throws CloudInfraError `not_found` if the object doesn't exist, or `import_differs` if it requires a replacement
 */
async function compareForImport(context: Context, inputs: Desired, id: string) {
  const { kind, session } = context;
  const object = await findFresh(context, objectRefOf(kind, id, inputs));
  if (object === undefined) throw notFound(kind, id);
  // A label whose key differs only in case may belong to another user, unless the service is known to convert keys to lower case.
  const exact = { ...context, kind: withCaseSensitiveKeys(kind) };
  const ignored = session.tracker.ignoredBy(inputs.key);
  const found = stateAsFound(exact, object, inputs, ignored);
  const wanted = withIgnoredValues(kind.fields, ignored, { olds: found, news: inputs });
  // An empty list of keys also removes keys that the reply omits. The update must not remove any other omitted property.
  const isOther = ({ isShown, field, desired }: ComparedProperty): boolean => {
    const value = found[field.name];
    const isSame = sameValue(field, value, desired);
    return !isShown && (canRemove(exact, object, field) ? isChanged(field, value, desired) : !isSame);
  };
  const differences = compareProperties(exact.kind.fields, { olds: {}, news: wanted }, object.fields).filter(
    (compared) => differsFromDesired(compared) || isOther(compared),
  );
  const lasting = differences.filter(({ field }) => field.change === "replace");
  if (lasting.length > 0) throw importDiffers(context, id, inputs, lasting);
  return { object, found, wanted, differences };
}

/** Reports whether the reply contains the revision and all other fields, so that an update can't remove any other field. */
function canRemove({ kind }: Context, { fields, revision }: ApiObject, field: Field): boolean {
  const others = kind.fields.filter((one) => one.change === "in place" && one !== field);
  const isShown = (one: Field): boolean =>
    fields[one.wire] !== undefined && (fields[one.wire] !== null || !hasPublicAddress(one, fields));
  return revision !== undefined && others.every(isShown);
}

function notFound({ name, article }: Kind, id: string): CloudInfraError {
  const message = `${name} ${id}, specified by the \`import\` option, doesn't exist`;
  const hint =
    `Check the id and the project in the program. To create ${article} ${name} instead, remove the \`import\` option. ` +
    "Nothing was created";
  return new CloudInfraError("not_found", message, { hint });
}

function stateAsFound(context: Context, object: ApiObject, inputs: Desired, ignored: PropertyPaths) {
  const { fields } = context.kind;
  const given = fields.filter(({ name }) => inputs[name] !== undefined);
  const values = Object.fromEntries(
    given.map((field) => [field.name, valueAsFound(field, object.fields, inputs, ignored)]),
  );
  const remoteValues = remoteValuesAfter(fields, values, object.fields);
  // The service may return an address instead of the mode.
  const modes = given.filter(({ name }) => isAddress(values[name]) && asksForAddress(inputs[name]));
  const applied = Object.fromEntries(modes.map(({ name }) => [name, { value: inputs[name] }]));
  return outputsOf(context, object, { hidden: inputs, values, remoteValues, applied, before: {} });
}

/** Returns the program's value if the object has, or may have, this value. Omitted values that are ignored must not be removed. */
function valueAsFound(field: Field, object: WireFields, inputs: Desired, ignored: PropertyPaths): unknown {
  const value = inputs[field.name];
  const properties = compareProperties([field], { olds: {}, news: inputs }, object);
  if (properties.some(isAbsentValue)) {
    const none: Arguments = {};
    const hidden = withIgnoredValues([field], ignored, { olds: inputs, news: none })[field.name];
    const isAddressIgnored = field.wire === "public_ip" && hidden !== undefined;
    return isAddressIgnored ? publicAddressIn(field, object) : hidden;
  }
  return properties.some(differsFromDesired)
    ? toProgramValue(field, remoteValueOf(field, object, value))
    : value;
}

/** Reports whether an omitted property is treated as not set. A different field may contain the address. */
function isAbsentValue({ field, isShown, desired, object }: ComparedProperty): boolean {
  if (isShown || field.change !== "in place") return false;
  if (field.wire !== "public_ip") return true;
  return isAddress(desired)
    ? !Object.values(object).includes(desired)
    : !(hasPublicAddress(field, object) ? asksForAddress(desired) : meansNoAddress(desired));
}

function importDiffers(
  { kind }: Context,
  id: string,
  inputs: Desired,
  properties: readonly ComparedProperty[],
  cause?: CloudInfraError,
): CloudInfraError {
  const message = `${kind.name} ${id}, specified by the \`import\` option, differs from the program in properties that can't be changed in place`;
  const after = cause === undefined ? ". Nothing was changed" : "";
  const hint = `Change the program to match the object, or remove the \`import\` option to create a new ${kind.name}${after}`;
  const lines = importTable(properties, secretsOf(inputs));
  return new CloudInfraError("import_differs", message, { lines, cause, hint });
}
