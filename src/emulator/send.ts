import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { FaultRule } from "./faults";
import { malformedReply } from "./malformed";
import type { Reply } from "./reply";

/** Sends a reply, damaged as the fault requires. @returns the status that was sent; 0: no valid reply */
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
