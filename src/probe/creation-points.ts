import { isTransient, retryAfterMs } from "../api/retry";
import type { Behaviour } from "../emulator";
import type { WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import type { Facts } from "./facts";
import { after, causeOf, durationOf, isEnd, isListedEarly, isPoll, statusCode } from "./observations";
import type { Exchange } from "./reading-points";
import { fails, limited, type Points, parts, point, works } from "./report";

/** The points of the report that depend on a creation and its operation. */
export const creationPoints = {
  projectCreation: point("Creation of projects", ({ project }) => {
    if (project === undefined) return undefined;
    const projectPost = statusCode(project, [200, 201, 202]);
    return works(String(project.reply.status), projectPost && { projectPost });
  }),
  invalidValues: point("Invalid values", ({ invalid }) => {
    if (invalid === undefined) return undefined;
    const { status } = invalid.exchange.reply;
    return invalid.isAccepted
      ? works(
          `An unknown flavor is accepted at first (${status})`,
          {},
          "A typo fails only during `pulumi up`",
        )
      : works(`An unknown flavor is rejected (${status})`);
  }),
  rejectedKey: point("Key of a rejection", ({ invalid }) => {
    if (invalid?.isKeyUsable === undefined || invalid.isAccepted) return undefined;
    return invalid.isKeyUsable
      ? works("Can be used again", { cachedReplies: "successes" })
      : works("Can't be used for another request", { cachedReplies: "all" });
  }),
  creation: point("Creation", ({ creation, refusal }) => {
    if (refusal !== undefined) {
      const { exchange, what, hiddenProject } = refusal;
      const forbiddenStatus = statusCode(exchange, [403, 404, 401]);
      if (forbiddenStatus === undefined)
        return fails(
          `No ${what} was created (${causeOf(exchange)})`,
          "Fix the cause, and run the probe again",
        );
      const place =
        hiddenProject === undefined ? "" : ` in project ${hiddenProject}, or the project doesn't exist`;
      return fails(`Rejected (${causeOf(exchange)})`, `The token can't create ${what}s${place}`, {
        behaviour: { ...(hiddenProject === undefined && { readOnlyToken: true }), forbiddenStatus },
      });
    }
    if (creation === undefined) return undefined;
    const { reply, json } = creation;
    const link = reply.header("location");
    const locationOrigin = otherOrigin(link, creation);
    const hasBody = "id" in json;
    const body = `${hasBody ? "an operation or object" : "nothing"} in the body`;
    const observation = parts(String(reply.status), body, `Location: ${describeLink(link, locationOrigin)}`);
    return works(observation, {
      location: formOf(link),
      ...(locationOrigin && { locationOrigin }),
      ...(reply.status === 202 && !hasBody && { acceptedReply: "location" }),
    });
  }),
  replay: point("Idempotency key", ({ replay }) => {
    if (replay === undefined) return undefined;
    if (replay.isSame) return works("The same request with the same key returned the same result");
    if (replay.second.reply.status >= 400)
      return limited(
        `The same request with the same key was rejected (${causeOf(replay.second)})`,
        "If a reply is lost, the outcome of the creation stays unknown: check at the service what was created",
      );
    return limited(
      `The same key returned ${replay.second.reply.status} with another result`,
      "If a reply is lost, the retry may create a second object. The provider can't prevent that",
      { behaviour: { keyRetentionMs: 0 } },
    );
  }),
  keyReuse: point("Reused key", ({ replay }) => {
    const { other } = replay ?? {};
    if (other === undefined) return undefined;
    if (other.reply.status < 300) return works("Another request with the key returned the first result");
    const keyReuseStatus = statusCode(other, [422, 409, 400]);
    const { code: keyReuseCode } = other.json;
    return works(`Another request with the key was rejected (${causeOf(other, "code")})`, {
      ...(keyReuseStatus && { keyReuseStatus }),
      ...(typeof keyReuseCode === "string" && { keyReuseCode }),
    });
  }),
  operation: point("Operation", ({ creation, polls }) => {
    if (creation === undefined || polls === undefined) return undefined;
    const seen = polls.filter(({ request, json }) => isPoll(request.url) && "status" in json);
    const states = [creation, ...seen].map(({ json }) => json).filter((json) => "status" in json);
    const running = seen.filter(({ json }) => !isEnd(json));
    const last = states.at(-1) ?? {};
    const statuses = [...new Set(states.map(({ status }) => String(status)))];
    const progress = progressOf(states, running);
    const isEarly = states.some((json) => !isEnd(json) && typeof json.result_url === "string");
    const form = formOf(last.result_url);
    const resultLink = form === "absolute" && isEarly ? "early" : form;
    const resultOrigin = otherOrigin(last.result_url, creation);
    const operationMs = durationOf(last);
    const wait = retryAfterOf(running);
    const observation = parts(
      `statuses: ${statuses.join(", ")}`,
      progress.text,
      `result link: ${resultOrigin === undefined ? resultLink : `${resultLink} to ${resultOrigin}`}`,
      operationMs === undefined ? "the end is not dated" : `took ${formatDuration(operationMs)}`,
      wait?.text,
    );
    const behaviour: Partial<Behaviour> = {
      ...progress.behaviour,
      ...{ finishedAt: typeof last.finished_at === "string", resultLink },
      ...(resultOrigin && { resultOrigin }),
      ...(operationMs !== undefined && { operationMs }),
      ...wait?.behaviour,
    };
    const slow = "Pulumi's display shows no percentage, and waits are up to 20% longer";
    return works(observation, behaviour, progress.behaviour.progress === "absent" ? slow : undefined);
  }),
  finishedOperation: point("Finished operation", ({ end }) => {
    if (end === undefined) return undefined;
    if (end.when === "kept") return works("Can still be read");
    const withoutIt = "The provider finds the result without it";
    if (end.when === "at its end")
      return works("Is purged when it ends", { operationKeptPolls: 0 }, withoutIt);
    const purgedStatus = end.status === 410 ? 410 : 404;
    const [when, kept] =
      end.when === "read"
        ? [
            `after its end has been read ${end.reads === 1 ? "once" : "twice"}`,
            { operationKeptPolls: end.reads },
          ]
        : ["soon after its end", { operationKeptMs: end.ms }];
    return works(`Is purged ${when} (${end.status})`, { ...kept, purgedStatus }, withoutIt);
  }),
  visibility: point("New instances", ({ visibility, polls }) => {
    if (visibility === undefined) return undefined;
    return isListedEarly(visibility.early, polls)
      ? works(`Listed ${after(visibility.early.lists)}`, { instanceVisible: "at-once" })
      : works("Listed when the operation has ended", { instanceVisible: "when-done" });
  }),
  duplicateNames: point("Duplicate names", ({ duplicate, name }) => {
    if (duplicate === undefined) return undefined;
    const { status, problem } = duplicate.reply;
    if (status < 300) return works("Are accepted", { uniqueNames: false });
    const detail = problem?.detail ?? "";
    const isGeneral = status === 409 && detail !== "" && !detail.includes(name);
    return works(
      `Are rejected (${causeOf(duplicate, isGeneral ? "detail" : "code")})`,
      { uniqueNames: true, ...(isGeneral && { conflictDetail: detail }) },
      "With a `name` of your own, a replacement requires `deleteBeforeReplace`",
    );
  }),
} satisfies Points<Facts>;

const formOf = (link: unknown): "missing" | "relative" | "absolute" =>
  typeof link !== "string" ? "missing" : link.startsWith("/") ? "relative" : "absolute";

const describeLink = (link: unknown, origin: string | undefined): string =>
  origin === undefined ? formOf(link) : `${formOf(link)} to ${origin}`;

/** Returns the origin of a link if it differs from the origin of the service. */
function otherOrigin(link: unknown, { request }: Exchange): string | undefined {
  if (typeof link !== "string" || !URL.canParse(link)) return undefined;
  const { origin } = new URL(link);
  return origin === request.url.origin ? undefined : origin;
}

function progressOf(
  states: readonly WireFields[],
  running: readonly Exchange[],
): { text: string; behaviour: Partial<Behaviour> } {
  const numbers = (of: readonly WireFields[]): number[] =>
    of.flatMap(({ progress }) => (progress === undefined || progress === null ? [] : Number(progress)));
  if (numbers(states).length === 0) return { text: "no progress", behaviour: { progress: "absent" } };
  const values = numbers(running.map(({ json }) => json));
  if (values.length < 2) return { text: "progress not observed", behaviour: {} };
  if (new Set(values).size === 1) return { text: "progress does not grow", behaviour: { progress: "stuck" } };
  return values.every((value) => Number.isInteger(value * 4))
    ? { text: "progress in quarters", behaviour: { progress: "bursts" } }
    : { text: "progress grows", behaviour: { progress: "linear" } };
}

function retryAfterOf(
  running: readonly Exchange[],
): { text: string; behaviour: Partial<Behaviour> } | undefined {
  const { reply } = running.find(({ reply }) => reply.header("retry-after") !== undefined) ?? {};
  const value = reply?.header("retry-after");
  if (reply === undefined || value === undefined || isTransient(reply.status)) return undefined;
  const retryAfterForm = /^\d+$/.test(value) ? "seconds" : value.endsWith("GMT") ? "http-date" : "asctime";
  const retryAfter = Math.round((retryAfterMs(reply.header) ?? 0) / 1_000);
  const form = { seconds: "", "http-date": " as an HTTP date", asctime: " as a date of asctime" }[
    retryAfterForm
  ];
  return { text: `Retry-After: ${retryAfter} s${form}`, behaviour: { retryAfter, retryAfterForm } };
}
