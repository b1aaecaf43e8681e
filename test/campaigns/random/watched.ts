import { type Properties, parseDesired } from "../../../src/model/state";
import { parseDuration } from "../../../src/polling/clock";
import { type HostProvider, InitializationError } from "../../../src/provider/host";
import { unmarked } from "../../provider/marked";
import { claimsOf } from "./claims";
import { isPlain, judgeFailure } from "./failures";
import type { Scene } from "./scene";
import type { Exchange } from "./served";
import type { Verb } from "./tally";

/** How much longer than its deadline a call may take: reads wait briefly for concurrent ones, and a reply may be on its way. */
const SLACK_MS = 100;
const HOUR_MS = 3_600_000;

/** Wraps the provider of a case, and checks each call against the promises for all calls. */
export function watched(provider: HostProvider, scene: Scene): HostProvider {
  const claims = claimsOf(scene);
  /** The program's latest inputs. */
  let said: Properties = {};

  async function call<T>(
    verb: Verb,
    properties: Properties,
    work: () => Promise<T>,
    judge: (answer: T) => void,
    judgeLoss: (error: unknown) => void = () => {},
  ): Promise<T> {
    const began = scene.clock.now();
    const from = scene.served.exchanges.length;
    if (verb === "check") said = properties;
    let how: "succeeded" | "refused" | "kept" = "succeeded";
    try {
      const answer = await work();
      if (verb !== "diff" && typeof answer === "object" && answer !== null && !isPlain(answer))
        scene.broke(`${verb} returns properties that the host can't serialize`);
      judge(answer);
      return answer;
    } catch (error) {
      how = error instanceof InitializationError ? "kept" : "refused";
      judgeFailure(scene, verb, error);
      judgeLoss(error);
      throw error;
    } finally {
      const ms = scene.clock.now() - began;
      const requests = scene.served.exchanges.slice(from).map(shown);
      scene.story.push(`${verb} ${how} after ${Math.round(ms)} ms`, ...requests);
      scene.tally.ended(verb, how, ms);
      const allowed = allowedMs(verb, [properties, said], scene.one.operationTimeout) + SLACK_MS;
      const untilEnd = Math.max(0, scene.interruptedAt - began) + SLACK_MS;
      if (ms > untilEnd)
        scene.broke(`${verb} continued for ${ms - untilEnd + SLACK_MS} ms after it was told to end`);
      if (ms > allowed) scene.broke(`${verb} took ${ms} ms, but only ${allowed} were allowed`);
    }
  }

  return {
    configure: (request) => provider.configure(request),
    check: (olds, news) =>
      call(
        "check",
        news,
        () => provider.check(olds, news),
        ({ failures }) => {
          for (const { property, reason } of failures)
            scene.heard("a failure of check", `${property}${reason}`);
        },
      ),
    diff: (id, olds, news) =>
      call(
        "diff",
        news,
        () => provider.diff(id, olds, news),
        () => {},
      ),
    create: (inputs) => {
      const before = scene.objects();
      const from = scene.served.exchanges.length;
      return call(
        "create",
        inputs,
        () => provider.create(inputs),
        ({ id }) => claims.created(id, inputs, before, from),
        (error) => claims.notCreated(error, before, from),
      );
    },
    read: (id, props) => {
      const from = scene.served.exchanges.length;
      return call(
        "read",
        props,
        () => provider.read(id, props),
        (answer) => claims.read(id, answer, from),
      );
    },
    update: (id, olds, news) => {
      const { fields, address } = scene.service.state.instances.byId.get(id) ?? {};
      const before = structuredClone({ ...fields, address });
      return call(
        "update",
        news,
        () => provider.update(id, olds, news),
        ({ outs }) => claims.updated(id, { olds, news, outs: unmarked(outs), before }),
      );
    },
    delete: (id, props) =>
      call(
        "delete",
        props,
        () => provider.delete(id, props),
        () => {},
      ),
  };
}

/** Returns the deadline of a call: that of its own properties or of the program's latest ones, whichever is longer. */
function allowedMs(verb: Verb, properties: readonly Properties[], operationTimeout: string): number {
  if (verb === "check" || verb === "diff") return 0;
  const own = properties.map((one) =>
    verb === "read" || verb === "list" ? undefined : parseDesired(one).timeouts?.[verb],
  );
  return Math.max(
    ...own.map((text) => parseDuration(text ?? "") ?? parseDuration(operationTimeout) ?? HOUR_MS),
  );
}

function shown({ method, path, status, spoiling, text }: Exchange): string {
  return `  ${method} ${path} ${status}${spoiling === undefined ? "" : ` (${spoiling})`} ${text.slice(0, 300)}`;
}
