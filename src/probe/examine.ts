import { REVISION_FIELDS, revisionOf } from "../api/objects";
import type { Behaviour } from "../emulator";
import { isAddress, isPrivate } from "../model/addresses";
import { referencedId } from "../model/changes";
import { ADDRESS_FIELDS, instanceFields, type WireFields } from "../model/kinds";
import { isDeleted } from "../provider/lookup/object-getter";
import { type Finding, failing, limited, REFRESH_FIRST, seen, unknown } from "./points";
import type { ProbedService, ProbeReply } from "./service";

/** Replies that several points need. */
interface Samples {
  readonly projects: ProbeReply;
  readonly instances: ProbeReply;
  readonly projectItems: readonly WireFields[];
  readonly instanceItems: readonly WireFields[];
  /** The reply to a GET of the first instance, or of the first project if no instance exists. */
  readonly single: ProbeReply | undefined;
  /** The list item of that object. */
  readonly item: WireFields | undefined;
  /** The first instance, from its own URL if the service returns it there. */
  readonly instance: WireFields | undefined;
  /** The replies to requests that the service must reject. */
  readonly rejections: readonly ProbeReply[];
}

const WRONG_TOKEN = "pulumi-cloudinfra-probe-wrong-token";
/** Not the id of any object. Some services only accept UUIDs as ids. */
const NO_ID = "00000000-0000-4000-8000-000000000000";
const ALL = { limit: "200" };

/**
 * Examines a service. Sends only GET requests, about 15 of them.
 *
 * @returns one finding for each point. If the address or the token is wrong, only the findings about them
 * @throws CloudInfraError `unreachable` or `timeout` if a request gets no reply
 */
export async function examine(service: ProbedService): Promise<Finding[]> {
  const projects = await service.get("/projects", { query: ALL });
  const address = await checkAddress(service, projects);
  if (address.verdict === "fails") return [address];
  const token = checkToken(service, projects);
  if (token.verdict === "fails") return [address, token];
  const samples = await collectSamples(service, projects);
  return [
    address,
    token,
    checkWrongToken(samples),
    checkProblems(samples),
    await checkPages(service, "projectPages", samples.projects),
    await checkPages(service, "instancePages", samples.instances),
    await checkEmptyPage(service),
    await checkFilters(service, samples),
    checkIds(samples),
    checkDates(samples),
    checkSingleObject(samples),
    checkListItems(samples),
    checkEmptyFields(samples),
    checkRevision(samples),
    checkIpAddress(samples),
    checkDeletedObjects(samples),
    checkUnknownOperation(samples),
    checkOtherFields(samples),
    checkLinks(service, samples),
    checkSpeed(service),
    checkRateLimit(service),
    checkClock(samples),
  ];
}

async function checkAddress({ base, get }: ProbedService, reply: ProbeReply): Promise<Finding> {
  const { status, body, problem } = reply;
  const path = "GET /projects";
  const isPage = status === 200 && "items" in reply.json;
  if (isPage || (status >= 400 && (problem !== undefined || status === 401 || status === 403)))
    return seen("address", `${base} offers this API`);
  const shown =
    status >= 300 && status < 400
      ? `${path} returned a redirect (${status})`
      : `${path} returned ${body.kind === "unreadable" ? "a web page or another text" : "something other than a page"} (${status})`;
  const other = await findApi(get, base);
  const consequence = other === undefined ? "Correct the endpoint" : `The API is at ${other}`;
  return failing("address", shown, consequence, other ? { settings: { endpoint: other } } : {});
}

/** Looks for the API elsewhere on the same host. Sends no token. */
async function findApi(get: ProbedService["get"], base: string): Promise<string | undefined> {
  const { origin } = new URL(base);
  for (const place of [`${origin}/v1`, `${origin}/api/v1`]) {
    if (place === base) continue;
    const { status, problem, json } = await get(`${place}/projects`, { token: null });
    if (status === 401 || (status === 403 && problem) || (status === 200 && "items" in json)) return place;
  }
  return undefined;
}

function checkToken({ tokenOrigin }: ProbedService, { status, problem }: ProbeReply): Finding {
  const source = `the token from ${tokenOrigin}`;
  if (status === 200) return seen("token", `The service accepts ${source}`);
  const reason = problem?.detail ?? problem?.code ?? "no reason given";
  const what = status === 403 ? "lacks the permission to list projects" : "is rejected";
  const fix = status === 403 ? "Request the missing permission" : "Set a valid token";
  return failing("token", `${capitalized(source)} ${what} (${status}): ${reason}`, fix);
}

