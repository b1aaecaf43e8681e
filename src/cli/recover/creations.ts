import { validate } from "uuid";
import * as v from "valibot";
import { PROVIDER_NAME } from "../../config/settings";
import type { NewEntry } from "../../journal/journal";
import { instanceKind, type Kind, projectKind } from "../../model/kinds";
import { isPlaceholder, type Pending } from "../../model/pending";
import { creationBody } from "../../model/request-body";
import { type Desired, type Properties, parseDesired, parseRecorded, resourceName } from "../../model/state";
import { nextKey } from "../../provider/create/run";
import { type Deployment, type Resource, withoutSecretMarks } from "./export";

const kinds: ReadonlyMap<string, Kind> = new Map([
  ["pulumi-nodejs:dynamic/cloudinfra:Project", projectKind],
  ["pulumi-nodejs:dynamic/cloudinfra:Instance", instanceKind],
]);

/** An interrupted creation whose outcome the state doesn't hold. */
export interface InterruptedCreation {
  /** `instance "web"`. */
  readonly what: string;
  /** The URN under which the next `up` looks for the creation. */
  readonly urn: string;
  /** URN and id of the resource's provider. */
  readonly provider: string | undefined;
  /** The content of the journal entry; undefined if the state doesn't hold enough of the creation. */
  readonly begun: NewEntry | undefined;
}

export interface PendingCreations {
  /** Those that need an entry, the latest first, in the order of the export. */
  readonly cutOff: readonly InterruptedCreation[];
  /** The number of those that need none, because the state holds their key or because they create no object. */
  readonly held: number;
}

/**
 * Finds the pending creations of projects and instances. The engine saves their keys and checked inputs before it sends the request.
 *
 * @throws CloudInfraError `input_invalid` if the export hides secrets
 */
export function pendingCreations(deployment: Deployment): PendingCreations {
  const held = heldKeys(deployment);
  const pending = deployment.pending_operations.flatMap(({ type, resource }) => {
    const kind = type === "creating" ? kinds.get(resource.type) : undefined;
    if (kind === undefined) return [];
    const given = propertiesInClear(resource.inputs);
    const [inputs, replaced] = [parseDesired(given), replacedBy(resource, deployment)];
    return [{ kind, resource, given, inputs, replaced, retried: retriedBy(inputs, replaced) }];
  });
  // A resumed creation that was interrupted again is pending twice, under one key. The request that was sent with the key is the first
  // one, which comes last in the list.
  const identity = ({ inputs, resource, retried }: (typeof pending)[number]): string =>
    JSON.stringify([inputs.key ?? resource.urn, retried?.key]);
  const each = [...new Map(pending.map((one) => [identity(one), one])).values()];
  // A resource with the `import` option adopts an object. Only its replacement creates one.
  const adopts = ({ inputs, replaced }: (typeof each)[number]): boolean =>
    inputs.importId !== undefined && ![replaced?.id, replaced?.inputs.__import].includes(inputs.importId);
  const isHeld = ({ inputs, retried }: (typeof each)[number]): boolean =>
    retried === undefined && held.has(inputs.key ?? "");
  const open = each.filter((one) => !isHeld(one) && !adopts(one));
  const cutOff = open.map(({ kind, resource, given, inputs, replaced, retried }) => {
    const urn = urnForNextUp(resource.urn, inputs.urn);
    return {
      what: titleOf(kind, resource.urn),
      ...{ urn, provider: resource.provider },
      begun: newEntryOf(kind, { ...inputs, urn }, given, {
        replaces: replaced && keysOf(replaced)[0],
        projectKey: keyOfProject(resource, inputs, deployment),
        provider: nameOfProvider(resource, deployment),
        // The list keeps a creation that has been finished since, and whose object the program may have released.
        ...(replaced === undefined && { isLate: true }),
        ...(retried?.key !== undefined && { key: nextKey(retried.key), at: retried.at ?? UNKNOWN_AGE }),
      }),
    };
  });
  return { cutOff, held: each.length - open.length };
}

/**
 * Returns the creations that the next `up` resumes, each as in `instance "web"`. The service may already show its object.
 *
 * @throws CloudInfraError `input_invalid` if the export hides secrets
 */
export function unfinishedCreations(deployment: Deployment): string[] {
  const placeholders = deployment.resources.flatMap(({ type, id = "", urn, outputs }) => {
    const kind = isPlaceholder(id) ? kinds.get(type) : undefined;
    if (kind === undefined || pendingIn(outputs)?.failed) return [];
    return [titleOf(kind, urn)];
  });
  return [...new Set([...placeholders, ...pendingCreations(deployment).cutOff.map(({ what }) => what)])];
}

