import { comparableEndpoint } from "../api/endpoint";
import { parseDuration } from "../diagnostics/durations";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import type { Arguments } from "../model/fields";
import { type Kind, type ObjectIdentity, withAddressField } from "../model/kinds";
import { isPlaceholder, type Pending, toOperation } from "../model/pending";
import type { SecretSource } from "../model/secrets";
import type { HiddenInputs, Recorded } from "../model/state";
import { type Deadline, deadlineIn } from "../polling/clock";
import type { Operation } from "../polling/operation";
import { type WaitOptions, waitForOperation, waitForSuccess } from "../polling/wait";
import type { ObjectRef } from "./lookup/lookup-result";
import { Progress } from "./progress/progress";
import type { Session } from "./session";

/** One create, read, update or delete of one resource, and what bounds it. */
export interface Context {
  readonly kind: Kind;
  readonly session: Session;
  readonly deadline: Deadline;
  /** Aborted when this process is told to end: the call then says what it leaves behind. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** All that may hold secrets: the properties of the resource, and what the creations that it resumes or settles asked for. */
  readonly secretSources: SecretSource[];
}

/** A look at the service that is about no resource, and so has no row. */
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

/** How long the call may take: `customTimeouts`, else the setting `operationTimeout`. */
export function deadlineOf(
  session: Session,
  action: "create" | "read" | "update" | "delete",
  { timeouts }: Pick<HiddenInputs, "timeouts">,
): Deadline {
  const own = action === "read" ? undefined : timeouts?.[action];
  const ms = own === undefined ? undefined : parseDuration(own);
  return deadlineIn(ms ?? session.settings.operationTimeoutMs, session.clock);
}

/** Waits for an operation with its progress in the resource's row; any end but `done` is an error. */
export function waitForOperationSuccess(context: Context, operation: Operation): Promise<Operation> {
  return waitForSuccess(operation, waitOptions(context)).finally(() => context.progress.show(undefined));
}

/**
 * Waits for an operation, however it ends.
 *
 * @param onSeen called with the operation as each poll shows it
 */
export function waitForOperationEnd(
  context: Context,
  operation: Operation,
  onSeen: (seen: Operation) => void = () => {},
): Promise<Operation> {
  const { poll, ...options } = waitOptions(context);
  const seeing: WaitOptions["poll"] = async (before, signal) => {
    const seen = await poll(before, signal);
    onSeen(seen);
    return seen;
  };
  return waitForOperation(operation, { ...options, poll: seeing }).finally(() =>
    context.progress.show(undefined),
  );
}

/**
 * Fetches an operation of an earlier run.
 *
 * @returns `undefined` if the service no longer reports the operation, which proves nothing about its result
 */
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

function waitOptions({
  session: { client, clock },
  deadline,
  signal: ending,
  progress,
}: Context): WaitOptions {
  return {
    poll: (seen, signal) => client.operations.poll(seen, { deadline, signal, progress }),
    deadline,
    signal: ending,
    clock,
    onProgress: (seen) => progress.show(seen),
  };
}

/** The arguments among a resource's properties. */
export function argumentsOf({ kind }: Pick<Context, "kind">, values: Arguments): Arguments {
  return Object.fromEntries(kind.fields.map(({ name }) => [name, values[name]]));
}

/** The object that a resource's state stands for. */
export function objectRefOf(
  kind: Kind,
  id: string,
  { project, shown }: Pick<Recorded, "project" | "shown">,
): ObjectRef {
  return { kind, id, project, wasReadByGet: shown !== undefined };
}

/**
 * Objects are read, changed and deleted only where they were recorded.
 *
 * @throws CloudInfraError `endpoint_changed`
 */
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
    provider === undefined ? "cloudinfra:endpoint" : `the endpoint of the provider "${provider}"`;
  const hint = provider === undefined ? hintOnSetting(recorded) : hintOnProvider(recorded);
  throw new CloudInfraError(
    "endpoint_changed",
    `${kind.name} ${id} was recorded at ${recorded}, but ${setting} is ${endpoint}: nothing was asked or changed`,
    { hint: isPlaceholder(id) ? `${hint}. ${HINT_ON_PLACEHOLDER}` : hint },
  );
}

/**
 * An unfinished creation is resumed only through the provider with which it began: another account may not show its object, and would create a
 * second one.
 *
 * @throws CloudInfraError `provider_changed`
 */
export function requireSameProvider(
  { session, kind }: Context,
  { provider }: { provider?: string | undefined },
): void {
  const now = session.settings.provider;
  if (provider === now) return;
  throw new CloudInfraError(
    "provider_changed",
    `the creation of this ${kind.name} began with ${nameOfProvider(provider)}, but the resource has ${nameOfProvider(now)} now`,
    { hint: HINT_ON_PROVIDER },
  );
}

/** What to do about an unfinished creation whose resource has another provider now. */
const HINT_ON_PROVIDER =
  "Nothing was changed. Give the resource its former provider, under its former name, until `pulumi up` has finished the creation";

/** Names the provider of a resource in a message. */
export function nameOfProvider(name: string | undefined): string {
  return name === undefined ? "the default provider" : `the provider "${name}"`;
}

/** The endpoint at which an object was recorded, if it is not that of the call, or a former one. */
export function otherRecordedEndpoint(
  { session }: Pick<Context, "session">,
  state: Pick<Recorded, "endpoint">,
): string | undefined {
  const recorded = state.endpoint;
  const known = [session.client.endpoint, ...session.settings.formerEndpoints].map(comparableEndpoint);
  return recorded === undefined || known.includes(comparableEndpoint(recorded)) ? undefined : recorded;
}

const hintOnSetting = (recorded: string): string =>
  `Set cloudinfra:endpoint back. If the service itself moved, list the old address in cloudinfra:formerEndpoints (${recorded})`;

const hintOnProvider = (recorded: string): string =>
  "Give the resource the provider with that endpoint. To move it, remove it from the program, run `pulumi up`, and declare it anew. " +
  `If the service itself moved, list the old address in the provider's \`formerEndpoints\` (${recorded})`;

const HINT_ON_PLACEHOLDER =
  "If the old address was wrong and nothing was created there, run `npx pulumi-cloudinfra recover --forget <urn>`, then `pulumi up`";

/** Returns the identity of the object with this id, of the kind that a call is about. */
export function identityOf({ kind, session }: Pick<Context, "kind" | "session">, id: string): ObjectIdentity {
  return { endpoint: session.client.endpoint, kind: kind.name, id };
}
