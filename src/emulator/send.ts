import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { FaultKind, FaultRule } from "./faults";
import type { Reply } from "./reply";

/** Sends a reply, which a fault may damage. Returns the status that was sent, or 0 if the reply is not valid HTTP. */
export function send(outgoing: ServerResponse, reply: Reply, fault?: FaultRule): number {
  const malformed = malformedReply(fault?.kind, reply);
  if (malformed !== undefined) {
    outgoing.socket?.end(malformed);
    return 0;
  }
  switch (fault?.kind) {
    case "lost-reply":
      reset(outgoing);
      return 0;
    case "truncate":
      return truncate(outgoing, reply);
    case "empty":
      return write(outgoing, { ...reply, status: fault.status ?? reply.status }, "");
    case "wrong-content-type": {
      const headers = { ...reply.headers, "content-type": "text/plain" };
      return write(outgoing, { ...reply, status: fault.status ?? reply.status, headers });
    }
    case "gzip": {
      const headers = { ...reply.headers, "content-encoding": "gzip" };
      return reply.body === ""
        ? write(outgoing, reply)
        : write(outgoing, { ...reply, headers }, gzipSync(reply.body));
    }
    default:
      return write(outgoing, reply);
  }
}

/** Closes the connection without a reply. */
export function reset(outgoing: ServerResponse): void {
  outgoing.socket?.resetAndDestroy();
}

function write(
  outgoing: ServerResponse,
  { status, headers, body }: Reply,
  sent: string | Buffer = body,
): number {
  const length = status === 204 ? {} : { "content-length": Buffer.byteLength(sent) };
  outgoing.writeHead(status, { ...headers, ...length });
  outgoing.end(sent);
  return status;
}

function truncate(outgoing: ServerResponse, { status, headers, body }: Reply): number {
  const bytes = Buffer.from(body);
  if (bytes.length < 2) {
    reset(outgoing);
    return 0;
  }
  outgoing.writeHead(status, { ...headers, "content-length": bytes.length });
  outgoing.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => outgoing.socket?.destroy());
  return status;
}

/** The replies that violate HTTP (RFC 9112), by kind of fault. */
const forms: Readonly<Partial<Record<FaultKind, (head: string, reply: Reply) => string>>> = {
  "illegal-header": (head, { body }) => `${head}not a header name: x\r\n${lengthOf(body)}\r\n\r\n${body}`,
  "control-character": (head, { body }) => `${head}x-trace: a\u0001b\r\n${lengthOf(body)}\r\n\r\n${body}`,
  "bare-lf": (head, { body }) => `${`${head}${lengthOf(body)}\r\n\r\n`.replaceAll("\r\n", "\n")}${body}`,
  "bad-chunk": (head, { body }) => `${head}transfer-encoding: chunked\r\n\r\nxyz\r\n${body}\r\n0\r\n\r\n`,
  "truncated-head": (head) => head.slice(0, Math.ceil(head.length / 2)),
  garbage: (_head, { body }) => `\u0000\u0001 what is this?\r\n${body}`,
};

/** Returns the text of a malformed reply, or `undefined` if the fault doesn't violate HTTP. */
function malformedReply(kind: FaultKind | undefined, reply: Reply): string | undefined {
  const form = kind && forms[kind];
  if (form === undefined) return undefined;
  const headers = Object.entries(reply.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return form(`HTTP/1.1 ${reply.status} OK\r\n${headers.join("")}`, reply);
}

function lengthOf(body: string): string {
  return `content-length: ${Buffer.byteLength(body)}`;
}
