import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** A request that passed through. */
export interface Relayed {
  readonly method: string;
  readonly path: string;
}

/**
 * Runs `body` with a proxy in front of another server.
 *
 * @param spoil returns bytes to send instead of a reply, or undefined. The other server has processed the request by then
 */
export async function withRelay<T>(
  target: string,
  spoil: (request: Relayed) => string | undefined,
  body: (url: string) => Promise<T>,
): Promise<T> {
  const server = createServer(async (request, response) => {
    const { method = "", url: path = "", headers } = request;
    const { host: _host, connection: _connection, "content-length": _length, ...passed } = headers;
    const sent = await buffer(request);
    const reply = await fetch(new URL(path, target), {
      method,
      headers: Object.entries(passed).map(([name, value]): [string, string] => [name, String(value)]),
      body: sent.length === 0 ? null : sent,
    });
    const bytes = Buffer.from(await reply.arrayBuffer());
    const instead = spoil({ method, path });
    if (instead !== undefined) return void response.socket?.end(instead);
    response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
