import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { compareRemoteValues } from "../model/drift";
import { KEY_KEPT_MS } from "../model/idempotency-key";
import { hasRandomName, isSameName } from "../model/names";
import { inUtc, isLaterMoment } from "../model/outputs";
import { type Pending, sentFields } from "../model/pending";
import type { Kind } from "../model/resource-fields";
import type { Recorded } from "../model/state";
import { isFailure, type Operation } from "../polling/wait";
import { isProjectVisible } from "./absence";
import { argumentsOf, type Context } from "./context";
import type { ObjectRef } from "./lookup/object-getter";
import { checkHint } from "./partial-state";

/** The assumed maximum duration of a creation, in seconds. `created_at` may be its start and then, also in lagging reads, its end. */
const MAX_CREATION_S = 3_600;

/** Whether the object with the recorded id is the recorded object. If the evidence is contradictory, the result is `unclear`. */
export type IdentityMatch = "same" | "different" | "unclear";

/**
 * Compares the object with the recorded id to the recorded object, because services may reuse ids (I1). A later creation date alone proves
 * nothing, because services may also set the date when they rebuild or restore an object.
 */
export function compareIdentity(
  { kind }: Pick<Context, "kind">,
  { fields }: ApiObject,
  state: Partial<Recorded>,
): IdentityMatch {
  const { createdAt, isEcho, name, remoteValues = {}, applied = {}, pending } = state;
  const isNamed = (...names: unknown[]): boolean => names.some((one) => isSameName(fields.name, one));
  // An update of unknown outcome may have renamed the object.
  const isOtherName = !isNamed(name, remoteValues.name, pending?.asked?.name);
  const [now, recorded] = [fields.created_at, createdAt].map(inUtc);
  if (!isLaterMoment(now, recorded)) {
    const isBefore = !isEcho && isLaterMoment(recorded, now, MAX_CREATION_S);
    return isBefore && isOtherName && fields.name !== undefined ? "unclear" : "same";
  }
  const mayBeEnd = !isLaterMoment(now, recorded, MAX_CREATION_S);
  if (mayBeEnd && isEcho) return "same";
  if (hasRandomName(state) && isNamed(name, remoteValues.name)) return "same";
  const compared = kind.fields.filter((field) => field.name === "name" || field.change === "replace");
  const known = { values: argumentsOf({ kind }, state), remoteValues, applied };
  const { drifted } = compareRemoteValues(compared, known, fields);
  if (drifted.includes("name") && isOtherName) return "different";
  return mayBeEnd && drifted.every((one) => one === "name") ? "same" : "unclear";
}

/**
 * Reports whether a different object now has the recorded id, so that the recorded object no longer exists. A reused id requires two
 * independent checks while the project is visible. A warning mentions the other object, which isn't changed.
 *
 * @param shown the object with the recorded id, as it was just read
 * @throws CloudInfraError `forbidden` if the object may be a different one, or if the token may belong to another account
 */
export async function isIdReused(
  context: Context,
  ref: ObjectRef,
  shown: ApiObject,
  state: Partial<Recorded>,
): Promise<boolean> {
  const match = await compareTwice(context, ref, shown, (object) => compareIdentity(context, object, state));
  if (match === "same") return false;
  if (match === "unclear") throw mayBeDifferent(context, shown, state);
  if (!(await isProjectVisible(context, ref))) throw mayBeOtherAccount(context, shown);
  await context.session.warn(
    `cloudinfra: ${ref.kind.name} ${ref.id} no longer exists: ${describeSuccessor(ref.kind, shown)} now has its id. ` +
      `Pulumi doesn't manage or change the new ${ref.kind.name}.`,
  );
  return true;
}

/** The maximum time between the end of an operation and the creation date of its object, in seconds. */
const END_TOLERANCE_S = 60;

/**
 * Determines whether an unfinished creation made an object (I1). A random name proves it. An object that was created after the end of the
 * operation is another one. The other dates are less precise, so they prove something only together with a different name. An object
 * that is older than the request is unclear without such proof, because the clock of this machine may be wrong.
 *
 * @param evidence the finished operation, or the object in the replayed reply to the creation request
 * @param key the key of the resource. A retried creation has a different key, but the same name
 */
