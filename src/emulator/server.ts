import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, isIPv4 } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Answering, answer, internalError } from "./endpoints";
import { type FaultKind, type FaultRule, type Faults, gatewayReply, replyInstead } from "./faults";
import type { Reply, Subject } from "./reply";
import { type EmulatorRequest, type ReceivedRequest, readRequest, withoutToken } from "./request";
import { reset, send } from "./send";

/** A request and the status of its reply. */
export interface LoggedRequest extends ReceivedRequest {
  /** The status of the reply. The status is 0 if no reply was sent, or if a fault prevents a valid reply. */
  readonly status: number;
  /** The fault that affected the request. @default none */
  readonly fault?: FaultKind;
  /** The object that the request created, or the object whose operation it started. @default none */
  readonly subject?: Subject;
}

type Entry = { -readonly [K in keyof LoggedRequest]: LoggedRequest[K] };

/** The log of requests, oldest first. If the log exceeds `kept` requests, the older half is dropped. */
export class RequestLog {
  readonly entries: Entry[] = [];
  /** The number of requests that were dropped or cleared. */
  dropped = 0;

  constructor(private readonly kept: number) {}

  add(request: ReceivedRequest): Entry {
    const entry: Entry = { ...request, status: 0 };
    this.entries.push(entry);
    if (this.entries.length > this.kept) this.drop(Math.ceil(this.entries.length / 2));
    return entry;
  }

  clear(): void {
    this.drop(this.entries.length);
  }

  private drop(count: number): void {
    this.entries.splice(0, count);
    this.dropped += count;
  }
}

/** The parts of the emulator that all requests share. */
export interface Service extends Answering {
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly stopped: AbortSignal;
  readonly onRequest: ((request: LoggedRequest) => void) | undefined;
  token: string;
}

/** Handles a request: reads and logs it, applies a fault, and replies. */
export async function handleRequest(
  service: Service,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { state, log, faults, token } = service;
  const request = await readRequest(incoming);
  if (request === undefined) return;
  const entry = log.add(withoutToken(request, state.now(), token));
  const fault = faults.take(entry);
  if (fault) entry.fault = fault.kind;
  if (fault?.kind === "slow" && !(await waited(fault.delayMs ?? 1000, service.stopped))) return;
  if (fault?.kind === "reset") reset(outgoing);
  else if (fault?.kind !== "hang") respond(service, request, outgoing, fault, entry);
  service.onRequest?.(entry);
}

/** Waits for a time in milliseconds. Resolves to `false` if the emulator is stopped first. */
function waited(ms: number, stopped: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal: stopped }).catch(() => false);
}

function respond(
  service: Service,
  request: EmulatorRequest,
  outgoing: ServerResponse,
  fault: FaultRule | undefined,
  entry: Entry,
): void {
  try {
    entry.status = send(outgoing, replyTo(service, request, fault, entry), fault);
  } catch (error) {
    // For example, Node.js rejects a fault rule's `location` that contains a line break.
    entry.status = send(outgoing, internalError(service.state, request, error));
  }
}

function replyTo(
  service: Service,
  request: EmulatorRequest,
  fault: FaultRule | undefined,
  entry: Entry,
): Reply {
  const { state } = service;
  const instead = fault && replyInstead(fault, state, request.path);
  const reply = answer(service, request, instead && { reply: instead, cached: fault?.cached ?? false });
  if (reply.subject) entry.subject = reply.subject;
  return fault?.kind === "gateway" ? gatewayReply(fault, state, request.path) : reply;
}

/** Reports whether only this machine can reach an address. */
export function isLoopbackAddress(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** The port of the emulator, which can be closed and reopened. */
export class Listener {
  private readonly server: Server;
  private address: AddressInfo | undefined;

  constructor(
    onRequest: RequestListener,
    private readonly host: string,
    private readonly wantedPort: number,
  ) {
    // Only clients close idle connections. If the server closed an idle connection, the client's next request could be lost.
    this.server = createServer({ keepAliveTimeout: 600_000 }, onRequest);
  }

  /** The origin of the service for clients on this machine. */
  get url(): string {
    const host = this.host === "0.0.0.0" ? "127.0.0.1" : this.host === "::" ? "::1" : this.host;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.address?.port ?? this.wantedPort}`;
  }

  /** Opens the port. Repeated calls open the same port. Rejects with the system's error, for example EADDRINUSE. */
  open(): Promise<void> {
    if (this.server.listening) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(this.address?.port ?? this.wantedPort, this.host, () => {
        this.server.off("error", reject);
        const address = this.server.address();
        if (address !== null && typeof address !== "string") this.address = address;
        resolve();
      });
    });
  }

  /** Closes the port and all connections. */
  close(): Promise<void> {
    if (!this.server.listening) return Promise.resolve();
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }
}