async function collectSamples(service: ProbedService, projects: ProbeReply): Promise<Samples> {
  const instances = await service.get("/instances", { query: ALL });
  const listed = instances.status < 400 ? instances : await service.get("/instances");
  const [projectItems, instanceItems] = [itemsOf(projects), itemsOf(listed)];
  const isInstance = instanceItems.length > 0;
  const [item] = isInstance ? instanceItems : projectItems;
  const id = item && idOf(item);
  const path = `/${isInstance ? "instances" : "projects"}/${encodeURIComponent(id ?? "")}`;
  const single = id === undefined ? undefined : await service.get(path);
  return {
    projects,
    instances,
    projectItems,
    instanceItems,
    item,
    single,
    instance: isInstance ? (single?.status === 200 ? single.json : item) : undefined,
    rejections: [
      await service.get("/projects", { token: WRONG_TOKEN }),
      await service.get(`/operations/${NO_ID}`),
      await service.get(`/instances/${NO_ID}`),
    ],
  };
}

function checkWrongToken({ rejections: [reply] }: Samples): Finding {
  const { status = 0, problem } = reply ?? {};
  const document = problem === undefined ? "no problem document" : "a problem document";
  if (status === 401) return seen("wrongToken", `401 with ${document}`);
  return status < 400
    ? limited("wrongToken", `Accepted (${status})`, "The service doesn't check tokens")
    : limited(
        "wrongToken",
        `${status} with ${document}`,
        "An expired token is never renewed, because the status isn't 401",
      );
}

function checkProblems({ rejections }: Samples): Finding {
  const documents = rejections.filter(({ status }) => status >= 400);
  const problems = documents.flatMap(({ problem }) => problem ?? []);
  if (problems.length < documents.length || problems.length === 0)
    return limited("problems", "Some errors have no problem document", "Errors contain only the status");
  const bodies = documents.map(({ json }) => json);
  const ids = bodies.map(({ trace_id }) => trace_id);
  const details = bodies.map(({ detail }) => detail);
  const traceIds = ids.every((id) => id === undefined)
    ? "missing"
    : ids.every((id) => id === "")
      ? "empty"
      : ids.every((id) => /^[0-]+$/.test(String(id)))
        ? "zeros"
        : new Set(ids).size === 1
          ? "constant"
          : "fresh";
  const problemDetail = details.some(Array.isArray)
    ? "list"
    : details.every((detail) => detail === undefined)
      ? "missing"
      : details.some((detail) => String(detail).length > 10_000)
        ? "long"
        : "text";
  const behaviour = {
    traceIds,
    problemDetail,
    numbersAsText: bodies.some(({ status }) => typeof status === "string"),
  } satisfies Partial<Behaviour>;
  const numbers = behaviour.numbersAsText ? "; numbers are strings" : "";
  const observation = `Each error has one; trace ids: ${traceIds}; detail: ${problemDetail}${numbers}`;
  if (traceIds === "fresh") return seen("problems", observation, behaviour);
  const consequence = "Errors don't show which request failed, and a stored failure can't be recognized";
  return limited("problems", observation, consequence, { behaviour });
}

async function checkPages(
  service: ProbedService,
  point: "projectPages" | "instancePages",
  reply: ProbeReply,
): Promise<Finding> {
  const path = point === "projectPages" ? "/projects" : "/instances";
  const isAccepted = reply.status === 200;
  const page = isAccepted ? reply : await service.get(path);
  const limit =
    point === "instancePages" ? ({ instanceLimit: isAccepted ? "accepted" : "refused" } as const) : {};
  const items = itemsOf(page);
  const isLast = cursorOf(page) === undefined;
  const pageSize = isAccepted && !isLast && items.length < 200 ? { pageSize: items.length } : {};
  const behaviour = { ...limit, ...pageSize };
  const accepted = isAccepted ? "limit=200 is accepted" : `limit=200 is rejected (${reply.status})`;
  const size = isLast ? `all ${items.length} on one page` : `pages of ${items.length}`;
  if (items.length < 2 && isLast)
    return unknown(
      point,
      `${accepted}; ${items.length} listed`,
      "Cursors can't be checked with fewer than 2 objects",
      { behaviour },
    );
  const fault = await followCursors(service, path);
  if (fault !== undefined)
    return failing(point, `${accepted}; ${fault}`, "Lists would be incomplete, so they fail", {
      behaviour,
    });
  const observation = `${accepted}; ${size}; cursors work`;
  return isAccepted && !("pageSize" in behaviour)
    ? seen(point, observation, behaviour)
    : limited(point, observation, "Refreshing many objects takes more requests", { behaviour });
}