export function compareCreated(
  { fields }: ApiObject,
  pending: Pending,
  evidence: Operation | ApiObject | undefined,
  key: string | undefined,
): IdentityMatch {
  if (hasNameFromKey(fields, pending, key)) return "same";
  const operation = evidence !== undefined && "status" in evidence ? evidence : undefined;
  const reply = evidence !== undefined && "fields" in evidence ? evidence.fields : undefined;
  const { name } = sentFields(pending);
  // The record may be damaged, and the reply to the creation request may already contain a normalized name.
  const isOtherName =
    ![fields.name, name].includes(undefined) &&
    ![name, reply?.name].some((one) => isSameName(fields.name, one));
  const { startedAt, finishedAt } = operation ?? {};
  const hasFailed = pending.failed === true || (operation !== undefined && isFailure(operation));
  if (isEarlier(fields, pending)) {
    const isProven = isOtherName && isLaterMoment(startedAt, fields.created_at, MAX_CREATION_S);
    return isProven || hasFailed ? "different" : "unclear";
  }
  const isAfter = (date: unknown, seconds: number): boolean =>
    isLaterMoment(fields.created_at, date, seconds);
  if (reply !== undefined) {
    const tolerance = isOtherName ? END_TOLERANCE_S : MAX_CREATION_S;
    return isAfter(reply.created_at, tolerance) ? "different" : "same";
  }
  const { at = Number.NaN } = pending;
  if (isAfter(finishedAt, END_TOLERANCE_S)) return "different";
  const isLate = (start: string | undefined): boolean =>
    finishedAt === undefined && isAfter(startedAt ?? start, MAX_CREATION_S);
  if (isOtherName && isLate(toDate(at + KEY_KEPT_MS))) return "different";
  const isOutside = isLate(toDate(at));
  if (operation === undefined)
    return isOtherName || isOutside ? (hasFailed ? "different" : "unclear") : "same";
  // The service may have reused the id of the operation.
  const isOtherOperation = isLaterMoment(startedAt, toDate(at), MAX_CREATION_S);
  return isOtherName && (isOutside || isOtherOperation) ? "unclear" : "same";
}

function hasNameFromKey(fields: ApiObject["fields"], pending: Pending, key: string | undefined): boolean {
  const { name } = sentFields(pending);
  const isRandom = [pending.key, key].some((one) => hasRandomName({ key: one, name }));
  return isRandom && isSameName(fields.name, name);
}

function isEarlier({ created_at }: ApiObject["fields"], { at }: Pending): boolean {
  return isLaterMoment(toDate(at), created_at, MAX_CREATION_S);
}

/** Throws an error if the service has returned an older object for a new creation, for example because the object has the same name. */
export function requireNewObject(
  context: Context,
  object: ApiObject,
  pending: Pending,
  key: string | undefined,
): void {
  const { fields } = object;
  if (!isEarlier(fields, pending) || hasNameFromKey(fields, pending, key)) return;
  throw resultUnclear(context, object, pending);
}

/**
 * Determines whether the object with the id of an unfinished creation's object is that object, like {@link compareCreated}. A different
 * object requires two independent checks. A warning then mentions the other object, which isn't changed.
 */
export async function confirmCreated(
  context: Context,
  shown: ApiObject,
  pending: Pending,
  evidence: Operation | ApiObject | undefined,
  key: string | undefined,
): Promise<IdentityMatch> {
  const { kind } = context;
  const ref = { kind, id: shown.id, project: sentFields(pending).project };
  const match = await compareTwice(context, ref, shown, (object) =>
    compareCreated(object, pending, evidence, key),
  );
  if (match !== "different") return match;
  const what = isEarlier(shown.fields, pending)
    ? `the service returned ${describeSuccessor(kind, shown)} with the id ${shown.id} as the result of a later creation`
    : `an interrupted run created ${kind.name} ${shown.id}, which no longer exists: ${describeSuccessor(kind, shown)} now has its id`;
  await context.session.warn(`cloudinfra: ${what}. Pulumi doesn't manage or change this ${kind.name}.`);
  return match;
}

