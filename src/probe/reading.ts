import type { ApiObject, CallOptions, Page } from "../api/client";
import { pathOf } from "../api/endpoint";
import type { Observer } from "../api/request";
import type { WireRequest } from "../api/transport";
import { type CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { referencedId } from "../model/changes";
import { isMap, type WireFields } from "../model/resource-fields";
import { deadlineIn } from "../polling/clock";
import type { Session } from "../provider/session";
import { accessPoints } from "./access-points";
import {
  cursorOf,
  type Exchange,
  hasUsableId,
  isDeletedItem,
  type List,
  readingPoints,
  type Samples,
} from "./reading-points";
import { type Finding, judge } from "./report";

/** Records the requests and replies of a client. */
export class Exchanges {
  readonly all: Exchange[] = [];

  readonly observe: Observer = (request, attempt, tookMs) => {
    if (attempt.kind !== "reply") return;
    const { body } = attempt.reply;
    const json = body.kind === "json" && isMap(body.value) ? body.value : {};
    this.all.push({ request, reply: attempt.reply, json, tookMs, at: Date.now() });
  };

  /**
   * Waits for a request that the service may reject.
   *
   * @param method the method of the request, which must be the latest request with this method
   * @throws CloudInfraError if there is no reply, or if the probe was interrupted
   */
  async attempt<T>(
    method: WireRequest["method"],
    request: Promise<T>,
  ): Promise<{ result?: T; error?: CloudInfraError; exchange: Exchange }> {
    const outcome = await request.then(
      (result) => ({ result }),
      (error: unknown) => {
        if (!isCloudInfraError(error) || error.status === undefined || error.code === "aborted") throw error;
        return { error };
      },
    );
    const exchange = this.all.findLast(({ request }) => request.method === method);
    if (exchange === undefined) throw new Error(`no ${method} was sent`);
    return { ...outcome, exchange };
  }
}

const WRONG_TOKEN = "pulumi-cloudinfra-probe-wrong-token";
/** An id that no object has. Some services accept only UUIDs as ids. */
const NO_ID = "00000000-0000-4000-8000-000000000000";
const TIMEOUT_MS = 30_000;

/** The result of the read-only requests. */
export interface Examined {
  readonly findings: Finding[];
  /** An existing instance of the account. */
  readonly instance?: WireFields | undefined;
}

/**
 * Examines a service with about 15 GET requests. Each request may take up to 30 s.
 *
 * @param exchanges the requests and replies of the session's client
 * @returns a finding for each point, or only the findings about a wrong address or token
 * @throws CloudInfraError if a later request has no reply
 */
export function examine(session: Session, exchanges: Exchanges, signal?: AbortSignal): Promise<Examined> {
  return new Reader(session, exchanges, signal).examine();
}

class Reader {
  constructor(
    private readonly session: Session,
    private readonly exchanges: Exchanges,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async examine(): Promise<Examined> {
    const { endpoint: base, tokenOrigin } = this.session.client;
    const { exchanges } = this;
    const access = { base, tokenOrigin };
    let projects: List;
    try {
      projects = await this.list("projects");
    } catch (error) {
      if (!isCloudInfraError(error) || !["unreachable", "timeout"].includes(error.code)) throw error;
      return { findings: judge(accessPoints, { ...access, error }) };
    }
    const { error, page } = projects;
    if (error !== undefined && !(error.code === "bad_reply" && "items" in page.json)) {
      const isElsewhere = error.code === "not_this_service" || error.code === "not_found";
      const elsewhere = isElsewhere ? await this.findApi(base) : undefined;
      return { findings: judge(accessPoints, { ...access, error, elsewhere }) };
    }
    const instances = await this.list("instances");
    const readable = instances.items.filter(hasUsableId);
    const instanceItem = readable.find((fields) => !isDeletedItem(fields)) ?? readable[0];
    const item = instanceItem ?? projects.items.find(hasUsableId);
    const path = item && pathOf(instanceItem ? "instances" : "projects", String(item.id));
    const single = path === undefined ? undefined : await this.get(path);
    const samples: Samples = {
      ...{ base, projects, instances, item, single, exchanges: exchanges.all },
      instance: instanceItem && (single?.reply.status === 200 ? single.json : instanceItem),
      wrongToken: await this.get("/projects", { token: WRONG_TOKEN }),
      unknownOperation: await this.get(`/operations/${NO_ID}`),
      unknownInstance: await this.get(`/instances/${NO_ID}`),
      emptyPage: await this.get("/instances", { query: { project: NO_ID } }),
      filters: await this.filters(instanceItem),
    };
    const findings = [...judge(accessPoints, access), ...judge(readingPoints, samples)];
    return { findings, instance: samples.instance };
  }

  private get call(): CallOptions {
    return { deadline: deadlineIn(TIMEOUT_MS, this.session.clock), signal: this.signal };
  }

  private async get(
    path: string,
    options: { query?: Readonly<Record<string, string>>; token?: string } = {},
  ): Promise<Exchange> {
    const request = this.session.client.get({ path, ...options }, this.call);
    return (await this.exchanges.attempt("GET", request)).exchange;
  }

  /** Reads the first page like the provider, and then two pages of one object each. */
  private async list(name: "projects" | "instances"): Promise<List> {
    const { client } = this.session;
    const pages =
      name === "projects" ? client.projects.pages(this.call) : client.instances.pages({}, this.call);
    const { error, exchange: page } = await this.exchanges.attempt(
      "GET",
      find(pages, () => true),
    );
    const isLimited = ({ request: { url } }: Exchange): boolean =>
      url.searchParams.get("limit") === "200" && url.pathname.endsWith(`/${name}`);
    const limited = this.exchanges.all.findLast(isLimited) ?? page;
    const items = itemsOf(page);
    const hasMore = items.length > 1 || cursorOf(page) !== undefined;
    const cursors = error === undefined && hasMore ? await this.followCursors(`/${name}`) : "not observed";
    return { limited, page, items, error, cursors };
  }

  private async followCursors(path: string): Promise<List["cursors"]> {
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
  private async filters(instance: WireFields | undefined): Promise<Samples["filters"]> {
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
      const { result, error } = await this.exchanges.attempt("GET", find(pages, isInstance));
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

/** Returns the first page that matches, without reading further pages. */
async function find(pages: AsyncIterable<Page>, matches: (page: Page) => boolean): Promise<Page | undefined> {
  for await (const page of pages) if (matches(page)) return page;
  return undefined;
}

function itemsOf({ json: { items } }: Exchange): WireFields[] {
  return Array.isArray(items) ? items.filter(isMap) : [];
}
