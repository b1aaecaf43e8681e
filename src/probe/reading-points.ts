import { REVISION_FIELDS, revisionOf } from "../api/objects";
import { isTokenRejected } from "../api/outcome";
import { hintFor } from "../diagnostics/hints";
import type { Behaviour } from "../emulator";
import { isAddress, isPrivate } from "../model/addresses";
import { ADDRESS_FIELDS, instanceFields, type WireFields } from "../model/resource-fields";
import type { Session } from "../provider/context";
import {
  accessPoints,
  cursorOf,
  type Exchanges,
  hasUsableId,
  isDeletedItem,
  type List,
  Reader,
  type Samples,
  statusCode,
} from "./reading";
import {
  type Finding,
  fails,
  judge,
  limited,
  type Point,
  type Points,
  parts,
  point,
  type Result,
  unknown,
  works,
} from "./report";

export const REFRESH_FIRST =
  "run `pulumi refresh` before `pulumi destroy` if objects are deleted outside Pulumi";
/** The consequence of reused ids if objects have no usable creation date. */
const UNDATED =
  "If the service gives the id of a deleted instance to another one, the provider can't tell them apart";
/** Matches the names of fields that may contain a revision. */
const UNUSUAL_REVISIONS = /rev|etag|version|lock|generation/i;
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...["id", "status", "created_at", "updated_at", "url", ...REVISION_FIELDS, ...ADDRESS_FIELDS],
  ...instanceFields.map(({ wire }) => wire),
]);
const RATE_HEADERS = [
  ...["ratelimit-limit", "x-ratelimit-limit", "x-rate-limit-limit", "ratelimit", "ratelimit-policy"],
];

export interface Examined {
  readonly findings: Finding[];
  readonly instance?: WireFields | undefined;
}

/**
 * Examines a service with about 15 GET requests. Each request may take up to 30 s.
 *
 * @returns a finding for each point, or only the findings about a wrong address or token
 * @throws CloudInfraError if a later request has no reply
 */
export async function examine(
  session: Session,
  exchanges: Exchanges,
  signal?: AbortSignal,
): Promise<Examined> {
  const { access, samples } = await new Reader(session, exchanges, signal).read();
  const findings = judge(accessPoints, access);
  if (samples === undefined) return { findings };
  return { findings: [...findings, ...judge(readingPoints, samples)], instance: samples.instance };
}

const instancePoint = (
  title: string,
  judge: (instance: WireFields, samples: Samples) => Result,
): Point<Samples> =>
  point(title, (samples) =>
    samples.instance === undefined ? unknown("No instance exists") : judge(samples.instance, samples),
  );

