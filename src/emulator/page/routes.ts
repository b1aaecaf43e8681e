import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import path from "node:path";
import * as v from "valibot";
import { finishOperations } from "../operations";
import { parseFaultOption } from "../options";
import { readRequest } from "../request";
import type { Service } from "../server";
import { viewOf } from "./view";

/** The build doesn't copy the files of the page, but the package contains the `src` folder. */
const FILES = path.join(__dirname, "..", "..", "..", "src", "emulator", "page");

const files: Readonly<Record<string, { readonly name: string; readonly type: string }>> = {
  "/": { name: "page.html", type: "text/html" },
  "/page/style.css": { name: "style.css", type: "text/css" },
  "/page/script.mjs": { name: "script.mjs", type: "text/javascript" },
};

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const UPDATE_MS = 250;

const action = v.union([
  v.strictObject({ fault: v.looseObject({}) }),
  v.strictObject({ endFault: v.number() }),
  v.strictObject({ run: v.picklist(["fail-next-operation", "end-operations", "clear-log"]) }),
]);

/** The page at `/`. A timer runs only while a browser displays the page. */
export class EmulatorPage {
  private readonly streams = new Set<ServerResponse>();
  private timer: NodeJS.Timeout | undefined;
  private sent = "";

  /** @param host the address that the emulator listens on */
  constructor(
    private readonly service: Service,
    private readonly host: string,
  ) {}

  /** Handles a request for the page. Returns `false` for other requests, such as requests for paths under `/v1`. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
    const { method } = incoming;
    const [url = ""] = (incoming.url ?? "").split("?");
    const file = method === "GET" ? files[url] : undefined;
    const isStream = method === "GET" && url === "/page/events";
    if (!file && !isStream && !(method === "POST" && url === "/page/actions")) return false;
    if (file) {
      reply(outgoing, 200, readFileSync(path.join(FILES, file.name), "utf8"), file.type);
    } else if (!this.isFromPage(incoming)) {
      reply(outgoing, 403, "Only the emulator's own page may send this request.");
    } else if (isStream) this.stream(outgoing);
    else void this.act(incoming, outgoing);
    return true;
  }

  /**
   * Rejects requests from other web pages. A domain that resolves to this machine would have the same origin, so unknown domains are
   * rejected.
   */
  private isFromPage({ headers }: IncomingMessage): boolean {
    const { host = "", origin, "sec-fetch-site": site = "none" } = headers;
    const name = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
    const isKnownHost = isIP(name) !== 0 || name === "localhost" || name === this.host;
    const isSameOrigin = origin === undefined || origin === `http://${host}`;
    return isKnownHost && isSameOrigin && (site === "none" || site === "same-origin");
  }

  /** Sends the view, and every change of the view, as server-sent events. */
  private stream(outgoing: ServerResponse): void {
    outgoing.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
    outgoing.write("retry: 1000\n");
    this.streams.add(outgoing);
    outgoing.once("close", () => {
      this.streams.delete(outgoing);
      if (this.streams.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    });
    this.timer ??= setInterval(() => this.update(), UPDATE_MS);
    this.sent = "";
    this.update();
  }

  private update(): void {
    const view = JSON.stringify(viewOf(this.service));
    if (view === this.sent) return;
    this.sent = view;
    for (const stream of this.streams) stream.write(`data: ${view}\n\n`);
  }

  private async act(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = await readRequest(incoming);
    if (request === undefined) return;
    // Without a preflight request, browsers don't send this content type for other web pages.
    if (request.headers["content-type"] !== "application/json")
      return reply(outgoing, 415, "The content type must be application/json.");
    const error = this.run(request.body);
    this.update();
    reply(outgoing, error === undefined ? 204 : 400, error ?? "");
  }

  /** Runs an action of the page. Returns the reason if the action is invalid. */
  private run(body: string): string | undefined {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), action), body);
    if (!parsed.success) return "The body is not an action of the page.";
    const { state, faults, log } = this.service;
    const { output } = parsed;
    if ("fault" in output) {
      const result = parseFaultOption(JSON.stringify(output.fault));
      if ("error" in result) return result.error;
      faults.add(result.fault);
    } else if ("endFault" in output) {
      const ended = faults.pending().find(({ id }) => id === output.endFault);
      if (ended) faults.end(ended);
    } else if (output.run === "fail-next-operation") state.rules.failNext({});
    else if (output.run === "end-operations") finishOperations(state);
    else log.clear();
    return undefined;
  }
}

function reply(outgoing: ServerResponse, status: number, body: string, type = "text/plain"): void {
  outgoing.writeHead(status, { ...HEADERS, "content-type": `${type}; charset=utf-8` });
  outgoing.end(body);
}
