import { isTransient, retryAfterMs } from "../api/retry";
import type { Behaviour } from "../emulator";
import type { WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import { causeOf, type Exchange, type Reads, statusCode, timeOf } from "./reading";
import { fails, limited, type Points, parts, point, pointAbout, works } from "./report";

/** What the probe has observed while it created an instance, as far as it got. */
export interface CreationFacts {
  readonly name: string;
  project?: Exchange;
  /** Why nothing could be created. `hiddenProject` is the id of the project if no list contains it. */
  refusal?: { exchange: Exchange; what: "project" | "instance"; hiddenProject?: string };
  /** A creation with an unknown flavor, and whether a valid one with the same key was accepted afterwards. */
  invalid?: { readonly exchange: Exchange; readonly isAccepted: boolean; isKeyUsable?: boolean };
  creation?: Exchange;
  /** The repetition of the creation, and another creation with its key. */
  replay?: { readonly second: Exchange; readonly isSame: boolean; other?: Exchange };
  /** The polls of the creation's operation, and other requests. */
  polls?: readonly Exchange[];
  /** When the creation's operation was purged. */
  end?:
    | { when: "kept" }
    | { when: "at its end" }
    | { when: "read"; reads: 1 | 2; status: number }
    | { when: "later"; ms: number; status: number };
  /** The reads after the request, and those after the end of the operation. */
  visibility?: { readonly early: Reads; readonly late: Reads };
  duplicate?: Exchange;
}

/** The points that a creation and its operation show. */
export const creationPoints = {
  projectCreation: pointAbout("Creation of projects", "project", (project) => {
    const projectPost = statusCode(project, [200, 201, 202]);
    return works(String(project.reply.status), projectPost && { projectPost });
  }),
  invalidValues: pointAbout("Invalid values", "invalid", ({ exchange, isAccepted }) => {
    const { status } = exchange.reply;
    if (!isAccepted) return works(`An unknown flavor is rejected (${status})`);
    const observation = `An unknown flavor is accepted at first (${status})`;
    return works(observation, {}, "A typo fails only during `pulumi up`");
  }),
  rejectedKey: pointAbout("Key of a rejection", "invalid", ({ isAccepted, isKeyUsable }) => {
    if (isKeyUsable === undefined || isAccepted) return undefined;
    return isKeyUsable
      ? works("Can be used again", { cachedReplies: "successes" })
      : works("Can't be used for another request", { cachedReplies: "all" });
  }),
  creation: point("Creation", ({ creation, refusal }) => {
    if (refusal !== undefined) {
      const { exchange, what, hiddenProject } = refusal;
      const forbiddenStatus = statusCode(exchange, [403, 404, 401]);
      const [cause, fix] = [causeOf(exchange), "Fix the cause, and run the probe again"];
      if (forbiddenStatus === undefined) return fails(`No ${what} was created (${cause})`, fix);
      const isHidden = hiddenProject !== undefined;
      const place = isHidden ? ` in project ${hiddenProject}, or the project doesn't exist` : "";
      const behaviour = { ...(!isHidden && { readOnlyToken: true }), forbiddenStatus };
      return fails(`Rejected (${cause})`, `The token can't create ${what}s${place}`, behaviour);
    }
    if (creation === undefined) return undefined;
    const { reply, json } = creation;
    const link = reply.header("location");
    const locationOrigin = otherOrigin(link, creation);
    const hasBody = "id" in json;
    const body = `${hasBody ? "an operation or object" : "nothing"} in the body`;
    const observation = parts(
      String(reply.status),
      body,
      `Location: ${describeLink(formOf(link), locationOrigin)}`,
    );
    return works(observation, {
      location: formOf(link),
      ...(locationOrigin && { locationOrigin }),
      ...(reply.status === 202 && !hasBody && { acceptedReply: "location" }),
    });
  }),
  replay: pointAbout("Idempotency key", "replay", ({ second, isSame }) => {
    if (isSame) return works("The same request with the same key returned the same result");
    if (second.reply.status >= 400)
      return limited(
        `The same request with the same key was rejected (${causeOf(second)})`,
        "If a reply is lost, the outcome of the creation stays unknown: check at the service what was created",
      );
    return limited(
      `The same key returned ${second.reply.status} with another result`,
      "If a reply is lost, the retry may create a second object. The provider can't prevent that",
      { keyRetentionMs: 0 },
    );
  }),
  keyReuse: pointAbout("Reused key", "replay", ({ other }) => {
    if (other === undefined) return undefined;
    if (other.reply.status < 300) return works("Another request with the key returned the first result");
    const keyReuseStatus = statusCode(other, [422, 409, 400]);
    const { code: keyReuseCode } = other.json;
    return works(`Another request with the key was rejected (${causeOf(other, "code")})`, {
      ...(keyReuseStatus && { keyReuseStatus }),
      ...(typeof keyReuseCode === "string" && { keyReuseCode }),
    });
  }),
  operation: pointAbout("Operation", "polls", (polls, { creation }) => {
    if (creation === undefined) return undefined;
    const seen = polls.filter((poll) => isPoll(poll) && "status" in poll.json);
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
      progress === undefined ? "progress not observed" : PROGRESS[progress],
      `result link: ${describeLink(resultLink, resultOrigin)}`,
      operationMs === undefined ? "the end is not dated" : `took ${formatDuration(operationMs)}`,
      wait && `Retry-After: ${wait.retryAfter} s${RETRY_AFTER[wait.retryAfterForm]}`,
    );
    const behaviour: Partial<Behaviour> = {
      ...(progress && { progress }),
      ...{ finishedAt: typeof last.finished_at === "string", resultLink },
      ...(resultOrigin && { resultOrigin }),
      ...(operationMs !== undefined && { operationMs }),
      ...wait,
    };
    const slow = "Pulumi's display shows no percentage, and waits are up to 20% longer";
    return works(observation, behaviour, progress === "absent" ? slow : undefined);
  }),
  finishedOperation: pointAbout("Finished operation", "end", (end) => {
    if (end.when === "kept") return works("Can still be read");
    const withoutIt = "The provider finds the result without it";
    if (end.when === "at its end")
      return works("Is purged when it ends", { operationKeptPolls: 0 }, withoutIt);
    const purgedStatus = end.status === 410 ? 410 : 404;
    if (end.when === "later") {
      const behaviour = { operationKeptMs: end.ms, purgedStatus } as const;
      return works(`Is purged soon after its end (${end.status})`, behaviour, withoutIt);
    }
    const times = end.reads === 1 ? "once" : "twice";
    const behaviour = { operationKeptPolls: end.reads, purgedStatus } as const;
    return works(`Is purged after its end has been read ${times} (${end.status})`, behaviour, withoutIt);
  }),
  visibility: pointAbout("New instances", "visibility", ({ early }, { polls }) =>
    isListedEarly(early, polls)
      ? works(`Listed ${after(early.lists)}`, { instanceVisible: "at-once" })
      : works("Listed when the operation has ended", { instanceVisible: "when-done" }),
  ),
  duplicateNames: pointAbout("Duplicate names", "duplicate", (duplicate, { name }) => {
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
} satisfies Points<CreationFacts>;

export const isPoll = ({ request }: Exchange): boolean => request.url.pathname.includes("/operations/");
export const isEnd = ({ status }: WireFields): boolean => !/^(pending|running)$/i.test(String(status));

function durationOf({ started_at: start, finished_at: end }: WireFields): number | undefined {
  const ms = Date.parse(String(end)) - Date.parse(String(start));
  return Number.isNaN(ms) ? undefined : ms;
}

/** Says when a read has shown a change. */
export function after(read: number): string {
  if (read === 0) return "immediately";
  return `${Number.isFinite(read) ? "within" : "not within"} ${formatDuration(timeOf(read))}`;
}

/** Whether the first reads showed the instance, although its operation was still running. */
export function isListedEarly({ lists }: Reads, polls: readonly Exchange[] = []): boolean {
  return lists === 0 || timeOf(lists) < (durationOf(polls.findLast(isPoll)?.json ?? {}) ?? 0);
}

const formOf = (link: unknown): "missing" | "relative" | "absolute" =>
  typeof link !== "string" ? "missing" : link.startsWith("/") ? "relative" : "absolute";

const describeLink = (form: string, origin: string | undefined): string =>
  origin === undefined ? form : `${form} to ${origin}`;

/** Returns the origin of a link if it isn't that of the service. */
function otherOrigin(link: unknown, { request }: Exchange): string | undefined {
  if (typeof link !== "string" || !URL.canParse(link)) return undefined;
  const { origin } = new URL(link);
  return origin === request.url.origin ? undefined : origin;
}

const PROGRESS = {
  absent: "no progress",
  stuck: "progress does not grow",
  bursts: "progress in quarters",
  linear: "progress grows",
};

/** @returns undefined if too few replies show the progress of a running operation */
function progressOf(
  states: readonly WireFields[],
  running: readonly Exchange[],
): keyof typeof PROGRESS | undefined {
  const isNumber = (progress: unknown): boolean => progress !== undefined && progress !== null;
  if (!states.some(({ progress }) => isNumber(progress))) return "absent";
  const values = running.map(({ json }) => json.progress).filter(isNumber);
  if (values.length < 2) return undefined;
  if (new Set(values.map(Number)).size === 1) return "stuck";
  return values.every((value) => Number.isInteger(Number(value) * 4)) ? "bursts" : "linear";
}

const RETRY_AFTER = { seconds: "", "http-date": " as an HTTP date", asctime: " as a date of asctime" };

function retryAfterOf(running: readonly Exchange[]) {
  const { reply } = running.find(({ reply }) => reply.header("retry-after") !== undefined) ?? {};
  const value = reply?.header("retry-after");
  if (reply === undefined || value === undefined || isTransient(reply.status)) return undefined;
  const retryAfterForm = /^\d+$/.test(value) ? "seconds" : value.endsWith("GMT") ? "http-date" : "asctime";
  return { retryAfter: Math.round((retryAfterMs(reply.header) ?? 0) / 1_000), retryAfterForm } as const;
}
