import { isDeepStrictEqual } from "node:util";
import { type ApiObject, type Client, type ClientOptions, createClient } from "../api/client";
import { openConnections, readCertificates } from "../api/connections";
import { comparableEndpoint } from "../api/endpoint";
import {
  type Configuration,
  environmentOf,
  PROVIDER_NAME,
  readSettings,
  type Settings,
} from "../config/settings";
import { tokenSource } from "../config/token-source";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { cleanLine, type SecretForms } from "../diagnostics/redact";
import { type Journal, type JournalOptions, openJournal } from "../journal/journal";
import { isPlaceholder, type Pending, toOperation } from "../model/pending";
import { type Arguments, type Kind, type ObjectIdentity, withAddressField } from "../model/resource-fields";
import type { SecretSource } from "../model/secrets";
import type { Recorded } from "../model/state";
import { type Clock, type Deadline, deadlineIn, systemClock } from "../polling/clock";
import {
  isSuccess,
  type Operation,
  operationFailed,
  type WaitProgress,
  waitForOperation,
} from "../polling/wait";
import { ObjectFinder } from "./lookup/object-finder";
import type { ObjectRef } from "./lookup/object-getter";
import { Progress } from "./progress";
import { ResourceTracker } from "./resource-tracker";

/** The parts that all calls of a process share, such as the settings, the client and the journal. */
export interface Session {
  readonly settings: Settings;
  readonly client: Client;
  readonly finder: ObjectFinder;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly tracker: ResourceTracker;
  /** Prints a warning without secrets and control characters. The call doesn't fail. */
  readonly warn: (message: string) => Promise<void>;
  close(): Promise<void>;
}

/** Replacements for the network, the disk and random numbers in tests, and the options that `probe` changes. */
export interface SessionOverrides
  extends Partial<Pick<ClientOptions, "dispatcher" | "random" | "observe" | "retry">> {
  readonly disk?: JournalOptions["disk"];
  /** The run of the engine that started this process. @default none */
  readonly run?: JournalOptions["run"];
}

/** Opens the session of this process on first use, because a check or a diff may run without settings. */
export class Sessions {
  private configured: Configuration = () => undefined;
  private env: NodeJS.ProcessEnv;
  private session: Session | undefined;
  /** Whether the session has the settings of the last call of `configure`. */
  private isCurrent = false;
  /** Tracks the resources that check and diff have processed. The tracker requires no settings. */
  readonly tracker = new ResourceTracker();

  constructor(
    private readonly environment: NodeJS.ProcessEnv,
    readonly clock: Clock = systemClock,
    readonly printWarning: (message: string) => void | Promise<void> = console.warn,
    private readonly outside: SessionOverrides = {},
  ) {
    this.env = environment;
  }

  /** Sets the settings. Must be synchronous, because the host makes other calls before the result is available. */
  configure(configured: Configuration): void {
    this.configured = configured;
    this.isCurrent = false;
  }

  /** Sets the settings outside of a provider process. Only the engine applies the option `envVarMappings` to provider processes. */
  configureOutside(configured: Configuration): void {
    this.configure(configured);
    this.env = environmentOf(configured, this.environment);
  }

  /** Returns the session of this process, and opens it if necessary. @throws CloudInfraError `config_missing`, `config_invalid` */
  open(): Session {
    if (this.session !== undefined && this.isCurrent) return this.session;
    const settings = readSettings(this.configured, this.env);
    const isSame = this.session !== undefined && isDeepStrictEqual(settings, this.session.settings);
    if (this.session === undefined || !isSame) this.session = this.openSession(settings);
    this.isCurrent = true;
    return this.session;
  }

  /** The name of the explicit provider that this process serves, or `undefined` for the default provider. */
  get provider(): string | undefined {
    return this.configured(PROVIDER_NAME);
  }

  get tokens(): readonly string[] {
    return this.session?.client.tokens ?? [];
  }

  /** All tokens and secrets of this process. Messages must not contain them, although replies may contain them. */
  get secrets(): SecretForms {
    return this.tracker.secrets.add(this.tokens);
  }

  /** Removes secrets and control characters from a message of one line. */
  clean(message: string): string {
    return cleanLine(message, this.secrets);
  }

