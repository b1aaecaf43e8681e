import { validate } from "uuid";
import * as v from "valibot";
import type { NewEntry } from "../journal/journal";
import { isPlaceholder, type Pending } from "../model/pending";
import { creationBody } from "../model/request-body";
import { projectKind } from "../model/resource-fields";
import { resourceName } from "../model/state";
import { nextKey } from "../provider/create/run";
import type { Deployment, PendingCreation, Resource } from "./stack-export";

/** An interrupted creation whose outcome isn't in the state. */
export type InterruptedCreation = Readonly<ReturnType<typeof interruptedCreations>[number]>;

/** Returns the title of a creation for messages, such as `instance "web"`. */
export function titleOf({ kind, name }: Pick<InterruptedCreation, "kind" | "name">): string {
  return `${kind} "${name}"`;
}

/**
 * Finds the pending creations that need a journal entry, the latest first. Other pending creations adopt an object, or their key is in the
 * state. The engine saves keys and arguments before it calls `create`.
 */
export function interruptedCreations(deployment: Deployment) {
  const keysInState = new Set(deployment.resources.flatMap(({ keys }) => keys));
  const all = deployment.pendingCreations.map((creation) => {
    const replaced = replacedBy(creation, deployment);
    return { creation, replaced, resumed: resumedBy(creation, replaced) };
  });
  // A resumed creation that is interrupted again is in the list twice. The last of the two is the first attempt, whose body was sent with
  // the key.
  const identity = ({ creation, resumed }: (typeof all)[number]): string =>
    JSON.stringify([creation.inputs.key ?? creation.urn, resumed?.key]);
  const distinct = [...new Map(all.map((one) => [identity(one), one])).values()];
  const unfinished = distinct.filter(({ creation, replaced, resumed }) => {
    const isInState = resumed === undefined && keysInState.has(creation.inputs.key ?? "");
    return !isInState && !adopts(creation, replaced);
  });
  return unfinished.map(({ creation, replaced, resumed }) => {
    const urn = urnForNextUp(creation);
    return {
      kind: creation.kind.name,
      name: nameIn(creation.urn),
      /** The URN under which the next `up` looks up the creation. */
      urn,
      /** The URN and id of the resource's provider. */
      provider: creation.provider,
      /** The journal entry to write. Undefined if the state doesn't contain the key and all arguments. */
      entry: newEntry(creation, urn, {
        replaces: replaced?.keys[0],
        projectKey: projectKeyOf(creation, deployment),
        provider: deployment.providers.find(({ reference }) => reference === creation.provider)?.name,
        // Pulumi's list may contain a creation that has finished since then. The program may have released its object.
        ...(replaced === undefined && { isLate: true }),
        ...(resumed?.key !== undefined && { key: nextKey(resumed.key), at: resumed.at ?? UNKNOWN_TIME }),
      }),
    };
  });
}

/** Returns the titles of the creations that the next `up` resumes. The service may already return their objects. */
export function unfinishedCreations(deployment: Deployment): string[] {
  const placeholders = deployment.resources.flatMap(({ kind, id = "", urn, unfinished }) =>
    kind === undefined || !isPlaceholder(id) || unfinished?.failed
      ? []
      : [titleOf({ kind: kind.name, name: nameIn(urn) })],
  );
  return [...new Set([...placeholders, ...interruptedCreations(deployment).map(titleOf)])];
}

/** Returns the keys of the unfinished creations that the state records for a URN. Each failed `up` may have added one. */
export function placeholderKeys({ resources }: Deployment, urn: string): string[] {
  const placeholders = resources.filter((one) => one.urn === urn && isPlaceholder(one.id ?? ""));
  return [...new Set(placeholders.flatMap(({ keys }) => keys))];
}

const nameIn = (urn: string): string => resourceName(urn) ?? "";

/**
 * Combines two URNs. The stack and the project come from the engine's URN, because `pulumi stack rename` changes that URN but not the
 * inputs. The rest comes from the inputs, because the provider uses that URN for the lookup. The two URNs differ if a parent's name
 * contains "::".
 */
export function urnForNextUp({ urn, inputs }: PendingCreation): string {
  if (!inputs.urn?.startsWith("urn:pulumi:")) return urn;
  return [...urn.split("::").slice(0, 2), ...inputs.urn.split("::").slice(2)].join("::");
}

/** Finds the resource that a creation replaces. The replaced resource has the same URN or a former one. */
function replacedBy(creation: PendingCreation, { resources }: Deployment): Resource | undefined {
  const urns = [creation.urn, ...creation.aliases];
  return resources.find(
    ({ urn, created, pendingReplacement }) =>
      urns.includes(urn) && (pendingReplacement || (created !== undefined && created === creation.created)),
  );
}

/** Reports whether a creation only adopts the object in the `import` option. Later replacements of the resource create objects. */
function adopts({ inputs: { importId } }: PendingCreation, replaced: Resource | undefined): boolean {
  return importId !== undefined && ![replaced?.id, replaced?.inputs.importId].includes(importId);
}

/**
 * Returns the record of the unfinished creation that a pending creation has resumed. The record contains only its own key. If that attempt
 * failed, the request with the next key may also have been sent.
 */
function resumedBy(
  { inputs: { key } }: PendingCreation,
  replaced: Resource | undefined,
): Pending | undefined {
  if (key === undefined || !isPlaceholder(replaced?.id ?? "") || !replaced?.keys.includes(key))
    return undefined;
  return replaced.unfinished?.failed ? undefined : replaced.unfinished;
}

/** Finds the key of the resource that manages the project of an instance. */
function projectKeyOf({ provider, inputs }: PendingCreation, { resources }: Deployment): string | undefined {
  return resources.find(
    (one) => one.kind === projectKind && one.id === inputs.project && one.provider === provider,
  )?.keys[0];
}

/** The time of an expired key, so that the next `up` reports the creation and sends no request. */
const UNKNOWN_TIME = 0;

/** Builds a journal entry with the time at which the key was generated, because the state contains only the time of the last command. */
function newEntry(
  { kind, inputs }: PendingCreation,
  urn: string,
  more: Partial<NewEntry>,
): NewEntry | undefined {
  const { key, keyAt: at = UNKNOWN_TIME, secrets, isAutonamed } = inputs;
  if (key === undefined || !validate(key) || !v.is(kind.arguments, inputs.given)) return undefined;
  const body = creationBody(kind.fields, inputs);
  return { urn, key, resource: key, body, secrets, isAutonamed, at, ...more, recovered: true };
}