/** Reads two pages of one object each. @returns what is wrong with the cursors, if anything */
async function followCursors(service: ProbedService, path: string): Promise<string | undefined> {
  const first = await service.get(path, { query: { limit: "1" } });
  const cursor = cursorOf(first);
  if (itemsOf(first).length > 1) return undefined; // the service ignores small limits
  if (cursor === undefined) return "limit=1 returns no cursor, although there are more objects";
  const second = await service.get(path, { query: { limit: "1", cursor } });
  if (second.status !== 200) return `a cursor is rejected (${second.status})`;
  const [one, other] = [first, second].map((page) => idOf(itemsOf(page)[0] ?? {}));
  return one === other ? "a cursor returns the same page again" : undefined;
}

async function checkEmptyPage(service: ProbedService): Promise<Finding> {
  const reply = await service.get("/instances", { query: { project: NO_ID } });
  if (reply.status >= 400)
    return seen("emptyPage", `An unknown project in a filter is rejected (${reply.status})`);
  const { items, next_cursor: cursor } = reply.json;
  const emptyItems = items === undefined ? "absent" : items === null ? "null" : "list";
  const lastCursor = cursor === undefined ? "absent" : cursor === "" ? "empty" : "null";
  const observation = `items: ${emptyItems === "list" ? "empty list" : emptyItems}; next_cursor: ${lastCursor}`;
  return seen("emptyPage", observation, { emptyItems, lastCursor });
}

async function checkFilters(service: ProbedService, { instanceItems }: Samples): Promise<Finding> {
  const [sample] = instanceItems;
  if (sample === undefined) return unknown("filters", "No instance exists", "Filters can't be checked");
  const project = referencedId(sample.project);
  const [label] = Object.entries(Object(sample.labels));
  const filters: Record<string, string> = {
    ...(typeof project === "string" && { project }),
    ...(typeof sample.status === "string" && { status: sample.status }),
    ...(label && typeof label[1] === "string" && { [`label.${label[0]}`]: label[1] }),
  };
  const broken: string[] = [];
  for (const [name, value] of Object.entries(filters)) {
    const reply = await service.get("/instances", { query: { [name]: value } });
    const hasSample = itemsOf(reply).some((item) => idOf(item) === idOf(sample));
    const none = await service.get("/instances", { query: { [name]: `no-${value}` } });
    if (!hasSample) broken.push(`${name} omits a matching instance`);
    else if (itemsOf(none).length > 0) broken.push(`${name} is ignored`);
  }
  const checked = Object.keys(filters).join(", ");
  return broken.length === 0
    ? seen("filters", `Work: ${checked}`)
    : limited(
        "filters",
        capitalized(broken.join("; ")),
        "`getInstances` returns wrong results if you use these filters",
      );
}

function checkIds({ projectItems, instanceItems }: Samples): Finding {
  const items = [...instanceItems, ...projectItems];
  const all = items.map(({ id }) => id);
  const [sample] = all;
  if (sample === undefined) return unknown("ids", "No object exists", "The style of ids can't be observed");
  const isSlug = items.every(
    ({ id, name }) => typeof name === "string" && slug(name).startsWith(String(id).replace(/-\d+$/, "")),
  );
  const ids =
    typeof sample === "number"
      ? "number"
      : all.every((id) => /^\d+$/.test(String(id)))
        ? "counter"
        : all.every((id) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(String(id)))
          ? "uuid"
          : isSlug
            ? "slug"
            : "prefixed";
  const mayBeReused = ids === "number" || ids === "counter" || ids === "slug";
  const example = typeof sample === "number" ? "numbers" : `such as ${String(sample)}`;
  const observation = `Style: ${ids}, ${example}`;
  return mayBeReused
    ? limited("ids", observation, `The service may reuse ids: ${REFRESH_FIRST}`, { behaviour: { ids } })
    : seen("ids", observation, { ids });
}

const slug = (name: string): string => name.toLowerCase().replace(/[^a-z\d]+/g, "-");

function checkDates({ single, item, projectItems }: Samples): Finding {
  const listed = item?.created_at ?? projectItems[0]?.created_at;
  if (listed === undefined)
    return limited(
      "dates",
      "Lists contain no creation date",
      "An object with a reused id can't be recognized",
    );
  const fractionalDates =
    /\.\d/.test(String(listed)) && !/\.\d/.test(String(single?.json.created_at ?? listed));
  const isValid = !Number.isNaN(Date.parse(String(listed)));
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/.test(String(listed));
  return isValid && hasZone
    ? seen("dates", `ISO 8601${fractionalDates ? ", with fractions of seconds only in lists" : ""}`, {
        fractionalDates,
      })
    : limited(
        "dates",
        "Creation dates have no time zone or another format",
        "An object with a reused id can't be recognized",
      );
}

