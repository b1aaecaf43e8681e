import { isDeepStrictEqual } from "node:util";
import { isCloudInfraError } from "../diagnostics/error";
import type { Occasion } from "../diagnostics/hints";
import { inWords } from "../diagnostics/words";
import { type Call, deadlineOf } from "./call";
import { check } from "./check";
import { create } from "./create";
import { PartialState } from "./creation/partial";
import { pendingOf } from "./creation/pending";
import { remove } from "./delete";
import { HostError, type HostProvider, InitialisationError, type Properties, type ReadAnswer } from "./host";
import { identityOf } from "./identity";
import { secretsOf, withKeptSecrets } from "./inputs/secrets";
import { isUnknown } from "./inputs/unknowns";
import type { Interruption } from "./interruption";
import { type Kind, withAddressField } from "./kind";
import { noticeCheck, noticeDiff } from "./notice";
import { read } from "./read";
import type { Sessions } from "./session";
import type { EngineLog } from "./shown/engine-log";
import { Progress } from "./shown/progress";
import { noticeDelete } from "./unsettled";
import { NotApplied } from "./update";
import { resumeUpdate } from "./updates/resume-update";
import { plain } from "./values/plain";
import { marked, sealed } from "./values/sealed";
import { type Hidden, hiddenOf, nowOf, optionsOf, resourceName } from "./values/state";

const verbs = { create: "creating", read: "reading", update: "updating", delete: "deleting" } as const;

/** What the provider process works with, shared by all kinds. */
export interface Surroundings {
  readonly sessions: Sessions;
  readonly log: EngineLog;
  readonly interruption: Interruption;
  /** Whether each message of progress is a line of its own in somebody's log. */
  readonly inCi: boolean;
  /** How an error's words stand where they are shown. */
  readonly layOut: (message: string) => string;
}

