import { isDeepStrictEqual } from "node:util";
import { isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import type { FailedCall } from "../diagnostics/hints";
import { type Kind, withAddressField } from "../model/kinds";
import { pendingOf } from "../model/pending";
import { markSecret, markSecretOutputs, secretsOf, withKeptSecrets } from "../model/secrets";
import { type Hidden, hiddenOf, type Properties, resourceName, toPlainJson } from "../model/state";
import { checkResource } from "./check";
import { type Context, deadlineOf, identityOf } from "./context";
import { create } from "./create";
import { deleteResource } from "./delete";
import { diffResource } from "./diff";
import { HostError, type HostProvider, InitializationError, type ReadResult } from "./host";
import { PartialState } from "./partial-state";
import type { EngineLog } from "./progress/engine-log";
import { Progress } from "./progress/progress";
import { read } from "./read";
import type { Sessions } from "./session";
import type { Shutdown } from "./shutdown";
import { recordDeletion } from "./shutdown";
import { updateResource } from "./update";
import { NotApplied } from "./update/apply";

const VERBS = { create: "creating", read: "reading", update: "updating", delete: "deleting" } as const;

/** What the provider process works with, shared by all kinds. */
export interface ProviderEnvironment {
  readonly sessions: Sessions;
  readonly log: EngineLog;
  readonly interruption: Shutdown;
  /** Whether each message of progress is a line of its own in somebody's log. */
  readonly inCi: boolean;
  /** How an error's words stand where they are shown. */
  readonly layOut: (message: string) => string;
}

/** The provider of one kind, as the host calls it: here what the host hands over is parsed, and errors become words. */
export function providerOf(kind: Kind, surroundings: ProviderEnvironment): HostProvider {
  const { sessions, log, interruption, inCi, layOut } = surroundings;
  /** Runs one call; `id` is the object's, where there is one already. `seal` marks the secrets among outputs. */
  async function run<T>(
    action: keyof typeof VERBS,
    properties: Properties,
    work: (context: Context, seal: (outputs: Properties) => Properties) => Promise<T>,
    { id, olds = {}, given = properties }: { id?: string; olds?: Properties; given?: Properties } = {},
  ): Promise<T> {
    const secretSources = [properties, olds];
    const seal = (outputs: Properties): Properties =>
      markSecretOutputs(kind.fields, outputs, { given, before: olds, known: secretSources });
    const hidden = hiddenOf(properties);
    const progress = new Progress(log.statusLogFor(sessions.tracker.displayUrnOf(hidden)), VERBS[action], {
      clock: sessions.clock,
      inCi,
    }).begin();
    try {
      const session = sessions.open();
      const deadline = deadlineOf(session, action, hidden);
      const shownKind = withAddressField(kind, session.settings.ipAddressField);
      return await interruption.during((signal) =>
        work({ kind: shownKind, session, deadline, signal, progress, secretSources }, seal),
      );
    } catch (error) {
      const words = wordsFor(error, VERBS[action], properties, {
        ...{ id, known: secretSources },
        occasion: failedCallOf(action, hidden),
      });
      const left = stateAfterFailure(error, id);
      if (left !== undefined) {
        // The host adds the provider's text to what succeeded, not to this.
        const saved = seal(toPlainJson({ ...left.outs, __provider: properties.__provider }));
        throw new InitializationError(left.id, saved, words, error);
      }
      throw new HostError(words, error);
    } finally {
      await progress.clear();
    }
  }

  function wordsFor(
    error: unknown,
    verb: string,
    properties: Properties,
    { id, known, occasion }: FailureContext,
  ): string {
    const hidden = hiddenOf(properties);
    const name = resourceName(hidden) ?? id ?? "";
    // Without a check in this run, the name is the state's, and the resource may have been renamed since.
    const isStale = hidden.__key !== undefined && !sessions.tracker.hasCurrentValues(hidden.__key);
    const object = isStale && (verb === "deleting" || verb === "reading") ? ` (${id})` : "";
    const secrets = secretsOf(...known);
    const circumstances = {
      action: `${verb} ${kind.name} "${name}"${object}`,
      propertyOf: (wire: string) => kind.fields.find((field) => field.wire === wire)?.name ?? wire,
      provider: sessions.provider,
      call: occasion,
      secrets: [...secrets.strings, ...sessions.tokens],
      secretProperties: secrets.names,
    };
    return layOut(formatError(error, circumstances));
  }

  /** The inputs of a resource that exists, with what the program says beside its arguments. */
  function saidNow(olds: Properties, given: Properties): Properties {
    const { tracker } = sessions;
    return withKeptSecrets(tracker.withCurrentValues(given), olds, tracker.ignoredBy(hiddenOf(given).__key));
  }

  /** By the resource's key, what an update has left: an error hook makes the engine repeat it with the state from before. */
  const unsaved = new Map<string, { readonly before: Properties; readonly left: PartialFailure }>();

  return {
    configure: async ({ config }) => sessions.configure((key) => config.get(key)),
    check: (olds, news) => checkResource(kind, sessions, log, { olds, news }),
    diff: async (id, olds, given) => {
      const news = saidNow(olds, given);
      try {
        return await diffResource(kind, sessions, log, { id, olds, news });
      } catch (error) {
        throw new HostError(wordsFor(error, "comparing", news, { id, known: [news, olds] }), error);
      }
    },
    create: (inputs) =>
      run("create", inputs, async (context, seal) => {
        const { id, outs } = await create(context, inputs);
        return { id, outs: seal(outs) };
      }),
    read: (id, props) =>
      run(
        "read",
        props,
        async (context, seal) => {
          const found = await read(context, id, props);
          if (!isFound(found)) return found;
          sessions.tracker.recordRead(identityOf(context, found.id));
          const outputs = seal(found.props);
          const { __sealed = [] } = hiddenOf(outputs);
          // The engine marks only what was secret in the state before: what an update has made since was not.
          const { secrets = [] } = pendingOf(props) ?? {};
          const others = secrets.filter((name) => !__sealed.includes(name));
          return {
            ...found,
            props: markSecret(outputs, others),
            inputs: markSecret(found.inputs, [...__sealed, ...others]),
          };
        },
        { id, olds: props, given: secretMarksOf(props) },
      ),
    update: (id, before, given) => {
      const { __key: key = id } = hiddenOf(before);
      const first = unsaved.get(key);
      const earlier = isDeepStrictEqual(first?.before, before) ? first?.left : undefined;
      const olds = earlier?.outs ?? before;
      const news = saidNow(olds, given);
      const work = async (context: Context, seal: (outputs: Properties) => Properties) => {
        try {
          const { outs } = await updateResource(context, id, olds, news);
          return { outs: seal(outs) };
        } catch (error) {
          if (isPartialFailure(error)) unsaved.set(key, { before, left: error });
          else if (earlier !== undefined && isCloudInfraError(error))
            throw new PartialState(error, id, olds, earlier.hint ?? "");
          throw error;
        }
      };
      return run("update", news, work, { id, olds });
    },
    delete: (id, props) => {
      recordDeletion(sessions, interruption, props);
      return run(
        "delete",
        sessions.tracker.withCurrentValues(props),
        (context) => deleteResource(context, id, props),
        {
          id,
          olds: props,
        },
      );
    },
  };
}

/** What is known of a failed call beside its properties. */
interface FailureContext {
  readonly id: string | undefined;
  /** All that may hold secrets. */
  readonly known: readonly Properties[];
  readonly occasion?: FailedCall;
}

function isFound(answer: ReadResult): answer is Extract<ReadResult, { id: string }> {
  return answer.id !== undefined;
}

/** The arguments that a refresh knows to be secret among the inputs: not those of which only the state's old value is. */
function secretMarksOf(state: Properties): Properties {
  const { __secrets = [], __sealed = [] } = hiddenOf(state);
  return { __secrets: __secrets.filter((name) => !__sealed.includes(name)) };
}

function failedCallOf(verb: keyof typeof VERBS, { __key, __timeouts }: Hidden): FailedCall {
  const hasOwnTimeout = verb !== "read" && __timeouts?.[verb] !== undefined;
  return { verb, isLookedUp: __key === undefined, hasOwnTimeout };
}

/** A failure that leaves something in the state. */
type PartialFailure = PartialState | NotApplied;

function isPartialFailure(error: unknown): error is PartialFailure {
  return error instanceof PartialState || error instanceof NotApplied;
}

/** What a failure leaves in the state, and under which id. */
function stateAfterFailure(
  error: unknown,
  id: string | undefined,
): { id: string; outs: Properties } | undefined {
  if (error instanceof PartialState) return error;
  return error instanceof NotApplied && id !== undefined ? { id, outs: error.outs } : undefined;
}