function checkSingleObject({ single, instance }: Samples): Finding {
  if (single === undefined)
    return unknown("singleObject", "No object exists", "GET of one object can't be checked");
  const { status } = single;
  const what = instance === undefined ? "a project" : "an instance";
  if (status === 200) return seen("singleObject", `Returns ${what}`, { getObject: 200 });
  const isKnown = status === 404 || status === 405;
  return limited(
    "singleObject",
    `${status} for ${what} that the list contains`,
    "The provider reads lists instead, which takes more time in projects with many instances",
    isKnown ? { behaviour: { getObject: status } } : {},
  );
}

function checkListItems({ single, item, instance }: Samples): Finding {
  if (item === undefined || instance === undefined)
    return unknown("listItems", "No instance exists", "Differences between lists and GET can't be observed");
  if (single?.status !== 200) return seen("listItems", "Are the only source of values");
  const itemsWithout = Object.keys(single.json).filter((name) => !(name in item));
  return itemsWithout.length === 0
    ? seen("listItems", "Contain all fields", { itemsWithout })
    : seen(
        "listItems",
        `Omit ${itemsWithout.join(", ")}`,
        { itemsWithout },
        "A refresh reads instances one by one if a field may have changed",
      );
}

function checkEmptyFields({ instance: object }: Samples): Finding {
  if (object === undefined)
    return unknown("emptyFields", "No instance exists", "Empty fields can't be observed");
  const hasNull = Object.values(object).includes(null);
  const absentValues = hasNull ? "null" : "omitted";
  const unshown = instanceFields.map(({ wire }) => wire).filter((wire) => !(wire in object) && !hasNull);
  const observation = hasNull
    ? "Shown as null"
    : unshown.length === 0
      ? "None is empty"
      : `${unshown.join(", ")} not returned`;
  return seen("emptyFields", observation, { absentValues });
}

/** Names that a revision may have in a service with an unusual name. */
const UNUSUAL_REVISIONS = /rev|etag|version|lock|generation/i;

function checkRevision({ single, instance: object }: Samples): Finding {
  if (object === undefined)
    return unknown("revision", "No instance exists", "The revision can't be observed");
  const etag = single?.status === 200 ? single.header("etag") : undefined;
  const { revision: inField } = revisionOf(object, undefined, undefined);
  const field =
    inField === undefined ? undefined : REVISION_FIELDS.find((name) => object[name] !== undefined);
  const named = field === undefined ? {} : { revisionField: field };
  if (etag !== undefined || inField !== undefined) {
    const isWeak = etag?.startsWith("W/") ?? false;
    const revision = isWeak
      ? "weak"
      : etag === undefined
        ? "body"
        : inField === undefined
          ? "header"
          : "both";
    const places = [
      etag === undefined ? undefined : isWeak ? "a weak ETag header" : "the ETag header",
      field && `the field ${field}`,
    ];
    const [place, other] = places.filter(Boolean);
    const observation = other === undefined ? `Only in ${place}` : `In ${place} and ${other}`;
    return seen("revision", observation, { revision, ...named });
  }
  const candidate = Object.keys(object).find((name) => UNUSUAL_REVISIONS.test(name));
  if (candidate !== undefined)
    return limited("revision", `Perhaps in the field ${candidate}`, "Updates require this setting", {
      settings: { revisionField: candidate },
      behaviour: { revision: "body", revisionField: candidate },
    });
  return limited(
    "revision",
    "Not found",
    "Updates can't detect other people's changes, so the service may reject them",
    { behaviour: { revision: "none" } },
  );
}

function checkIpAddress({ single, instanceItems }: Samples): Finding {
  const objects = [...(single?.status === 200 ? [single.json] : []), ...instanceItems];
  const isPublic = (value: unknown): boolean => isAddress(value) && !isPrivate(value);
  for (const object of objects) {
    const ipField = ADDRESS_FIELDS.find((name) => isAddress(object[name]));
    if (ipField !== undefined) {
      const publicIpShows = object.public_ip === null ? "null" : "mode";
      const mode = publicIpShows === "null" ? "; public_ip is null" : "";
      return seen("ipAddress", `In the field ${ipField}${mode}`, { ipField, publicIpShows });
    }
    const other = Object.keys(object).find((name) => isPublic(object[name]));
    if (other !== undefined)
      return limited("ipAddress", `In the field ${other}`, "The output `ipAddress` requires this setting", {
        settings: { ipAddressField: other },
      });
  }
  return unknown("ipAddress", "No instance has a public address", "The field can't be observed");
}