  /** Returns the session for check and diff, or `undefined` in a preview without valid settings. */
  openIfConfigured(): Session | undefined {
    try {
      return this.open();
    } catch (error) {
      if (isCloudInfraError(error)) return undefined; // the first call that needs the settings reports the error
      throw error;
    }
  }

  /** The journal, or `undefined` in a preview without valid settings. */
  get journal(): Journal | undefined {
    return this.openIfConfigured()?.journal;
  }

  /** Returns the identity of an object. Without settings, the endpoint in the identity is empty. */
  identityOf(kind: Kind, id: string): ObjectIdentity {
    return { endpoint: this.openIfConfigured()?.client.endpoint ?? "", kind: kind.name, id };
  }

  private openSession(settings: Settings): Session {
    const { clock, env, tracker } = this;
    const warn = async (message: string): Promise<void> => this.printWarning(this.clean(message));
    const { disk, run, observe, retry, random = Math.random } = this.outside;
    const { provider, allowHttp, concurrency, caFile } = settings;
    const authorities = caFile === undefined ? undefined : readCertificates(caFile);
    const dispatcher = this.outside.dispatcher ?? openConnections({ env, authorities, concurrency });
    const client = createClient({
      ...settings,
      endpointSetting: provider === undefined ? undefined : `the endpoint of ${nameOfProvider(provider)}`,
      token: tokenSource(settings.token, { clock, dispatcher, env, allowHttp, random }),
      clock,
      random,
      dispatcher,
      observe,
      retry,
    });
    const finder = new ObjectFinder(client, clock, settings.operationTimeoutMs);
    const journal = openJournal({
      endpoint: client.endpoint,
      dir: settings.journalDir,
      organization: () => tracker.organization,
      projectFolder: () => tracker.projectFolder,
      run,
      token: () => client.tokens[0] ?? "",
      env,
      warn,
      disk,
    });
    return { settings, client, finder, journal, clock, tracker, warn, close: () => dispatcher.close() };
  }
}

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

/** Waits for an operation, and displays its progress. Any final status other than `done` is an error. */
export async function waitForOperationSuccess(context: Context, operation: Operation): Promise<Operation> {
  const ended = await waitForOperationEnd(context, operation);
  if (!isSuccess(ended)) throw operationFailed(ended);
  return ended;
}

/** Waits until an operation ends with any status. @param onSeen called with the result of each poll */
export function waitForOperationEnd(
  { session: { client, clock }, deadline, signal, progress }: Context,
  operation: Operation,
  onSeen?: (seen: Operation) => void,
): Promise<Operation> {
  const poll = async (before: Operation, signal: AbortSignal): Promise<Operation> => {
    const seen = await client.operations.poll(before, { deadline, signal, progress });
    onSeen?.(seen);
    return seen;
  };
  const onProgress = (seen: WaitProgress): void => progress.show(seen);
  return waitForOperation(operation, { poll, deadline, signal, clock, onProgress }).finally(() =>
    progress.show(undefined),
  );
}

/** Fetches the operation of an earlier run. Returns `undefined` if the operation isn't found, which proves nothing about its result. */
export async function fetchOperation(context: Context, operation: NonNullable<Pending["operation"]>) {
  try {
    return await context.session.client.operations.poll(toOperation(operation), context);
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "not_found") return undefined;
    throw error;
  }
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
  const remote = remoteValues?.project;
  const shownProject = typeof remote === "string" || typeof remote === "number" ? String(remote) : undefined;
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
  const release =
    ". If the old address was wrong and nothing was created there, run `npx pulumi-cloudinfra recover --forget <urn>`, then `pulumi up`";
  throw new CloudInfraError("endpoint_changed", message, { hint: isPlaceholder(id) ? hint + release : hint });
}

/** Throws an error if a different provider, whose token may belong to another account, started the creation. */
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

export function identityOf({ kind, session }: Pick<Context, "kind" | "session">, id: string): ObjectIdentity {
  return { endpoint: session.client.endpoint, kind: kind.name, id };
}

export function addSecretSource({ session, secretSources }: Context, source: SecretSource): void {
  secretSources.push(source);
  session.tracker.recordSecrets(source);
}
