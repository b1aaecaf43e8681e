import type { EmulatorRequest } from "./request";

/** A request as the service received it. The token is removed from all parts. */
export interface LoggedRequest {
  /** By the service's clock, in milliseconds. */
  readonly at: number;
  /** In capitals: `GET`. */
  readonly method: string;
  /** Without origin and query: `/v1/instances`. */
  readonly path: string;
  /** What follows the question mark, decoded. */
  readonly query: Readonly<Record<string, string>>;
  /** All headers; `authorization` says only whether the token was right. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it was sent. */
  readonly body: string;
  /** Status of the reply. It is 0 until a reply is sent, and if a fault prevented a valid reply. */
  readonly status: number;
  /** The fault that applied to it. */
  readonly fault?: FaultKind;
}

type Entry = { -readonly [K in keyof LoggedRequest]: LoggedRequest[K] };

/** The requests, oldest first. If there are more than `kept`, the older half is dropped. */
export class RequestLog {
  readonly entries: Entry[] = [];

  constructor(private readonly kept: number) {}

  add(request: EmulatorRequest, at: number, token: string): Entry {
    const hide = (text: string) => text.replaceAll(token, "[token]");
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(request.headers)) headers[name] = hide(String(value));
    headers.authorization = authorization(request, token);
    const query: Record<string, string> = {};
    for (const [name, value] of request.query) query[hide(name)] = hide(value);
    const { method, path, body } = request;
    const entry: Entry = { at, method, path: hide(path), query, headers, body: hide(body), status: 0 };
    this.entries.push(entry);
    if (this.entries.length > this.kept) this.entries.splice(0, Math.ceil(this.entries.length / 2));
    return entry;
  }

  clear(): void {
    this.entries.length = 0;
  }
}

/** Whether the request has the token (§5). */
export function authorization(request: EmulatorRequest, token: string): "ok" | "missing" | "wrong" {
  const { authorization: header } = request.headers;
  if (header === undefined) return "missing";
  return /^bearer +(.*)$/i.exec(header)?.[1] === token ? "ok" : "wrong";
}

/** All kinds of faults. */
export const faultKinds = [
  "reset",
  "hang",
  "slow",
  "status",
  "html",
  "lost-reply",
  "gateway",
  "truncate",
  "empty",
  "wrong-content-type",
  "gzip",
  "illegal-header",
  "control-character",
  "bare-lf",
  "bad-chunk",
  "truncated-head",
  "garbage",
] as const;

/**
 * What goes wrong. Before the work: `reset` closes the connection, `hang` never answers, and `status` and `html` answer
 * instead; `slow` delays the work. After the work, instead of its reply: `lost-reply` closes the connection, and `gateway`
 * sends the status of a gateway. All others do the work and send a reply that is damaged: cut off (`truncate`), without its body
 * (`empty`), mislabelled (`wrong-content-type`), compressed (`gzip`), or not HTTP at all.
 */
export type FaultKind = (typeof faultKinds)[number];
