import type { Reply } from "./reply";
import type { FaultKind } from "./request-log";

/** Replies that violate HTTP (RFC 9112), as bytes. Names are those of the fault kinds. */
const forms: Readonly<Partial<Record<FaultKind, (head: string, reply: Reply) => string>>> = {
  "illegal-header": (head, { body }) => `${head}not a header name: x\r\n${lengthOf(body)}\r\n\r\n${body}`,
  "control-character": (head, { body }) => `${head}x-trace: a\u0001b\r\n${lengthOf(body)}\r\n\r\n${body}`,
  "bare-lf": (head, { body }) => `${`${head}${lengthOf(body)}\r\n\r\n`.replaceAll("\r\n", "\n")}${body}`,
  "bad-chunk": (head, { body }) => `${head}transfer-encoding: chunked\r\n\r\nxyz\r\n${body}\r\n0\r\n\r\n`,
  "truncated-head": (head) => head.slice(0, Math.ceil(head.length / 2)),
  garbage: (_head, { body }) => `\u0000\u0001 what is this?\r\n${body}`,
};

/** The bytes of a reply that isn't HTTP; undefined for other faults. */
export function malformedReply(kind: FaultKind | undefined, reply: Reply): string | undefined {
  const form = kind && forms[kind];
  if (form === undefined) return undefined;
  const headers = Object.entries(reply.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return form(`HTTP/1.1 ${reply.status} OK\r\n${headers.join("")}`, reply);
}

function lengthOf(body: string): string {
  return `content-length: ${Buffer.byteLength(body)}`;
}
