import { isDeepStrictEqual } from "node:util";
import { isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import type { FailedCall } from "../diagnostics/hints";
import { type Kind, withAddressField } from "../model/resource-fields";
import {
  type SecretSource,
  type SecretSources,
  secretOutputs,
  secretsOf,
  withKeptSecrets,
} from "../model/secrets";
import {
  type Desired,
  type HiddenInputs,
  markSecret,
  type Properties,
  parseDeclared,
  parseDesired,
  parseRecorded,
  type Recorded,
  resourceName,
  toBag,
} from "../model/state";
import { deadlineIn, parseDuration } from "../polling/clock";
import { checkResource } from "./check";
import { type Context, identityOf, type Sessions } from "./context";
import { create } from "./create";
import { deleteResource } from "./delete";
import { type DiffResult, diffResource } from "./diff";
import { PartialState } from "./partial-state";
import { type EngineLog, Progress, type StatusLogs } from "./progress";
import { read } from "./read";
import { recordDeletion, type Shutdown } from "./shutdown";
import { updateResource } from "./update";
import { NotApplied } from "./update/apply";

/** The interface that Pulumi's dynamic-provider host requires. This interface must never change, because old states refer to it. */
export interface HostProvider {
  configure(request: { config: { get(key: string): string | undefined } }): Promise<void>;
  check(olds: Properties, news: Properties): Promise<{ inputs: Properties; failures: CheckFailure[] }>;
  diff(id: string, olds: Properties, news: Properties): Promise<DiffResult>;
  create(inputs: Properties): Promise<{ id: string; outs: Properties }>;
  read(id: string, props: Properties): Promise<ReadResult>;
  update(id: string, olds: Properties, news: Properties): Promise<{ outs: Properties }>;
  delete(id: string, props: Properties): Promise<void>;
}

/** A failure of a check. `property` is empty, because the host would print its value, which may be secret. `reason` contains the path. */
interface CheckFailure {
  property: "";
  reason: string;
}

/** The result of a read, which is empty if the object no longer exists. */
export type ReadResult = { id: string; props: Properties; inputs: Properties } | Record<string, never>;

/** An error in the form that the host prints. The host prints `message` for a resource, and `toString()` or `stack` elsewhere. */
export class HostError extends Error {
  override readonly name = "cloudinfra";

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.stack = message;
  }

  override toString(): string {
    return this.name;
  }
}

/** An error after which the engine saves the resource as incomplete. The next `up` updates the resource. */
export class InitializationError extends HostError {
  readonly reasons: string[];

  constructor(
    readonly id: string,
    readonly properties: Properties,
    message: string,
    cause: unknown,
  ) {
    super(message, cause);
    this.reasons = [message];
  }
}

const VERBS = { create: "creating", read: "reading", update: "updating", delete: "deleting" } as const;

/** The environment of the provider process, which projects and instances share. */
export interface ProviderEnvironment {
  readonly sessions: Sessions;
  readonly log: EngineLog;
  readonly interruption: Shutdown;
  /** Whether each status message is a separate line in a log. */
  readonly inCi: boolean;
  readonly layOut: (message: string) => string;
}