/** This module contains the points of the report that require only GET requests. */
export const readingPoints = {
  wrongToken: point("Wrong token", ({ wrongToken: { reply } }) => {
    const { status, problem } = reply;
    const observation = `${status} with ${problem === undefined ? "no" : "a"} problem document`;
    if (isTokenRejected(reply)) return works(observation);
    const unchecked =
      "The service doesn't check tokens: anyone who can reach the service can change your objects";
    if (status < 300) return limited(`Accepted (${status})`, unchecked);
    const consequence =
      "The provider doesn't renew the token after this reply. If a token expires, run the command again";
    return limited(observation, consequence);
  }),
  problems: point("Problem documents", ({ wrongToken, unknownOperation, unknownInstance }) => {
    const errors = [wrongToken, unknownOperation, unknownInstance].filter(({ reply }) => reply.status >= 400);
    if (errors.length === 0) return limited("No request was rejected", "Wrong ids may go unnoticed");
    if (errors.some(({ reply }) => reply.problem === undefined))
      return limited("Some errors have no problem document", "Error messages show only the status");
    const all = (name: string): unknown[] => errors.map(({ json }) => json[name]);
    const [ids, details] = [all("trace_id"), all("detail")];
    const isConstant = ids.length > 1 && new Set(ids).size === 1;
    const traceIds =
      styleOf(ids, { missing: /^undefined$/, empty: /^$/, zeros: /^[0-]+$/ }) ??
      (isConstant ? "constant" : "fresh");
    const isLong = details.some((detail) => String(detail).length > 10_000);
    const problemDetail = details.some(Array.isArray)
      ? "list"
      : (styleOf(details, { missing: /^undefined$/ }) ?? (isLong ? "long" : "text"));
    const numbersAsText = all("status").some((status) => typeof status === "string");
    const behaviour: Partial<Behaviour> = { traceIds, problemDetail, numbersAsText };
    const observation = parts(
      "each error has one",
      `trace ids: ${traceIds}`,
      `detail: ${problemDetail}`,
      numbersAsText && "numbers are strings",
    );
    if (traceIds === "fresh") return works(observation, behaviour);
    const consequence = "The service's operators can't find a failed request by its trace id";
    return limited(observation, consequence, behaviour);
  }),
  projectPages: point("Pages of projects", ({ projects }) => judgePages(projects)),
  instancePages: point("Pages of instances", ({ instances }) => {
    const isAccepted = instances.limited.reply.status === 200;
    return judgePages(instances, { instanceLimit: isAccepted ? "accepted" : "refused" });
  }),
  emptyPage: point("Empty pages", ({ emptyPage: { reply, json } }) => {
    if (reply.status >= 300) return works(`An unknown project in a filter is rejected (${reply.status})`);
    const { items, next_cursor: cursor } = json;
    const emptyItems = items === undefined ? "absent" : items === null ? "null" : "list";
    const lastCursor = cursor === undefined ? "absent" : cursor === "" ? "empty" : "null";
    const shown = emptyItems === "list" ? "empty list" : emptyItems;
    return works(`items: ${shown}; next_cursor: ${lastCursor}`, { emptyItems, lastCursor });
  }),
  filters: instancePoint("Filters", (_, { filters: { checked, faults } }) => {
    if (checked.length === 0) return unknown("The instance has no project, status or label to filter by");
    if (faults.length === 0) return works(`Work: ${checked.join(", ")}`);
    return limited(parts(...faults), "`getInstances` returns wrong results if you use these filters");
  }),
  ids: point("Ids", ({ projects, instances }) => {
    const items = [...instances.items, ...projects.items];
    const [sample] = items;
    if (sample === undefined) return unknown("No object exists");
    const unusable = items.find((fields) => !hasUsableId(fields));
    if (unusable !== undefined) {
      const observation = `The id "${unusable.id}" can't be a part of a URL`;
      return limited(observation, "Refreshes, changes and deletions of this object fail");
    }
    const ids = idStyleOf(items);
    const observation = `Style: ${ids}, ${ids === "number" ? "numbers" : `such as ${sample.id}`}`;
    return ids === "uuid" || ids === "prefixed"
      ? works(observation, { ids })
      : limited(observation, `The service may reuse ids: ${REFRESH_FIRST}`, { ids });
  }),
  dates: point("Dates", ({ single, item }) => {
    if (item === undefined) return unknown("No object exists");
    const { created_at: listed } = item;
    if (listed === undefined || listed === null) return limited("Lists contain no creation date", UNDATED);
    const date = String(listed);
    if (Number.isNaN(Date.parse(date)) || !/(Z|[+-]\d\d:?\d\d)$/.test(date))
      return limited("Creation dates have no time zone or another format", UNDATED);
    const fractionalDates = /\.\d/.test(date) && !/\.\d/.test(String(single?.json.created_at ?? date));
    const fractions = fractionalDates ? ", with fractions of seconds only in lists" : "";
    return works(`ISO 8601${fractions}`, { fractionalDates });
  }),
  singleObject: point("GET of one object", ({ single, instance }) => {
    if (single === undefined) return unknown("No object exists");
    const { status } = single.reply;
    const what = instance === undefined ? "a project" : "an instance";
    if (status === 200) return works(`Returns ${what}`, { getObject: 200 });
    const observation = `${status} for ${what} that the list contains`;
    if (![404, 405, 410, 501].includes(status))
      return limited(observation, "A refresh of a few objects fails with this error");
    const consequence =
      "The provider reads lists instead, which takes more time in projects with many instances";
    return limited(observation, consequence, { getObject: statusCode(single, [404, 405]) });
  }),
  listItems: instancePoint("List items", (_, { single, item = {} }) => {
    if (single?.reply.status !== 200) return works("Are the only source of values");
    const itemsWithout = Object.keys(single.json).filter((name) => !(name in item));
    if (itemsWithout.length === 0) return works("Contain all fields", { itemsWithout });
    const consequence = "A refresh reads instances one by one if a field may have changed";
    return works(`Omit ${itemsWithout.join(", ")}`, { itemsWithout }, consequence);
  }),
  emptyFields: instancePoint("Empty fields", (instance) => {
    if (Object.values(instance).includes(null)) return works("Shown as null", { absentValues: "null" });
    const absent = instanceFields.map(({ wire }) => wire).filter((wire) => !(wire in instance));
    const observation = absent.length === 0 ? "None is empty" : `${absent.join(", ")} not returned`;
    return works(observation, { absentValues: "omitted" });
  }),
  revision: instancePoint("Revision", (instance, { single, item = {} }) => {
    const etag = single?.reply.status === 200 ? single.reply.header("etag") : undefined;
    const isInField = revisionOf(instance, undefined, undefined).revision !== undefined;
    const field = isInField ? REVISION_FIELDS.find((name) => instance[name] !== undefined) : undefined;
    const isWeak = etag?.startsWith("W/") ?? false;
    const header = etag === undefined ? undefined : isWeak ? "a weak ETag header" : "the ETag header";
    const places = [header, field && `the field ${field}`].filter(Boolean);
    if (places.length > 0) {
      const revision = isWeak ? "weak" : etag === undefined ? "body" : field ? "both" : "header";
      const observation = `${places.length === 1 ? "Only in" : "In"} ${places.join(" and ")}`;
      return works(observation, { revision, revisionField: field });
    }
    if (revisionOf(item, undefined, undefined).revision !== undefined)
      return limited("Only in lists", "Each update also reads lists", { revision: "body" });
    const revisionField = Object.keys(instance).find((name) => UNUSUAL_REVISIONS.test(name));
    const required = "Updates require the setting `revisionField`";
    if (revisionField !== undefined) {
      const switches = { revision: "body", revisionField } as const;
      return limited(`Perhaps in the field ${revisionField}`, required, switches, { revisionField });
    }
    const consequence =
      "Updates fail: use `replaceOnChanges`, or set `revisionField` if another field has it";
    return limited("Not found", consequence, { revision: "none" });
  }),
  ipAddress: point("Public address", ({ single, instances }) => {
    const objects = [...(single?.reply.status === 200 ? [single.json] : []), ...instances.items];
    for (const object of objects) {
      const ipField = ADDRESS_FIELDS.find((name) => isAddress(object[name]));
      if (ipField !== undefined) {
        const publicIpShows = object.public_ip === null ? "null" : "mode";
        const observation = parts(`in the field ${ipField}`, publicIpShows === "null" && "public_ip is null");
        return works(observation, { ipField, publicIpShows });
      }
      const other = Object.keys(object).find((name) => isAddress(object[name]) && !isPrivate(object[name]));
      const consequence = "The output `ipAddress` requires the setting `ipAddressField`";
      if (other !== undefined)
        return limited(`In the field ${other}`, consequence, {}, { ipAddressField: other });
    }
    return unknown("No instance has a public address");
  }),
  deletedObjects: point("Deleted objects", ({ instances }) => {
    const deleted = instances.items.find(isDeletedItem);
    if (deleted === undefined) return works("None is listed");
    const softDelete = String(deleted.status);
    const observation = `Remain listed with the status ${softDelete}`;
    return works(observation, { softDelete }, "The provider treats them as deleted");
  }),
  unknownOperation: point("Unknown operation", ({ unknownOperation: { reply } }) => {
    const { status } = reply;
    if (status === 404 || status === 410) return works(String(status), { purgedStatus: status });
    const consequence = "If the service purges an operation, waiting for it fails: run `pulumi up` again";
    return limited(String(status), consequence);
  }),
  otherFields: instancePoint("Other fields", (instance) => {
    const isOther = (name: string): boolean => !KNOWN_FIELDS.has(name) && !UNUSUAL_REVISIONS.test(name);
    const others = Object.keys(instance).filter(isOther);
    if (others.length === 0) return works("None");
    // The profile contains only the names of fields, because their values may be private.
    const extraFields = Object.fromEntries(others.map((name) => [name, ""]));
    const consequence = "Updates don't contain these fields, so the service may remove their values";
    return works(others.join(", "), { extraFields }, consequence);
  }),
  links: point("Links", ({ base, item, single }) => {
    const link = single?.json.url ?? item?.url;
    if (typeof link !== "string") return unknown("No object has a link");
    if (!URL.canParse(link)) return works("Are paths");
    const { origin } = new URL(link);
    if (origin === new URL(base).origin) return works("Have the host of the endpoint");
    const consequence = "The provider uses only their paths, at the endpoint's host";
    return works(`Have another host: ${origin}`, { linkOrigin: origin }, consequence);
  }),
  speed: point("Round trips", ({ exchanges }) => {
    const times = exchanges.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
    const median = times[Math.floor(times.length / 2)] ?? 0;
    const maximum = Math.round(times.at(-1) ?? 0);
    const observation = `${Math.round(median)} ms (median), ${maximum} ms (maximum) of ${times.length}`;
    if (median < 1_000) return works(observation);
    return limited(observation, "Commands are slow, because each change takes several round trips");
  }),
  rateLimit: point("Rate limit", ({ exchanges }) => {
    const rejected = exchanges.filter(({ reply }) => reply.status === 429).length;
    const headers = RATE_HEADERS.flatMap((name) => {
      const value = exchanges.map(({ reply }) => reply.header(name)).find((one) => one !== undefined);
      return value === undefined ? [] : [`${name}: ${value}`];
    });
    if (rejected === 0) return works(headers.join("; ") || "No header announces a limit");
    const observation = parts(`${rejected} of ${exchanges.length} replies had the status 429`, ...headers);
    return limited(observation, "Large stacks take longer: the provider sends fewer requests after each 429");
  }),
  clock: point("Clock", ({ projects: { page } }) => {
    const date = Date.parse(page.reply.header("date") ?? "");
    if (Number.isNaN(date)) return limited("Replies have no Date header", "A wrong clock goes unnoticed");
    const skewS = Math.round((date - page.at) / 1_000);
    if (Math.abs(skewS) <= 60) return works("The clocks of the service and of this machine agree");
    const observation = `The service's clock is ${Math.abs(skewS)} s ${skewS > 0 ? "ahead" : "behind"}`;
    const consequence =
      "Correct this machine's clock if it is wrong: the provider uses it to decide whether an idempotency key is still valid";
    return Math.abs(skewS) > 3_600 ? limited(observation, consequence) : works(observation);
  }),
} satisfies Points<Samples>;