/** The provider of one kind, as the host calls it: here what the host hands over is parsed, and errors become words. */
export function providerOf(kind: Kind, surroundings: Surroundings): HostProvider {
  const { sessions, log, interruption, inCi, layOut } = surroundings;
  /** Runs one call; `id` is the object's, where there is one already. `seal` marks the secrets among outputs. */
  async function run<T>(
    action: keyof typeof verbs,
    properties: Properties,
    work: (call: Call, seal: (outputs: Properties) => Properties) => Promise<T>,
    { id, olds = {}, given = properties }: { id?: string; olds?: Properties; given?: Properties } = {},
  ): Promise<T> {
    const known = [properties, olds];
    const seal = (outputs: Properties): Properties =>
      sealed(kind.fields, outputs, { given, before: olds, known });
    const hidden = hiddenOf(properties);
    const progress = new Progress(log.row(sessions.memory.rowOf(hidden)), verbs[action], {
      clock: sessions.clock,
      inCi,
    }).begin();
    try {
      const session = sessions.open();
      const deadline = deadlineOf(session, action, hidden);
      const shownKind = withAddressField(kind, session.settings.ipAddressField);
      return await interruption.during((signal) =>
        work({ kind: shownKind, session, deadline, signal, progress, known }, seal),
      );
    } catch (error) {
      const words = wordsFor(error, verbs[action], properties, {
        ...{ id, known },
        occasion: occasionOf(action, hidden),
      });
      const left = leftInState(error, id);
      if (left !== undefined) {
        // The host adds the provider's text to what succeeded, not to this.
        const saved = seal(plain({ ...left.outs, __provider: properties.__provider }));
        throw new InitialisationError(left.id, saved, words, error);
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
    { id, known, occasion }: Circumstances,
  ): string {
    const hidden = hiddenOf(properties);
    const name = resourceName(hidden) ?? id ?? "";
    // Without a check in this run, the name is the state's, and the resource may have been renamed since.
    const isStale = hidden.__key !== undefined && !sessions.memory.knowsNow(hidden.__key);
    const object = isStale && (verb === "deleting" || verb === "reading") ? ` (${id})` : "";
    const secrets = secretsOf(...known);
    const circumstances = {
      doing: `${verb} ${kind.name} "${name}"${object}`,
      propertyOf: (wire: string) => kind.fields.find((field) => field.wire === wire)?.name ?? wire,
      provider: sessions.provider,
      occasion,
      secrets: [...secrets.texts, ...sessions.tokens],
      secretProperties: secrets.names,
    };
    return layOut(inWords(error, circumstances));
  }

  /** The inputs of a resource that exists, with what the program says beside its arguments. */
  function saidNow(olds: Properties, given: Properties): Properties {
    const { memory } = sessions;
    return withKeptSecrets(memory.withNow(given), olds, memory.ignoredBy(hiddenOf(given).__key));
  }

  /** By the resource's key, what an update has left: an error hook makes the engine repeat it with the state from before. */
  const unsaved = new Map<string, { readonly before: Properties; readonly left: Leaving }>();

  return {
    configure: async ({ config }) => sessions.configure((key) => config.get(key)),
    check: async (olds, news) => {
      const noticed = await noticeCheck(kind, sessions, log, { olds, news });
      const { inputs, failures } = check(kind, olds, news, noticed);
      const { __key: key } = hiddenOf(inputs);
      const __autonamed = news.name === undefined || undefined;
      if (key !== undefined && !isUnknown(key))
        sessions.memory.says(key, { ...nowOf(news), __autonamed }, optionsOf(news));
      return { inputs: plain(inputs), failures };
    },
    diff: async (id, olds, given) => {
      const news = saidNow(olds, given);
      try {
        return await noticeDiff(kind, sessions, log, { id, olds, news });
      } catch (error) {
        throw new HostError(wordsFor(error, "comparing", news, { id, known: [news, olds] }), error);
      }
    },
    create: (inputs) =>
      run("create", inputs, async (call, seal) => {
        const { id, outs } = await create(call, inputs);
        return { id, outs: seal(outs) };
      }),
    read: (id, props) =>
      run(
        "read",
        props,
        async (call, seal) => {
          const found = await read(call, id, props);
          if (!isFound(found)) return found;
          sessions.memory.read(identityOf(call, found.id));
          const outputs = seal(found.props);
          const { __sealed = [] } = hiddenOf(outputs);
          // The engine marks only what was secret in the state before: what an update has made since was not.
          const { secrets = [] } = pendingOf(props) ?? {};
          const others = secrets.filter((name) => !__sealed.includes(name));
          return {
            ...found,
            props: marked(outputs, others),
            inputs: marked(found.inputs, [...__sealed, ...others]),
          };
        },
        { id, olds: props, given: marksOf(props) },
      ),
    update: (id, before, given) => {
      const { __key: key = id } = hiddenOf(before);
      const first = unsaved.get(key);
      const earlier = isDeepStrictEqual(first?.before, before) ? first?.left : undefined;
      const olds = earlier?.outs ?? before;
      const news = saidNow(olds, given);
      const work = async (call: Call, seal: (outputs: Properties) => Properties) => {
        try {
          const { outs } = await resumeUpdate(call, id, olds, news);
          return { outs: seal(outs) };
        } catch (error) {
          if (isLeaving(error)) unsaved.set(key, { before, left: error });
          else if (earlier !== undefined && isCloudInfraError(error))
            throw new PartialState(error, id, olds, earlier.hint ?? "");
          throw error;
        }
      };
      return run("update", news, work, { id, olds });
    },
    delete: (id, props) => {
      noticeDelete(sessions, interruption, props);
      return run("delete", sessions.memory.withNow(props), (call) => remove(call, id, props), {
        id,
        olds: props,
      });
    },
  };
}

/** What is known of a failed call beside its properties. */
interface Circumstances {
  readonly id: string | undefined;
  /** All that may hold secrets. */
  readonly known: readonly Properties[];
  readonly occasion?: Occasion;
}

function isFound(answer: ReadAnswer): answer is Extract<ReadAnswer, { id: string }> {
  return answer.id !== undefined;
}

/** The arguments that a refresh knows to be secret among the inputs: not those of which only the state's old value is. */
function marksOf(state: Properties): Properties {
  const { __secrets = [], __sealed = [] } = hiddenOf(state);
  return { __secrets: __secrets.filter((name) => !__sealed.includes(name)) };
}

function occasionOf(verb: keyof typeof verbs, { __key, __timeouts }: Hidden): Occasion {
  const hasOwnTimeout = verb !== "read" && __timeouts?.[verb] !== undefined;
  return { verb, isLookedUp: __key === undefined, hasOwnTimeout };
}

/** A failure that leaves something in the state. */
type Leaving = PartialState | NotApplied;

function isLeaving(error: unknown): error is Leaving {
  return error instanceof PartialState || error instanceof NotApplied;
}

/** What a failure leaves in the state, and under which id. */
function leftInState(error: unknown, id: string | undefined): { id: string; outs: Properties } | undefined {
  if (error instanceof PartialState) return error;
  return error instanceof NotApplied && id !== undefined ? { id, outs: error.outs } : undefined;
}
