import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { addressBeside, publicAddressIn } from "./addresses";
import {
  isIgnored,
  type Labels,
  labelsOf,
  mentionsProperty,
  type PropertyPaths,
  sameValue,
  sshKeysIn,
} from "./changes";
import { appliedIn, isUnreadable, remoteKeysOf, remoteTextOf } from "./remote-values";
import type { Arguments, Field, Json, Kind, WireFields } from "./resource-fields";
import type { DesiredArguments, Recorded } from "./state";

/** Returns the body of a creation request (§2.2, §4.2), which is always the same for equal inputs, because a retry must repeat it. */
export function creationBody(fields: readonly Field[], inputs: Arguments): string {
  const body = fields
    .filter((field) => inputs[field.name] !== undefined)
    .map((field) => [field.wire, field.type === "labels" ? sorted(inputs[field.name]) : inputs[field.name]]);
  return JSON.stringify(Object.fromEntries(body));
}

function sorted(labels: Json): Labels {
  return Object.fromEntries(Object.entries(labelsOf(labels)).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The sources of an update's body: the state, the inputs, and the object that was read before the update. */
interface Sources {
  readonly olds: Recorded;
  readonly news: DesiredArguments;
  readonly current: WireFields;
  readonly ignored: PropertyPaths;
}

/**
 * Returns the body of an update (§4.5), which contains every field of the creation request (§2.2). Unmanaged fields keep their current
 * values, so that the update doesn't remove changes by other users. Other fields are omitted, because the service may set them itself, and
 * then reject them or act on an outdated value.
 *
 * @throws CloudInfraError `revision_conflict` if the object has a value that can't be sent back
 */
export function updateBody(fields: readonly Field[], sources: Sources): string {
  const body = fields
    .map((field) => [field.wire, sentValue(field, sources)])
    .filter(([, value]) => value !== undefined && value !== null);
  return JSON.stringify(Object.fromEntries(body));
}

function sentValue(field: Field, sources: Sources): unknown {
  const { olds, news, ignored } = sources;
  const [before, desired] = [olds[field.name], news[field.name]];
  // An ignored field is sent even if the reply omits it, because omitting a field from the body would remove its value.
  if (isIgnored(ignored, [field.name]))
    return isShown(field, sources) ? currentValue(field, sources) : sendable(field, desired);
  if (before === undefined && desired === undefined) return currentValue(field, sources);
  if (field.type === "labels") return mergedLabels(field, sources);
  if (desired === undefined) return field.type === "keys" ? [] : undefined;
  // If an index of the list is ignored, the key at that index may be in the form that the service returns.
  return mentionsProperty(ignored, field.name) ? sendable(field, desired) : desired;
}

const isShown = (field: Field, sources: Sources): boolean => shownIn(field, sources) !== undefined;

const shownIn = (field: Field, { olds, current }: Sources): unknown => {
  const { ipAddress, applied = {}, [field.name]: value } = olds;
  const recorded = { ipAddress, applied: appliedIn(applied, field.name) };
  return addressBeside(field, value, current, recorded) ?? current[field.wire];
};

/** Returns the current value in a form that can be sent: the applied value if the object still has the recorded remote value. */
function currentValue(field: Field, sources: Sources): unknown {
  const { name } = field;
  const { remoteValues = {}, [name]: own } = sources.olds;
  const shown = shownIn(field, sources);
  if (field.type === "labels") return shown && currentLabels(field, shown);
  if (shown === undefined) return shown;
  const known = Object.hasOwn(remoteValues, name) ? remoteValues[name] : own;
  const remote = field.type === "text" ? remoteTextOf(field, shown, known) : shown;
  const isUnknown = remote === null && field.change === "replace"; // such a field always has a value
  const isAsKnown = isUnknown || sameValue(field, remote, known);
  if (own !== undefined && own !== "" && isAsKnown && isSendable(field, own)) return own;
  // The field may be null although the object has an address. Omitting the field from the body would remove the address.
  const address = publicAddressIn(field, sources.current);
  const value = remote === true ? (address ?? remote) : (remote ?? address);
  return sendable(field, typeof value === "number" ? String(value) : value);
}

function sendable(field: Field, value: unknown): unknown {
  if (isSendable(field, value)) return value;
  const { name } = field;
  const message = `the service returned ${name} in a format that an update can't send back, so the update would change the value`;
  const hint = `Set ${name} in the program, and remove ${name} from ignoreChanges. Nothing was overwritten`;
  throw new CloudInfraError("revision_conflict", message, { hint });
}

/** Matches a JSON object or list, which a state may contain instead of a plain value. */
const JSON_TEXT = /^(?:\{|\[["{[])/;

function isSendable({ type }: Field, value: unknown): boolean {
  if (value === undefined || value === null || type === "labels") return true;
  if (type === "keys") return sshKeysIn(value) !== undefined;
  return typeof value !== "object" && typeof value !== "boolean" && !JSON_TEXT.test(String(value));
}

function mergedLabels(field: Field, sources: Sources): Labels {
  const { olds, news, current, ignored } = sources;
  const now = currentLabels(field, current[field.wire]);
  const managedBefore = remoteKeysOf(field, now, Object.keys(labelsOf(olds[field.name])));
  const isLeft = (key: string): boolean => isShown(field, sources) && isIgnored(ignored, [field.name, key]);
  const replaced = new Set([...managedBefore].flatMap(([key, shown]) => (isLeft(key) ? [] : [shown])));
  const kept = Object.entries(now).filter(([key]) => isLeft(key) || !replaced.has(key));
  const own = Object.entries(labelsOf(news[field.name])).filter(([key]) => !isLeft(key));
  return sorted(Object.fromEntries([...kept, ...own]));
}

/** Returns the labels of the object as strings, which requests contain. A label that is null doesn't exist. */
function currentLabels(field: Field, shown: unknown): Labels {
  if (isUnreadable(field, shown)) {
    const { name } = field;
    const message = `the service returned ${name} in an unknown format, so the update might remove unmanaged ${name}`;
    const hint =
      "Change the instance in the service, then run `pulumi refresh`. " +
      "To get support for this format, report it to the maintainers of pulumi-cloudinfra. Nothing was overwritten";
    throw new CloudInfraError("revision_conflict", message, { hint });
  }
  const labels = Object.entries(labelsOf(shown)).filter(([, label]) => label !== null);
  return Object.fromEntries(
    labels.map(([key, label]) => [key, typeof label === "object" ? label : String(label)]),
  );
}

/**
 * Throws an error if the reply omits unmanaged fields that the object's own URL has returned, and that the update would remove. If the
 * object's own URL omits a field at a new revision, another user has removed the field.
 */
export function requireUnmanagedShown(
  kind: Kind,
  { id, olds }: { readonly id: string; readonly olds: Recorded },
  { fields, revision, isFromOwnUrl }: ApiObject,
): void {
  const { unmanaged = {}, shown = [] } = olds;
  const hidden = kind.fields.filter(
    ({ name, wire }) => shown.includes(name) && unmanaged[name] !== undefined && fields[wire] === undefined,
  );
  if ((isFromOwnUrl && revision !== olds.revision) || hidden.length === 0) return;
  const names = hidden.map(({ name }) => name).join(", ");
  const message = `the service returned ${kind.name} ${id} without ${names}, so the update would remove unmanaged values`;
  const hint =
    `Run \`pulumi up\` again when the service returns ${names}. Lists may omit properties, and so may replies to a token with fewer permissions. ` +
    `If the values no longer exist, change the ${kind.name} in the service, then run \`pulumi refresh\`. Nothing was overwritten`;
  throw new CloudInfraError("revision_conflict", message, { hint });
}