function judgePages(
  { limited: { reply }, page, items, error, cursors }: List,
  limit: Partial<Behaviour> = {},
): Result {
  if (error !== undefined)
    return fails(parts(error.summary), hintFor(error, [], undefined, { verb: "list" }) ?? "Lists fail");
  const isAccepted = reply.status === 200;
  const isLast = cursorOf(page) === undefined;
  const isShort = isAccepted && !isLast && items.length < 200;
  const behaviour = { ...limit, pageSize: isShort ? items.length : undefined };
  const accepted = isAccepted ? "accepts limit=200" : `rejects limit=200 (${reply.status})`;
  const size = isLast ? `${items.length} on one page` : `pages of ${items.length}`;
  const incomplete = "Refreshes and lookups fail, because lists are incomplete";
  if (typeof cursors === "object") return fails(parts(accepted, cursors.fault), incomplete, behaviour);
  if (cursors === "not observed") return unknown(parts(accepted, size, "cursors not observed"), behaviour);
  const observation = parts(accepted, size, "cursors work");
  return isAccepted && !isShort
    ? works(observation, behaviour)
    : limited(observation, "Refreshing many objects takes more requests", behaviour);
}

function styleOf<Style extends string>(
  values: readonly unknown[],
  styles: Readonly<Record<Style, RegExp>>,
): Style | undefined {
  const names = Object.keys(styles) as Style[];
  return names.find((name) => values.every((value) => styles[name].test(String(value))));
}

function idStyleOf(items: readonly WireFields[]): NonNullable<Behaviour["ids"]> {
  if (typeof items[0]?.id === "number") return "number";
  const ids = items.map(({ id }) => id);
  const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
  return styleOf(ids, { counter: /^\d+$/, uuid }) ?? (items.every(hasSlug) ? "slug" : "prefixed");
}

/** Reports whether the id of an object is its name in lower case without spaces, possibly with a number. */
function hasSlug({ id, name }: WireFields): boolean {
  const slug = String(name)
    .toLowerCase()
    .replace(/[^a-z\d]+/g, "-")
    .replace(/^-|-$/g, "");
  return typeof name === "string" && [String(id), String(id).replace(/-\d+$/, "")].includes(slug);
}
