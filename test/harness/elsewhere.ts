import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Leaks } from "./leaks";

/** A server at an origin that isn't the service's. */
export interface Elsewhere {
  /** Origin, for example `http://127.0.0.1:8787`. Its port differs from the service's. */
  readonly url: string;
  /** Method and path of each request that it received. */
  readonly requests: readonly string[];
}

/** Runs `body` with a server at another origin, which accepts every request and searches it for leaks. */
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
