import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Leaks } from "./leaks";

/** A server that is not the service. */
export interface Elsewhere {
  /** Origin, as `http://127.0.0.1:8787`: another one than the service's, for its port differs. */
  readonly url: string;
  /** What it was asked, method and path. */
  readonly requests: readonly string[];
}

/** Starts a server somewhere else, that takes whatever comes and is gone when `body` has ended; all it is sent is searched. */
export async function withElsewhere<T>(leaks: Leaks, body: (elsewhere: Elsewhere) => Promise<T>): Promise<T> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, rawHeaders } = request;
    requests.push(`${method} ${url}`);
    leaks.said("a request to another origin", [method, url, rawHeaders, await text(request)]);
    const finished = { id: url?.split("/").at(-1), status: "done", items: [], next_cursor: null };
    response.setHeader("content-type", "application/json").end(JSON.stringify(finished));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    return await body({ url: `http://127.0.0.1:${port}`, requests });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
