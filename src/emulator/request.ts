import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** A request that was read to its end. */
export interface EmulatorRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** As it was sent. */
  readonly body: string;
  /** Whether the body was larger than `maxBodyBytes`, and dropped. */
  readonly tooLarge: boolean;
}

/** Size of the largest body that the service accepts (§8 has no limit). */
export const maxBodyBytes = 1024 * 1024;

/** Reads a request. @returns undefined if the client disconnected before its end */
export function readRequest(incoming: IncomingMessage): Promise<EmulatorRequest | undefined> {
  const [path = "/", query = ""] = (incoming.url ?? "/").split(/\?(.*)/s);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes) chunks.push(chunk);
    });
    incoming.once("end", () => {
      const tooLarge = size > maxBodyBytes;
      resolve({
        method: incoming.method ?? "GET",
        path,
        query: new URLSearchParams(query),
        headers: incoming.headers,
        body: tooLarge ? "" : Buffer.concat(chunks).toString("utf8"),
        tooLarge,
      });
    });
    incoming.once("error", () => resolve(undefined));
    incoming.once("close", () => resolve(undefined));
  });
}
