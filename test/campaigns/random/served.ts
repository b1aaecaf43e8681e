import { Dispatcher, errors } from "undici";
import type { EmulatorRequest } from "../../../src/emulator/request";
import type { Clock } from "../../../src/polling/clock";
import type { PlainService } from "./plain-service";
import { type Heard, type Outgoing, spoiled } from "./spoiled";
import { isLie, type Planned, type Spoiling } from "./spoiling";

/** A request, and the reply as the client received it. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  /** 0 if there was no reply. */
  readonly status: number;
  /** Body and links of the reply. */
  readonly text: string;
  readonly spoiling: Spoiling["kind"] | undefined;
  readonly isLie: boolean;
  /** Whether the service carried out the request. */
  readonly worked: boolean;
}

/** The time until each reply on the case's clock. Without it, an endless list would never end. */
const LATENCY_MS = 15;

/** The service for a client in the same process. Adds the planned faults, and records all exchanges. */
export class Served extends Dispatcher {
  readonly exchanges: Exchange[] = [];
  /** Requests to another origin, or with other credentials. */
  readonly strays: string[] = [];

  constructor(
    private readonly service: PlainService,
    private readonly clock: Clock,
    private readonly heard: Omit<Heard, "requests">,
    private readonly plan: readonly Planned[],
    private readonly origin: string,
  ) {
    super();
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const delivery = new Delivery(handler);
    const request = requestOf(options);
    const wrong = invalidHeader(request);
    if (wrong !== undefined) {
      queueMicrotask(() => delivery.fail(new errors.InvalidArgumentError(`invalid ${wrong} header`)));
      return true;
    }
    const credential = request.headers.authorization;
    if (String(options.origin) !== this.origin || credential !== `Bearer ${this.heard.token}`)
      this.strays.push(`${request.method} ${String(options.origin)}${request.path} with ${credential}`);
    const number = this.exchanges.length;
    const spoiling = this.plan.find(({ at, times }) => number >= at && number < at + times)?.spoiling;
    const out = this.answer(request, spoiling);
    const isEstablished = spoiling?.kind !== "connection" || spoiling.established;
    if (isEstablished && !delivery.begin()) return true;
    const latency = LATENCY_MS + (spoiling?.kind === "slow" ? spoiling.ms : 0);
    if (out.kind !== "silence") this.clock.alarm(latency, () => delivery.deliver(out));
    return true;
  }

  private answer(request: EmulatorRequest, spoiling: Spoiling | undefined): Outgoing {
    const worked = spoiling === undefined || !("worked" in spoiling) || spoiling.worked;
    const plain = worked ? this.service.answer(request) : { status: 500, headers: {}, body: "" };
    const out = spoiled(plain, spoiling, { ...this.heard, requests: this.exchanges.length });
    const { method, path, headers } = request;
    const key = headers["idempotency-key"];
    const body = spoiling?.kind === "gzip" ? plain.body : out.kind === "reply" ? String(out.body) : "";
    this.exchanges.push({
      method,
      path,
      key: typeof key === "string" ? key : undefined,
      status: out.kind === "reply" && out.cut === undefined ? out.status : 0,
      text:
        out.kind === "reply"
          ? `${body.slice(0, LONGEST_KEPT)} ${body.slice(LONGEST_KEPT).slice(-LONGEST_KEPT)} ${String(out.headers.location)}`
          : "",
      spoiling: spoiling?.kind,
      isLie: spoiling !== undefined && isLie(spoiling),
      worked: worked && plain.status < 400,
    });
    return out;
  }
}

const LONGEST_KEPT = 100_000;

function requestOf({ method, path: target, headers, body }: Dispatcher.DispatchOptions): EmulatorRequest {
  const [path = "/", query = ""] = target.split(/\?(.*)/s);
  const given = Object.entries(Object(headers)).map(([name, value]) => [name, String(value)]);
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: Object.fromEntries(given),
    body: typeof body === "string" ? body : "",
    tooLarge: false,
  };
}

/** Returns the header that undici would refuse to send. */
function invalidHeader({ headers }: EmulatorRequest): string | undefined {
  return Object.entries(headers).find(([, value]) => /[^\t\x20-\x7e\x80-\xff]/.test(String(value)))?.[0];
}

/** A reply on its way to undici's handler, which may be aborted at any time. */
class Delivery implements Dispatcher.DispatchController {
  aborted = false;
  paused = false;
  reason: Error | null = null;
  private isOver = false;

  constructor(private readonly handler: Dispatcher.DispatchHandler) {}

  /** @returns whether the client still waits for a reply */
  begin(): boolean {
    this.handler.onRequestStart?.(this, undefined);
    return !this.isOver;
  }

  deliver(out: Outgoing): void {
    if (this.isOver || out.kind === "silence") return;
    if (out.kind === "error") {
      this.fail(failure(out.code));
      return;
    }
    if (out.kind === "malformed") {
      const error = new errors.HTTPParserError("Response does not match the HTTP/1.1 protocol");
      this.fail(Object.assign(error, { code: out.code && `HPE_${out.code}`, data: out.rest }));
      return;
    }
    this.handler.onResponseStart?.(this, out.status, { ...out.headers }, "");
    if (out.body !== "") this.handler.onResponseData?.(this, Buffer.from(out.body));
    if (this.isOver) return;
    if (out.cut !== undefined) {
      this.fail(failure(out.cut));
      return;
    }
    this.isOver = true;
    this.handler.onResponseEnd?.(this, {});
  }

  fail(error: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.handler.onResponseError?.(this, error);
  }

  abort(reason: Error): void {
    this.aborted = true;
    this.reason = reason;
    this.fail(reason);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }
}

/** Returns a parser error like undici's, which has no code and holds the rest of the reply. */
function failure(code: string): Error {
  if (code.startsWith("HPE_"))
    return Object.assign(new errors.HTTPParserError(code), { data: "rest of the reply" });
  return Object.assign(new Error(`simulated failure: ${code}`), { code });
}
