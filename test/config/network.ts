import { createServer as createHttp, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { generate } from "selfsigned";
import { onTestFinished } from "vitest";

/** A private authority, and what a server has from it; made anew for each run. */
export interface Authority {
  /** The authority's own certificate (PEM). */
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

/** @param hosts names that the server's certificate is good for */
export async function makeAuthority(...hosts: readonly string[]): Promise<Authority> {
  const ca = await generate([{ name: "commonName", value: "Test Authority" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const own = await generate([{ name: "commonName", value: hosts[0] ?? "" }], {
    keyType: "ec",
    algorithm: "sha256",
    ca: { key: ca.private, cert: ca.cert },
    extensions: [{ name: "subjectAltName", altNames: hosts.map((value) => ({ type: 2, value })) }],
  });
  return { ca: ca.cert, key: own.private, cert: own.cert };
}

/** A server on loopback that answers each path with one JSON text; closed when the test ends. */
export async function startServer(
  answers: Readonly<Record<string, unknown>>,
  authority?: Authority,
): Promise<{ port: number; seen: string[] }> {
  const seen: string[] = [];
  const answer = (request: IncomingMessage): string => {
    const { pathname } = new URL(request.url ?? "/", "http://server");
    seen.push(`${request.method} ${pathname}`);
    return JSON.stringify(answers[pathname] ?? null);
  };
  const server = authority
    ? createHttps(authority, (request, response) => jsonEnd(response, answer(request)))
    : createHttp((request, response) => jsonEnd(response, answer(request)));
  return { port: await listen(server), seen };
}

function jsonEnd(
  response: { setHeader(name: string, value: string): void; end(text: string): void },
  text: string,
) {
  response.setHeader("content-type", "application/json");
  response.end(text);
}

/** A proxy that joins whatever it is asked for with one port of this machine, and what it was asked for. */
export async function startProxy(
  port: number,
  refuse: (request: IncomingMessage) => number | undefined = () => undefined,
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createHttp((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(403).end(); // in clear: nothing that holds a token
  });
  server.on("connect", (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    const refused = refuse(request);
    if (refused !== undefined) return void socket.end(`HTTP/1.1 ${refused} No\r\n\r\n`);
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
    onTestFinished(() => void onward.destroy());
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, asked };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