/** Returns the keys of the unfinished creations that the state records for a URN: each failed `up` may have added one. */
export function placeholderKeys({ resources }: Deployment, urn: string): string[] {
  const placeholders = resources.filter((one) => one.urn === urn && isPlaceholder(one.id ?? ""));
  return [...new Set(placeholders.flatMap(keysOf))];
}

const titleOf = (kind: Kind, urn: string): string => `${kind.name} "${resourceName(urn)}"`;

/**
 * The engine renames the resources and pending operations of a stack, but not their inputs. So the stack and the project are those of
 * the export. The rest is what the provider has compared before: the SDK's URN differs from the engine's if a parent's name contains "::".
 */
function urnForNextUp(urn: string, inInputs: string | undefined): string {
  if (!inInputs?.startsWith("urn:pulumi:")) return urn;
  return [...urn.split("::").slice(0, 2), ...inInputs.split("::").slice(2)].join("::");
}

/**
 * The resource that a pending creation replaces: the one with its URN, or an earlier URN, that has the same time of creation, or was deleted
 * for its replacement.
 */
function replacedBy(pending: Resource, { resources }: Deployment): Resource | undefined {
  const urns = [pending.urn, ...pending.aliases];
  return resources.find(
    ({ urn, created, pendingReplacement }) =>
      urns.includes(urn) && (pendingReplacement || (created !== undefined && created === pending.created)),
  );
}

/** The key of the resource that has the project of an instance. */
function keyOfProject(
  { provider }: Resource,
  { project }: Desired,
  { resources }: Deployment,
): string | undefined {
  const found = resources.find(
    (one) => kinds.get(one.type) === projectKind && one.id === project && one.provider === provider,
  );
  return found && keysOf(found)[0];
}

/** The name that the explicit provider of a resource tells its process. */
function nameOfProvider({ provider }: Resource, { resources }: Deployment): string | undefined {
  const found = resources.find(({ urn, id }) => `${urn}::${id}` === provider);
  const name = found?.inputs[PROVIDER_NAME];
  return typeof name === "string" ? name : undefined;
}

/**
 * The placeholder's creation, if a pending creation has resumed a placeholder: if the resumed creation failed, the next key may have been sent.
 * A placeholder only holds its own key.
 */
function retriedBy({ key }: Desired, replaced: Resource | undefined): Pending | undefined {
  if (key === undefined || !isPlaceholder(replaced?.id ?? "") || replaced === undefined) return undefined;
  const pending = pendingIn(replaced.outputs);
  return keysOf(replaced).includes(key) && !pending?.failed ? pending : undefined;
}

/** Older than any valid key: the next `up` then reports the creation and sends nothing. */
const UNKNOWN_AGE = 0;

/**
 * Its time is that of its key, so it is never later than the request. The state only has the time of the last command.
 *
 * @param more the key of the resource that the creation replaces, if the state still holds it; and what differs if the creation is retried
 */
function newEntryOf(
  kind: Kind,
  inputs: Desired & { readonly urn: string },
  given: Properties,
  more: Pick<NewEntry, "replaces" | "projectKey" | "provider" | "isLate"> &
    Partial<Pick<NewEntry, "key" | "at">>,
): NewEntry | undefined {
  const { urn, key, keyAt: at = UNKNOWN_AGE, secrets, isAutonamed } = inputs;
  const args = Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith("__")));
  if (key === undefined || !validate(key) || !v.is(kind.arguments, args)) return undefined;
  const body = creationBody(kind.fields, inputs);
  return { urn, key, resource: key, body, secrets, isAutonamed, at, ...more, recovered: true };
}

/** The keys of the creations that the state holds, finished or not. */
function heldKeys({ resources }: Deployment): ReadonlySet<string> {
  return new Set(resources.filter(({ type }) => kinds.has(type)).flatMap(keysOf));
}

function keysOf({ inputs, outputs }: Resource): string[] {
  const keys = [inputs, outputs].map(
    (properties) => parseDesired({ __key: withoutSecretMarks(properties.__key) }).key,
  );
  return [...keys, pendingIn(outputs)?.key].filter((key) => key !== undefined);
}

function pendingIn(outputs: Properties): Pending | undefined {
  return parseRecorded({ __pending: withoutSecretMarks(outputs.__pending) }).pending;
}

function propertiesInClear(properties: Properties): Properties {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, withoutSecretMarks(value)]),
  );
}