/** Creates the provider for projects or instances. The provider parses properties, runs calls, and formats errors. */
export function providerOf(kind: Kind, surroundings: ProviderEnvironment): HostProvider {
  const { sessions, log, interruption, inCi, layOut } = surroundings;
  /** Cleans status messages, because even an id may contain a secret. */
  const cleanLog: StatusLogs = {
    statusLogFor: (urn) => {
      const { write } = log.statusLogFor(urn);
      return { write: (message) => write(sessions.clean(message)) };
    },
  };
  /** Runs a call. `id` is the id of an existing object. `seal` serializes outputs and marks secrets. */
  async function run<T>(
    action: keyof typeof VERBS,
    resource: Desired | Recorded,
    work: (context: Context, seal: Seal) => Promise<T>,
    {
      id,
      olds = {},
      given = resource,
    }: { id?: string; olds?: SecretSource; given?: SecretSources["given"] } = {},
  ): Promise<T> {
    const secretSources: SecretSource[] = [resource, olds];
    sessions.tracker.recordSecrets(...secretSources);
    const seal: Seal = (outputs) => {
      sessions.tracker.recordSecrets(outputs);
      const { names, former } = secretOutputs(kind.fields, outputs, {
        given,
        before: olds,
        known: secretSources,
      });
      const formerSecrets = former.length === 0 ? undefined : former;
      return { bag: toBag({ ...outputs, formerSecrets }, names), former };
    };
    const statusLog = cleanLog.statusLogFor(sessions.tracker.displayUrnOf(resource));
    const ownTimeout = action === "read" ? undefined : resource.timeouts?.[action];
    const progress = new Progress(statusLog, VERBS[action], { clock: sessions.clock, inCi }).begin();
    try {
      const session = sessions.open();
      const ms = ownTimeout === undefined ? undefined : parseDuration(ownTimeout);
      const deadline = deadlineIn(ms ?? session.settings.operationTimeoutMs, session.clock);
      const shownKind = withAddressField(kind, session.settings.ipAddressField);
      return await interruption.during((signal) =>
        work({ kind: shownKind, session, deadline, signal, progress, secretSources }, seal),
      );
    } catch (error) {
      const hasOwnTimeout = ownTimeout !== undefined;
      const call = { verb: action, isLookedUp: resource.key === undefined, hasOwnTimeout };
      const message = messageFor(error, VERBS[action], resource, { id, known: secretSources, call });
      if (!isPartialFailure(error)) throw new HostError(message, error);
      // The host adds the text of the provider only to the results of successful calls.
      const { bag } = seal({ ...error.outs, providerText: resource.providerText });
      throw new InitializationError(error.id, bag, message, error);
    } finally {
      await progress.clear();
    }
  }

  /** Formats an error. `known` contains all sources of the resource's secrets. */
  function messageFor(
    error: unknown,
    verb: string,
    { urn, key }: HiddenInputs,
    { id, known, call }: { id: string | undefined; known: readonly SecretSource[]; call?: FailedCall },
  ): string {
    const shownId = sessions.clean(id ?? "");
    const name = resourceName(urn) ?? shownId;
    // Without a check in this run, the name comes from the state, so it may be outdated.
    const isStale = key !== undefined && !sessions.tracker.hasCurrentValues(key);
    const object = isStale && (verb === "deleting" || verb === "reading") ? ` (${shownId})` : "";
    const circumstances = {
      action: `${verb} ${kind.name} "${name}"${object}`,
      propertyOf: (wire: string) => kind.fields.find((field) => field.wire === wire)?.name ?? wire,
      provider: sessions.provider,
      call,
      secrets: sessions.secrets,
      secretProperties: secretsOf(...known).names,
    };
    return layOut(formatError(error, circumstances));
  }

  /** Returns the inputs of an existing resource with the values that the program sets in this run. */
  function withCurrentValues(olds: Recorded, given: Desired): Desired {
    const { tracker } = sessions;
    return withKeptSecrets(tracker.withCurrentValues(given), olds, tracker.ignoredBy(given.key));
  }

  /** The results of failed updates, by the key of the resource. With an error hook, the engine repeats an update with the earlier state. */
  const unsaved = new Map<string, { readonly before: Recorded; readonly failure: PartialFailure }>();

  return {
    configure: async ({ config }) => sessions.configure((key) => config.get(key)),
    check: async (inputsBefore, program) => {
      const isNew = Object.keys(inputsBefore).length === 0;
      const olds = isNew ? undefined : parseDesired(inputsBefore);
      const news = parseDeclared(program);
      sessions.tracker.recordSecrets(news, olds ?? {});
      const { inputs, failures } = await checkResource(kind, sessions, cleanLog, { olds, news });
      return {
        inputs: toBag(inputs),
        failures: failures.map((reason) => ({ property: "", reason: sessions.clean(reason) })),
      };
    },
    diff: async (id, state, inputs) => {
      const olds = parseRecorded(state);
      const news = withCurrentValues(olds, parseDesired(inputs));
      sessions.tracker.recordSecrets(news, olds);
      try {
        return await diffResource(kind, sessions, cleanLog, { id, olds, news });
      } catch (error) {
        throw new HostError(messageFor(error, "comparing", news, { id, known: [news, olds] }), error);
      }
    },
    create: (properties) => {
      const inputs = parseDesired(properties);
      return run("create", inputs, async (context, seal) => {
        const { id, outs } = await create(context, inputs);
        return { id, outs: seal(outs).bag };
      });
    },
    read: (id, properties) => {
      const state = parseRecorded(properties);
      const { secrets = [], formerSecrets = [] } = state;
      // A refresh marks the inputs that are secret now, but not inputs that only had a secret value in the past.
      const given = { secrets: secrets.filter((name) => !formerSecrets.includes(name)) };
      const work = async (context: Context, seal: Seal): Promise<ReadResult> => {
        const found = await read(context, id, state);
        if (found === undefined) return {};
        sessions.tracker.recordRead(identityOf(context, found.id));
        const { bag, former } = seal(found.props);
        // The engine marks only inputs that were secret in the previous state. A later update may have requested more secrets.
        const others = state.pending?.secrets?.filter((name) => !former.includes(name)) ?? [];
        return {
          id: found.id,
          props: markSecret(bag, others),
          inputs: toBag(found.inputs, [...former, ...others]),
        };
      };
      return run("read", state, work, { id, olds: state, given });
    },
    update: (id, state, inputs) => {
      const before = parseRecorded(state);
      const { key = id } = before;
      const first = unsaved.get(key);
      const earlier = isDeepStrictEqual(first?.before, before) ? first?.failure : undefined;
      const olds = earlier?.outs ?? before;
      const news = withCurrentValues(olds, parseDesired(inputs));
      const work = async (context: Context, seal: Seal) => {
        try {
          const { outs } = await updateResource(context, id, olds, news);
          return { outs: seal(outs).bag };
        } catch (error) {
          if (isPartialFailure(error)) unsaved.set(key, { before, failure: error });
          else if (earlier !== undefined && isCloudInfraError(error))
            throw new PartialState(error, id, olds, earlier.hint ?? "");
          throw error;
        }
      };
      return run("update", news, work, { id, olds });
    },
    delete: (id, properties) => {
      const state = parseRecorded(properties);
      recordDeletion(sessions, interruption, state);
      return run(
        "delete",
        sessions.tracker.withCurrentValues(state),
        (context) => deleteResource(context, id, state),
        { id, olds: state },
      );
    },
  };
}

/** Serializes outputs. `former` contains the names of outputs that are secret because of a former value. */
type Seal = (outputs: Recorded) => { readonly bag: Properties; readonly former: readonly string[] };

type PartialFailure = PartialState | NotApplied;

function isPartialFailure(error: unknown): error is PartialFailure {
  return error instanceof PartialState || error instanceof NotApplied;
}
