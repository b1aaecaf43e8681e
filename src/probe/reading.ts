import type { ApiObject, CallOptions, Page } from "../api/client";
import { isPathSegment, pathOf } from "../api/endpoint";
import type { Observer } from "../api/request";
import type { WireReply, WireRequest } from "../api/transport";
import { type CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { hintFor } from "../diagnostics/hints";
import { oneLine } from "../diagnostics/redact";
import { referencedId } from "../model/changes";
import { isMap, type WireFields } from "../model/resource-fields";
import { deadlineIn } from "../polling/clock";
import type { Session } from "../provider/context";
import { isDeleted } from "../provider/lookup/object-getter";
import { fails, type Points, parts, point, works } from "./report";

/** A request of the client, and its reply. */
export interface Exchange {
  readonly request: WireRequest;
  readonly reply: WireReply;
  /** The JSON object in the reply, or an empty object if the reply contains no JSON object. */
  readonly json: WireFields;
  /** The time from the start of the request to the end of the reply, in milliseconds. */
  readonly tookMs: number;
  /** The time of the reply on this machine's clock, in milliseconds since 1970. */
  readonly at: number;
}

export class Exchanges {
  readonly all: Exchange[] = [];

  readonly observe: Observer = (request, attempt, tookMs) => {
    if (attempt.kind !== "reply") return;
    const { body } = attempt.reply;
    const json = body.kind === "json" && isMap(body.value) ? body.value : {};
    this.all.push({ request, reply: attempt.reply, json, tookMs, at: Date.now() });
  };

  /**
   * Waits for a request that the service may reject, and returns its last exchange.
   *
   * @throws CloudInfraError if there is no reply, or if the probe was interrupted
   */
  async attempt<T>(request: Promise<T>) {
    const outcome: { result?: T; error?: CloudInfraError } = await request.then(
      (result) => ({ result }),
      (error: unknown) => {
        if (!isCloudInfraError(error) || error.status === undefined || error.code === "aborted") throw error;
        return { error };
      },
    );
    const exchange = this.all.at(-1);
    if (exchange === undefined) throw new Error("no request was sent");
    return { ...outcome, exchange };
  }
}

export type List = Awaited<ReturnType<Reader["list"]>>;

export type Samples = Awaited<ReturnType<Reader["samples"]>>;

interface Access {
  readonly base: string;
  readonly tokenOrigin: string;
  readonly error?: CloudInfraError | undefined;
  /** The address of the API on the same host, if the configured endpoint is wrong. */
  readonly elsewhere?: string | undefined;
}

/** The points of the report that depend on the first request. */
export const accessPoints = {
  address: point("Address", ({ base, error, elsewhere }) => {
    if (error === undefined || isDenied(error))
      return works(`${base} offers this API${base.startsWith("https:") ? ", over TLS" : ""}`);
    const observation = parts(error.summary);
    if (elsewhere?.endsWith("/v1"))
      return fails(observation, `The API is at ${elsewhere}`, {}, { endpoint: elsewhere });
    if (elsewhere !== undefined) {
      const consequence = `The API is at ${elsewhere}, but this package requires an address that ends in /v1`;
      return fails(observation, consequence);
    }
    if (error.code !== "timeout") return fails(observation, hintFor(error) ?? "Correct the endpoint");
    return error.status === undefined
      ? fails(observation, "Check that the service is running and that no firewall blocks it")
      : fails(observation, "Run the command again when the service has recovered");
  }),
  token: point("Token", ({ tokenOrigin, error }) => {
    if (error === undefined) return works(`The service accepts the token from ${tokenOrigin}`);
    if (!isDenied(error)) return undefined;
    const { status, problem } = error;
    const what =
      error.code === "forbidden"
        ? "lacks the permission to list projects"
        : "is rejected when listing projects";
    const reason = problem?.detail ?? problem?.code ?? "no reason given";
    const observation = `The token from ${tokenOrigin} ${what} (${status}): ${reason}`;
    return fails(observation, hintFor(error) ?? "Set a valid token");
  }),
} satisfies Points<Access>;

const isDenied = ({ code }: CloudInfraError): boolean => code === "unauthorized" || code === "forbidden";

const WRONG_TOKEN = "pulumi-cloudinfra-probe-wrong-token";
/** An id that no object has. Some services accept only UUIDs as ids. */
const NO_ID = "00000000-0000-4000-8000-000000000000";
const TIMEOUT_MS = 30_000;

/** Sends the GET requests of `examine`, and collects their replies. */
export class Reader {
  constructor(
    private readonly session: Session,
    private readonly exchanges: Exchanges,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** @returns no samples if the address or the token is wrong */
  async read(): Promise<{ access: Access; samples?: Samples }> {
    const { endpoint: base, tokenOrigin } = this.session.client;
    const access = { base, tokenOrigin };
    let projects: List;
    try {
      projects = await this.list("projects");
    } catch (error) {
      if (!isCloudInfraError(error) || !["unreachable", "timeout"].includes(error.code)) throw error;
      return { access: { ...access, error } };
    }
    const { error, page } = projects;
    if (error === undefined || (error.code === "bad_reply" && "items" in page.json))
      return { access, samples: await this.samples(projects) };
    const isElsewhere = error.code === "not_this_service" || error.code === "not_found";
    return { access: { ...access, error, elsewhere: isElsewhere ? await this.findApi(base) : undefined } };
  }

  async samples(projects: List) {
    const { endpoint: base } = this.session.client;
    const instances = await this.list("instances");
    const readable = instances.items.filter(hasUsableId);
    const instanceItem = readable.find((fields) => !isDeletedItem(fields)) ?? readable[0];
    /** The list item of an instance, or of a project if there is no instance. */
    const item = instanceItem ?? projects.items.find(hasUsableId);
    const single = item && (await this.get(pathOf(instanceItem ? "instances" : "projects", String(item.id))));
    return {
      ...{ base, projects, instances, item, single, exchanges: this.exchanges.all },
      /** The instance from its own URL, or else from the list. */
      instance: instanceItem && (single?.reply.status === 200 ? single.json : instanceItem),
      wrongToken: await this.get("/projects", { token: WRONG_TOKEN }),
      unknownOperation: await this.get(`/operations/${NO_ID}`),
      unknownInstance: await this.get(`/instances/${NO_ID}`),
      emptyPage: await this.get("/instances", { query: { project: NO_ID } }),
      filters: await this.filters(instanceItem),
    };
  }

  private get call(): CallOptions {
    return { deadline: deadlineIn(TIMEOUT_MS, this.session.clock), signal: this.signal };
  }

  private async get(
    path: string,
    options: { query?: Readonly<Record<string, string>>; token?: string } = {},
  ): Promise<Exchange> {
    const request = this.session.client.get({ path, ...options }, this.call);
    return (await this.exchanges.attempt(request)).exchange;
  }

  /** Reads the first page like the provider, and then two pages of one object each. */
  async list(name: "projects" | "instances") {
    const { projects, instances } = this.session.client;
    const pages = name === "projects" ? projects.pages(this.call) : instances.pages({}, this.call);
    const first = find(pages, () => true);
    const { error, exchange: page } = await this.exchanges.attempt(first);
    const isLimited = ({ request: { url } }: Exchange): boolean =>
      url.searchParams.get("limit") === "200" && url.pathname.endsWith(`/${name}`);
    /** Differs from the page if the service rejects `limit=200`. */
    const limited = this.exchanges.all.findLast(isLimited) ?? page;
    const items = itemsOf(page);
    const hasMore = items.length > 1 || cursorOf(page) !== undefined;
    const cursors = error === undefined && hasMore ? await this.followCursors(`/${name}`) : "not observed";
    return { limited, page, items, error, cursors };
  }

  private async followCursors(path: string): Promise<"work" | "not observed" | { readonly fault: string }> {
    const first = await this.get(path, { query: { limit: "1" } });
    if (itemsOf(first).length > 1) return "not observed"; // the service ignores small limits
    const cursor = cursorOf(first);
    if (cursor === undefined) return { fault: "limit=1 returns no cursor, although there are more objects" };
    const second = await this.get(path, { query: { limit: "1", cursor } });
    if (second.reply.status !== 200) return { fault: `a cursor is rejected (${second.reply.status})` };
    const [one, other] = [first, second].map((page) => itemsOf(page)[0]?.id);
    return one === other ? { fault: "a cursor returns the same page again" } : "work";
  }

  /** Checks filters by values of an instance, and by values that no instance has. */
  private async filters(instance: WireFields | undefined) {
    const { project, status, labels } = instance ?? {};
    const [label] = isMap(labels) ? Object.entries(labels) : [];
    const id = referencedId(project);
    const filters = [
      typeof id === "string" && (["project", id, { project: id }] as const),
      typeof status === "string" && (["status", status, { status }] as const),
      typeof label?.[1] === "string" &&
        ([`label.${label[0]}`, label[1], { labels: { [label[0]]: label[1] } }] as const),
    ].filter((filter) => filter !== false);
    const faults: string[] = [];
    for (const [name, value, filter] of filters) {
      const isInstance = ({ objects }: Page): boolean =>
        objects.some((one: ApiObject) => one.id === String(instance?.id));
      const pages = this.session.client.instances.pages(filter, this.call);
      const { result, error } = await this.exchanges.attempt(find(pages, isInstance));
      const none = await this.get("/instances", { query: { [name]: `no-${value}` } });
      if (error !== undefined) faults.push(`${name} is rejected (${error.status})`);
      else if (result === undefined) faults.push(`${name} omits a matching instance`);
      else if (itemsOf(none).length > 0) faults.push(`${name} is ignored`);
    }
    return { checked: filters.map(([name]) => name), faults };
  }

  /** Searches for the API at other paths of the same host, without sending the token. */
  private async findApi(base: string): Promise<string | undefined> {
    const { origin } = new URL(base);
    for (const place of [`${origin}/v1`, `${origin}/api/v1`, base.replace(/\/v1$/, ""), origin]) {
      if (place === base) continue;
      const { reply, json } = await this.get(`${place}/projects`, { token: "" });
      const { status, problem } = reply;
      if (status === 401 || (status === 403 && problem) || (status === 200 && "items" in json)) return place;
    }
    return undefined;
  }
}

async function find(pages: AsyncIterable<Page>, matches: (page: Page) => boolean): Promise<Page | undefined> {
  for await (const page of pages) if (matches(page)) return page;
  return undefined;
}

function itemsOf({ json: { items } }: Exchange): WireFields[] {
  return Array.isArray(items) ? items.filter(isMap) : [];
}

export function cursorOf({ json: { next_cursor: cursor } }: Exchange): string | undefined {
  const isCursor = (typeof cursor === "string" && cursor !== "") || typeof cursor === "number";
  return isCursor ? String(cursor) : undefined;
}

/** Reports whether the id of an object can be part of a URL. */
export const hasUsableId = ({ id }: WireFields): boolean => isPathSegment(String(id));

export const isDeletedItem = (fields: WireFields): boolean => isDeleted({ id: String(fields.id), fields });

/** Describes a rejection by its status, and by its code or detail. */
export function causeOf({ reply: { status, problem } }: Exchange, part?: "code" | "detail"): string {
  const text = part === undefined ? (problem?.detail ?? problem?.code) : problem?.[part];
  const short = text && oneLine(text).replace(/ +/g, " ").slice(0, 200);
  return short === undefined ? String(status) : `${status}: ${short}`;
}

/** Returns the status of a reply if it is one of the `known` statuses. */
export function statusCode<const T extends number>({ reply }: Exchange, known: readonly T[]): T | undefined {
  return known.find((status) => status === reply.status);
}