function checkDeletedObjects({ instanceItems }: Samples): Finding {
  const deleted = instanceItems.find((fields) => isDeleted({ id: String(fields.id), fields }));
  if (deleted === undefined) return seen("deletedObjects", "None is listed");
  const softDelete = String(deleted.status);
  return seen(
    "deletedObjects",
    `Remain listed with the status ${softDelete}`,
    { softDelete },
    "They count as deleted",
  );
}

function checkUnknownOperation({ rejections: [, reply] }: Samples): Finding {
  const { status = 0 } = reply ?? {};
  if (status === 404 || status === 410)
    return seen("unknownOperation", String(status), { purgedStatus: status });
  return limited(
    "unknownOperation",
    String(status),
    "If an operation is purged, waiting for it fails, and you have to run `pulumi up` again",
  );
}

const KNOWN_FIELDS = [
  "id",
  "status",
  "created_at",
  "updated_at",
  "url",
  ...REVISION_FIELDS,
  ...ADDRESS_FIELDS,
];

function checkOtherFields({ instance: object }: Samples): Finding {
  if (object === undefined)
    return unknown("otherFields", "No instance exists", "Other fields can't be observed");
  const known = new Set<string>([...KNOWN_FIELDS, ...instanceFields.map(({ wire }) => wire)]);
  const others = Object.keys(object).filter((name) => !known.has(name) && !UNUSUAL_REVISIONS.test(name));
  if (others.length === 0) return seen("otherFields", "None");
  // A profile doesn't contain values of the account.
  const extraFields = Object.fromEntries(others.map((name) => [name, ""]));
  return seen("otherFields", others.join(", "), { extraFields }, "The provider ignores them");
}

function checkLinks({ base }: ProbedService, { item, single }: Samples): Finding {
  const link = single?.json.url ?? item?.url;
  if (typeof link !== "string" || !URL.canParse(link))
    return unknown("links", "No object has a link", "Links can't be observed");
  const { origin } = new URL(link);
  if (origin === new URL(base).origin) return seen("links", "Have the host of the endpoint");
  return seen(
    "links",
    `Have another host: ${origin}`,
    { linkOrigin: origin },
    "The provider uses only their paths",
  );
}

function checkSpeed({ replies }: ProbedService): Finding {
  const times = replies.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? 0;
  const observation = `${Math.round(median)} ms (median), ${Math.round(times.at(-1) ?? 0)} ms (maximum) of ${times.length}`;
  return median < 1_000
    ? seen("speed", observation)
    : limited("speed", observation, "Each change takes several round trips");
}

const RATE_HEADERS = [
  "ratelimit-limit",
  "x-ratelimit-limit",
  "x-rate-limit-limit",
  "ratelimit",
  "ratelimit-policy",
];

function checkRateLimit({ replies }: ProbedService): Finding {
  const rejected = replies.filter(({ status }) => status === 429).length;
  const shown = RATE_HEADERS.flatMap((name) => {
    const value = replies.map(({ header }) => header(name)).find((one) => one !== undefined);
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  if (rejected > 0)
    return limited("rateLimit", `${rejected} replies had the status 429`, "Large stacks take longer", {
      settings: { maxRequestsPerSecond: "5" },
    });
  const observation = shown.length === 0 ? "No headers announce a limit" : shown.join("; ");
  return seen("rateLimit", observation, undefined, "The provider slows down after a 429");
}

function checkClock({ projects }: Samples): Finding {
  const date = Date.parse(projects.header("date") ?? "");
  if (Number.isNaN(date)) return unknown("clock", "Replies have no Date header", "Clocks can't be compared");
  const skewS = Math.round((date - Date.now()) / 1_000);
  if (Math.abs(skewS) <= 60) return seen("clock", "The clocks of the service and of this machine agree");
  const observation = `The service's clock is ${Math.abs(skewS)} s ${skewS > 0 ? "ahead" : "behind"}`;
  return Math.abs(skewS) > 3_000
    ? limited("clock", observation, "Correct this machine's clock: idempotency keys are dated by it")
    : seen("clock", observation);
}

function itemsOf({ json: { items } }: ProbeReply): WireFields[] {
  return Array.isArray(items)
    ? items.filter((item: unknown): item is WireFields => typeof item === "object" && item !== null)
    : [];
}

function cursorOf({ json: { next_cursor: cursor } }: ProbeReply): string | undefined {
  return typeof cursor === "string" && cursor !== "" ? cursor : undefined;
}

function idOf({ id }: WireFields): string | undefined {
  return typeof id === "string" || typeof id === "number" ? String(id) : undefined;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