/** Determines the same as {@link confirmCreated}. @throws CloudInfraError `operation_unknown` if the result is unclear */
export async function confirmCreatedOrThrow(
  ...args: Parameters<typeof confirmCreated>
): Promise<Exclude<IdentityMatch, "unclear">> {
  const [context, shown, pending] = args;
  const match = await confirmCreated(...args);
  if (match === "unclear") throw resultUnclear(context, shown, pending);
  return match;
}

export function resultUnclear({ kind }: Context, shown: ApiObject, pending: Pending): CloudInfraError {
  const { operation } = pending;
  const why = isEarlier(shown.fields, pending)
    ? ", because it is older than the request"
    : operation === undefined
      ? ""
      : `, because the service may have reused the id of operation ${operation.id}`;
  const message = `${describeSuccessor(kind, shown)} with the id ${shown.id} may not be the result of the creation${why}`;
  return new CloudInfraError("operation_unknown", message, {
    hint: `${checkHint(kind)}. Then run \`pulumi state delete <urn>\` and \`pulumi up\``,
  });
}

function toDate(ms = Number.NaN): string | undefined {
  return new Date(ms).toJSON() ?? undefined;
}

/** Compares an object. Unless it is the same, compares it again after a lookup with a different method than the one that returned `shown`. */
async function compareTwice(
  context: Context,
  ref: ObjectRef,
  shown: ApiObject,
  compare: (object: ApiObject) => IdentityMatch,
): Promise<IdentityMatch> {
  if (compare(shown) === "same") return "same";
  const first = { missing: shown.isFromOwnUrl ? "get" : "list" } as const;
  const again = await context.session.finder.findAgain(ref, first, context);
  // A list may omit the date or the name.
  return compare("found" in again ? { ...shown, fields: { ...shown.fields, ...again.found.fields } } : shown);
}

function describeSuccessor({ name }: Kind, { fields }: ApiObject): string {
  const title = typeof fields.name === "string" ? ` "${fields.name}"` : "";
  return `another ${name}${title}, created at ${String(fields.created_at)},`;
}

/** Throws an error unless an object is the recorded object. */
export function requireSameObject(context: Context, shown: ApiObject, state: Recorded): void {
  const identity = compareIdentity(context, shown, state);
  if (identity === "different") throw idReused(context, shown);
  if (identity === "unclear") throw mayBeDifferent(context, shown, state);
}

/** Returns the error for an object that may be the recorded object with a new creation date, or a different object with its id. */
function mayBeDifferent(
  { kind: { name } }: Context,
  { id, fields }: ApiObject,
  { createdAt }: Partial<Recorded>,
): CloudInfraError {
  const message =
    `${name} ${id} may now be a different ${name}: it was created at ${String(fields.created_at)}, but the ${name} in the state was ` +
    `created at ${String(createdAt)}`;
  const hint =
    `Nothing was changed. Check the token, and check the ${name} in the service. If it is still the same ${name}, set the \`import\` ` +
    `option to its id. Then run \`pulumi state delete <urn>\` and \`pulumi up\`. Without the \`import\` option, \`pulumi up\` creates another ${name}`;
  return new CloudInfraError("forbidden", message, { hint });
}

function mayBeOtherAccount({ kind, session }: Context, shown: ApiObject): CloudInfraError {
  const message = `the service returned ${describeSuccessor(kind, shown)} for ${kind.name} ${shown.id}: the token may belong to another account`;
  const hint =
    `Check the token and cloudinfra:endpoint (${session.client.endpoint}). If the service has reused the id, remove the ${kind.name} from the ` +
    "state with `pulumi state delete <urn>`. Nothing was changed";
  return new CloudInfraError("forbidden", message, { hint });
}

/** Returns the error for an update of an object whose id now belongs to a different object. */
export function idReused({ kind }: Context, shown: ApiObject): CloudInfraError {
  const message = `${kind.name} ${shown.id} no longer exists: ${describeSuccessor(kind, shown)} now has its id`;
  const hint =
    "Check that the token belongs to this stack's account. Then run `pulumi refresh` to remove the " +
    `${kind.name} from the state. The next \`pulumi up\` recreates it`;
  return new CloudInfraError("not_found", message, { hint });
}
