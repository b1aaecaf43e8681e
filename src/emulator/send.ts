import type { ServerResponse } from "node:http";
import type { FaultRule } from "./faults";
import type { Reply } from "./reply";

/** Sends a reply, spoiled as the fault says; gives the status that went out, 0 for none. */
export function send(outgoing: ServerResponse, reply: Reply, fault: FaultRule | undefined): number {
  switch (fault?.kind) {
    case "lost-reply":
      reset(outgoing);
      return 0;
    case "truncate":
      return truncate(outgoing, reply);
    case "empty":
      return write(outgoing, { ...reply, status: fault.status ?? reply.status, body: "" });
    case "wrong-content-type":
      return write(outgoing, {
        ...reply,
        status: fault.status ?? reply.status,
        headers: { ...reply.headers, "content-type": "text/plain" },
      });
    default:
      return write(outgoing, reply);
  }
}

/** Cuts the connection without an answer. */
export function reset(outgoing: ServerResponse): void {
  outgoing.socket?.resetAndDestroy();
}

function write(outgoing: ServerResponse, { status, headers, body }: Reply): number {
  const length = status === 204 ? {} : { "content-length": Buffer.byteLength(body) };
  outgoing.writeHead(status, { ...headers, ...length });
  outgoing.end(body);
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
