import type { ApiObject } from "../api/client";
import { comparableEndpoint } from "../api/endpoint";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { isPlaceholder, type Pending, toOperation } from "../model/pending";
import { type Arguments, type Kind, type ObjectIdentity, withAddressField } from "../model/resource-fields";
import type { SecretSource } from "../model/secrets";
import type { HiddenInputs, Recorded } from "../model/state";
import { type Deadline, deadlineIn, parseDuration } from "../polling/clock";
import { type Operation, type WaitOptions, waitForOperation, waitForSuccess } from "../polling/wait";
import type { ObjectRef } from "./lookup/object-getter";
import { Progress } from "./progress";
import type { Session } from "./session";

/** The context and limits of one create, read, update or delete call. */
export interface Context {
  readonly kind: Kind;
  readonly session: Session;
  readonly deadline: Deadline;
  /** The signal that is aborted when this process must exit. The call then reports its unfinished work. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** The sources of secrets: the properties of the resource, and the requests of its unfinished creations. */
  readonly secretSources: SecretSource[];
}

/** Returns the context for a list call, which belongs to no resource and writes no status messages. */
export function listingContext(kind: Kind, session: Session): Context {
  return {
    kind: withAddressField(kind, session.settings.ipAddressField),
    session,
    deadline: deadlineIn(session.settings.operationTimeoutMs, session.clock),
    signal: new AbortController().signal,
    progress: new Progress({ write: async () => {} }, "listing", { clock: session.clock, inCi: true }),
    secretSources: [],
  };
}

/** Returns the deadline of a call, according to `customTimeouts` or the setting `operationTimeout`. */
export function deadlineOf(
  session: Session,
  action: "create" | "read" | "update" | "delete",
  { timeouts }: Pick<HiddenInputs, "timeouts">,
): Deadline {
  const own = action === "read" ? undefined : timeouts?.[action];
  const ms = own === undefined ? undefined : parseDuration(own);
  return deadlineIn(ms ?? session.settings.operationTimeoutMs, session.clock);
}

/** Waits for an operation, and displays its progress. Any final status other than `done` is an error. */
export function waitForOperationSuccess(context: Context, operation: Operation): Promise<Operation> {
  return waitForSuccess(operation, waitOptions(context)).finally(() => context.progress.show(undefined));
}

/** Waits until an operation ends with any status. @param onSeen called with the result of each poll */
export function waitForOperationEnd(
  context: Context,
  operation: Operation,
  onSeen?: (seen: Operation) => void,
): Promise<Operation> {
  const wait = waitForOperation(operation, waitOptions(context, onSeen));
  return wait.finally(() => context.progress.show(undefined));
}

/** Fetches the operation of an earlier run. Returns `undefined` if the operation isn't found, which proves nothing about its result. */
export async function fetchOperation(
  context: Context,
  operation: NonNullable<Pending["operation"]>,
): Promise<Operation | undefined> {
  try {
    return await context.session.client.operations.poll(toOperation(operation), context);
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "not_found") return undefined;
    throw error;
  }
}

function waitOptions(context: Context, onSeen?: (seen: Operation) => void): WaitOptions {
  const { session, deadline, signal, progress } = context;
  const { client, clock } = session;
  return {
    poll: async (before, signal) => {
      const seen = await client.operations.poll(before, { deadline, signal, progress });
      onSeen?.(seen);
      return seen;
    },
    deadline,
    signal,
    clock,
    onProgress: (seen) => progress.show(seen),
  };
}

export function argumentsOf({ kind }: Pick<Context, "kind">, values: Arguments): Arguments {
  return Object.fromEntries(kind.fields.map(({ name }) => [name, values[name]]));
}

/** Reports whether an object still has a known revision, so that nothing has changed since then (§4.5). */
export function hasRevisionOf(
  { revision }: { readonly revision?: string | undefined },
  known: { readonly revision?: string | undefined },
): boolean {
  return revision !== undefined && revision === known.revision;
}

/**
 * Reports whether a reply at the recorded revision may contain the recorded values in a different form. Lists may normalize values, and the
 * values in the state may come from a list if the object's own URL has never returned the object.
 */
