import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** A request, read to its end. */
export interface EmulatorRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** As it was sent. */
  readonly body: string;
  /** The body was larger than `maxBodyBytes` and was thrown away. */
  readonly tooLarge: boolean;
}

/** Largest body the service takes (§8 names none). */
export const maxBodyBytes = 1024 * 1024;

/** Reads a request; `undefined` if the client left before its end. */
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
