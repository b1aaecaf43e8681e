import { v4 as uuidV4 } from "uuid";
import type { Accepted } from "../api/client";
import { isTransient } from "../api/outcome";
import type { WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import { isTerminal } from "../polling/wait";
import { after, isEnd, isPoll, type ProbeRun, type Reads, reportFailures, timeOf } from "./changing-points";
import { type Ended, PERMISSION_STATUSES, type Started } from "./lifecycle";
import { causeOf, type Exchange, statusCode } from "./reading";
import { parts } from "./report";

const MAX_CREATIONS = 3;

export async function createProbeProject(run: ProbeRun, region: unknown): Promise<boolean> {
  const { life } = run;
  if (life.projectId !== undefined) return true;
  const { result, exchange } = await run.create({ name: life.name, region }, {}, "project");
  const { id } = result === undefined ? {} : await life.finish(result);
  if (id === undefined) {
    await reportRefusal(run, exchange, "project");
    return false;
  }
  run.sent = { ...run.sent, project: id };
  const projectPost = statusCode(exchange, [200, 201, 202]);
  run.works("projectCreation", String(exchange.reply.status), { projectPost });
  return true;
}

/**
 * Creates the instance, and retries if its operation fails.
 *
 * @returns `undefined` if nothing could be created. `kept` is the operation if the service still returns it. `objects` describes the lag
 */
export async function createProbeInstance(run: ProbeRun) {
  const { life, exchanges } = run;
  let { key, result, exchange } = await firstCreation(run);
  for (let attempts = 1; result !== undefined; attempts++) {
    const from = exchanges.all.length;
    const { early, accepted } = await watch(run, result);
    if (attempts === 1) await replay(run, key, exchange);
    const { id, ended } = await life.finish({ ...result, accepted });
    if (id !== undefined) {
      const hasOperation = result.accepted.kind === "operation";
      const polls = hasOperation ? exchanges.all.slice(from).filter(isPoll) : [];
      reportCreation(run, exchange);
      if (hasOperation) reportOperation(run, exchange, polls);
      const kept = hasOperation ? await readEnded(run, ended) : undefined;
      const late = await run.readUntil(isVisible, () => run.shown(id));
      const isEarly = early.lists === 0 || timeOf(early.lists) < (durationOf(polls.at(-1)?.json ?? {}) ?? 0);
      if (isEarly) run.works("visibility", `Listed ${after(early.lists)}`, { instanceVisible: "at-once" });
      else run.works("visibility", "Listed when the operation has ended", { instanceVisible: "when-done" });
      // The probe could read the instance's URL only after a list had contained the id.
      const seen = early.reads === early.lists ? { lists: early.lists, reads: 0 } : early;
      return { id, kept, objects: isEarly ? seen : late };
    }
    if (attempts === MAX_CREATIONS) break;
    key = uuidV4();
    ({ result, exchange } = await run.create(run.sent, { key }));
  }
  if (result !== undefined) await reportFailures(run);
  await reportRefusal(run, exchange, "instance");
  return undefined;
}

const isVisible = (fields: WireFields | undefined): boolean => fields !== undefined;

/** Reads the new instance until it is visible. Meanwhile, polls the operation to observe its progress. */
async function watch(run: ProbeRun, { accepted }: Started): Promise<{ early: Reads; accepted: Accepted }> {
  let last = accepted;
  const early = await run.readUntil(isVisible, async () => {
    if (last.kind === "operation" && !isTerminal(last.operation)) {
      const { result: operation = last.operation } = await run.poll(last.operation);
      last = { ...last, operation };
    }
    return run.shown((await run.named(run.life.name))?.id);
  });
  return { early, accepted: last };
}

/** Sends an invalid request, and then a valid one with its key. Services differ in whether a rejected request uses up its key. */
async function firstCreation(run: ProbeRun): Promise<{ key: string; result?: Started; exchange: Exchange }> {
  const key = uuidV4();
  const { result, exchange } = await run.create({ ...run.sent, flavor: "unknown-probe" }, { key });
  const { status } = exchange.reply;
  if (PERMISSION_STATUSES.includes(status)) return { key, exchange };
  if (result === undefined) run.works("invalidValues", `An unknown flavor is rejected (${status})`);
  else {
    const observation = `An unknown flavor is accepted at first (${status})`;
    run.works("invalidValues", observation, {}, "A typo fails only during `pulumi up`");
    await run.life.finish(result);
  }
  const again = await run.create(run.sent, { key, isRepeat: true });
  const isUsable = again.result !== undefined;
  if (result === undefined) {
    const what = isUsable ? "Can be used again" : "Can't be used for another request";
    run.works("rejectedKey", what, { cachedReplies: isUsable ? "successes" : "all" });
  }
  if (isUsable) return { key, ...again };
  const newKey = uuidV4();
  return { key: newKey, ...(await run.create(run.sent, { key: newKey })) };
}

async function replay(run: ProbeRun, key: string, first: Exchange): Promise<void> {
  const repeat = { key, isRepeat: true };
  const { exchange: second } = await run.create(run.sent, repeat);
  const { status } = second.reply;
  const location = ({ reply }: Exchange): string | undefined => reply.header("location");
  const isSame = status < 300 && second.json.id === first.json.id && location(second) === location(first);
  if (!isSame && status >= 400) {
    const consequence =
      "If a reply is lost, the outcome of the creation stays unknown: check at the service what was created";
    const observation = `The same request with the same key was rejected (${causeOf(second)})`;
    return run.limited("replay", observation, consequence);
  }
  if (!isSame) {
    const twice = "If a reply is lost, the retry may create a second object. The provider can't prevent that";
    const observation = `The same key returned ${status} with another result`;
    return run.limited("replay", observation, twice, { keyRetentionMs: 0 });
  }
  run.works("replay", "The same request with the same key returned the same result");
  const { exchange: other } = await run.create({ ...run.sent, name: `${run.life.name}-other` }, repeat);
  if (other.reply.status < 300)
    return run.works("keyReuse", "Another request with the key returned the first result");
  const { code } = other.json;
  run.works("keyReuse", `Another request with the key was rejected (${causeOf(other, "code")})`, {
    keyReuseStatus: statusCode(other, [422, 409, 400]),
    keyReuseCode: typeof code === "string" ? code : undefined,
  });
}

export async function createDuplicate(run: ProbeRun): Promise<void> {
  const { result, exchange } = await run.create(run.sent);
  if (result !== undefined) await run.life.finish(result);
  const { status, problem } = exchange.reply;
  if (status < 300) return run.works("duplicateNames", "Are accepted", { uniqueNames: false });
  const detail = problem?.detail ?? "";
  const isGeneral = status === 409 && detail !== "" && !detail.includes(run.life.name);
  const observation = `Are rejected (${causeOf(exchange, isGeneral ? "detail" : "code")})`;
  const consequence = "With a `name` of your own, a replacement requires `deleteBeforeReplace`";
  const conflictDetail = isGeneral ? detail : undefined;
  run.works("duplicateNames", observation, { uniqueNames: true, conflictDetail }, consequence);
}

async function reportRefusal(run: ProbeRun, exchange: Exchange, what: "project" | "instance"): Promise<void> {
  const { life } = run;
  const projects = await life.session.client.projects.list(life.context("project"));
  const isHidden = what === "instance" && !projects.some(({ id }) => id === life.projectId);
  const forbiddenStatus = statusCode(exchange, [403, 404, 401]);
  const [cause, fix] = [causeOf(exchange), "Fix the cause, and run the probe again"];
  if (forbiddenStatus === undefined) return run.fails("creation", `No ${what} was created (${cause})`, fix);
  const place = isHidden ? ` in project ${life.projectId}, or the project doesn't exist` : "";
  const behaviour = { readOnlyToken: isHidden ? undefined : true, forbiddenStatus };
  run.fails("creation", `Rejected (${cause})`, `The token can't create ${what}s${place}`, behaviour);
}

function reportCreation(run: ProbeRun, creation: Exchange) {
  const { reply, json } = creation;
  const link = reply.header("location");
  const locationOrigin = otherOrigin(link, creation);
  const location = formOf(link);
  const hasBody = "id" in json;
  const body = `${hasBody ? "an operation or object" : "nothing"} in the body`;
  const place = `Location: ${describeLink(location, locationOrigin)}`;
  const observation = parts(String(reply.status), body, place);
  const acceptedReply = reply.status === 202 && !hasBody ? "location" : undefined;
  run.works("creation", observation, { location, locationOrigin, acceptedReply });
}

function reportOperation(run: ProbeRun, creation: Exchange, polls: readonly Exchange[]) {
  const seen = polls.filter(({ json }) => "status" in json);
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
  const finishedAt = typeof last.finished_at === "string";
  const behaviour = { progress, finishedAt, resultLink, resultOrigin, operationMs, ...wait } as const;
  const slow = "Pulumi's display shows no percentage, and waits are up to 20% longer";
  run.works("operation", observation, behaviour, progress === "absent" ? slow : undefined);
}

const FOUND_WITHOUT_IT = "The provider finds the result without it";

/** Polls the operation of the creation twice after its end. Returns `undefined` if the service has purged the operation. */
async function readEnded(run: ProbeRun, ended: Ended | undefined): Promise<Ended | undefined> {
  if (ended === undefined) {
    run.works("finishedOperation", "Is purged when it ends", { operationKeptPolls: 0 }, FOUND_WITHOUT_IT);
    return undefined;
  }
  for (const reads of [1, 2] as const) if (await isPurged(run, ended, reads)) return undefined;
  run.works("finishedOperation", "Can still be read");
  return ended;
}

/** Reads an ended operation again. @param reads the number of earlier reads, if the service may purge an operation after a few reads */
export async function isPurged(run: ProbeRun, { operation, at }: Ended, reads?: 1 | 2): Promise<boolean> {
  const { error } = await run.poll(operation);
  if (error === undefined) return false;
  if (error.code !== "not_found") throw error;
  const { status } = error;
  const soon = { operationKeptMs: Math.ceil(run.life.session.clock.now() - at) };
  const kept = reads === undefined ? soon : { operationKeptPolls: reads };
  const times = reads === 1 ? "once" : "twice";
  const when = reads === undefined ? "soon after its end" : `after its end has been read ${times}`;
  const behaviour = { ...kept, purgedStatus: status === 410 ? 410 : 404 } as const;
  run.works("finishedOperation", `Is purged ${when} (${status})`, behaviour, FOUND_WITHOUT_IT);
  return true;
}

function durationOf({ started_at: start, finished_at: end }: WireFields): number | undefined {
  const ms = Date.parse(String(end)) - Date.parse(String(start));
  return Number.isNaN(ms) ? undefined : ms;
}

const formOf = (link: unknown): "missing" | "relative" | "absolute" =>
  typeof link !== "string" ? "missing" : link.startsWith("/") ? "relative" : "absolute";

const describeLink = (form: string, origin: string | undefined): string =>
  origin === undefined ? form : `${form} to ${origin}`;

/** Returns the origin of a link if it differs from the origin of the service. */
function otherOrigin(link: unknown, { request }: Exchange): string | undefined {
  if (typeof link !== "string" || !URL.canParse(link)) return undefined;
  const { origin } = new URL(link);
  return origin === request.url.origin ? undefined : origin;
}

const PROGRESS = {
  ...{ absent: "no progress", stuck: "progress does not grow" },
  ...{ bursts: "progress in quarters", linear: "progress grows" },
};

/** Returns `undefined` if too few replies contain the progress of a running operation. */
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
  return { retryAfter: Math.round((reply.retryAfterMs ?? 0) / 1_000), retryAfterForm } as const;
}