export function mayBeInOtherForm(
  object: Pick<ApiObject, "revision" | "isFromOwnUrl">,
  state: Pick<Recorded, "revision" | "shown">,
): boolean {
  return hasRevisionOf(object, state) && (!object.isFromOwnUrl || state.shown === undefined);
}

/** Returns a reference with which the object of a resource is looked up. */
export function objectRefOf(
  kind: Kind,
  id: string,
  {
    project,
    remoteValues,
    shown,
    createdAt,
  }: Pick<Recorded, "project" | "remoteValues" | "shown" | "createdAt">,
): ObjectRef {
  const word = remoteValues?.project;
  const shownProject = typeof word === "string" || typeof word === "number" ? String(word) : undefined;
  return { kind, id, project, shownProject, createdAt, wasReadByGet: shown !== undefined };
}

/** Throws an error if the endpoint in the state differs from the current endpoint. Objects are accessed only at their own endpoint. */
export function requireRecordedEndpoint(
  context: Pick<Context, "kind" | "session">,
  id: string,
  state: Pick<Recorded, "endpoint">,
): void {
  const { session, kind } = context;
  const recorded = otherRecordedEndpoint(context, state);
  if (recorded === undefined) return;
  const { endpoint } = session.client;
  const { provider } = session.settings;
  const setting =
    provider === undefined ? "cloudinfra:endpoint" : `the endpoint of ${nameOfProvider(provider)}`;
  const moved = `If the service has moved, add the recorded address (${recorded}) to`;
  const hint =
    provider === undefined
      ? `Set cloudinfra:endpoint to the recorded address. ${moved} cloudinfra:formerEndpoints`
      : "Use a provider with the recorded endpoint for the resource. To move the resource, remove it from the program, run `pulumi up`, and " +
        `declare it again. ${moved} the provider's \`formerEndpoints\``;
  const message = `the state records ${kind.name} ${id} at ${recorded}, but ${setting} is ${endpoint}`;
  throw new CloudInfraError("endpoint_changed", message, {
    hint: isPlaceholder(id) ? `${hint}. ${HINT_ON_PLACEHOLDER}` : hint,
  });
}

/**
 * Throws an error if a different provider started the creation. The token of this provider may belong to another account, so the object
 * might be invisible and be created twice.
 */
export function requireSameProvider(
  { session, kind }: Context,
  { provider }: { provider?: string | undefined },
): void {
  const now = session.settings.provider;
  if (provider === now) return;
  const message = `${nameOfProvider(provider)} started the creation of this ${kind.name}, but the resource now uses ${nameOfProvider(now)}`;
  const hint =
    "Switch the resource back to the original provider, and keep the provider's name. Run `pulumi up` to finish the creation. " +
    "Nothing was changed";
  throw new CloudInfraError("provider_changed", message, { hint });
}

/** Returns the name of a provider for messages. */
export function nameOfProvider(name: string | undefined): string {
  return name === undefined ? "the default provider" : `the provider "${name}"`;
}

/** Returns the endpoint in the state if it is neither the current endpoint nor a former endpoint. */
export function otherRecordedEndpoint(
  { session }: Pick<Context, "session">,
  state: Pick<Recorded, "endpoint">,
): string | undefined {
  const recorded = state.endpoint;
  const known = [session.client.endpoint, ...session.settings.formerEndpoints].map(comparableEndpoint);
  return recorded === undefined || known.includes(comparableEndpoint(recorded)) ? undefined : recorded;
}

const HINT_ON_PLACEHOLDER =
  "If the old address was wrong and nothing was created there, run `npx pulumi-cloudinfra recover --forget <urn>`, then `pulumi up`";

/** Returns the identity of the object with the given id. */
export function identityOf({ kind, session }: Pick<Context, "kind" | "session">, id: string): ObjectIdentity {
  return { endpoint: session.client.endpoint, kind: kind.name, id };
}

/** Adds a source of secrets to a call. */
export function addSecretSource({ session, secretSources }: Context, source: SecretSource): void {
  secretSources.push(source);
  session.tracker.recordSecrets(source);
}
