import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { openConnections } from "../../src/api/connections";
import { type Authority, makeAuthority } from "../config/network";

/** The behavior of a server at the level of bytes. */
export interface Behavior {
  /** @param socket the accepted connection */
  readonly onConnection?: (socket: Socket) => void;
  /**
   * Called for each request, when its headers and body have arrived.
   *
   * @param plain the connection below TLS, or the connection itself
   */
  readonly onRequest?: (socket: Duplex, request: string, index: number, plain: Socket) => void;
}

/** Starts a server on loopback that sends the bytes of a test. It is closed after the test. */
export async function startRaw(
  { onConnection, onRequest }: Behavior,
  authority?: Authority,
): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((plain) => {
    plain.on("error", () => {}); // a test that breaks a connection sees its error on both ends
    onTestFinished(() => void plain.destroy());
    if (onConnection !== undefined) return onConnection(plain);
    const socket = authority ? secured(plain, authority) : plain;
    socket.on("error", () => {});
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      const [head = "", body] = text.split("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body === undefined || body.length < length) return;
      requests.push(text);
      text = "";
      onRequest?.(socket, requests.at(-1) ?? "", requests.length - 1, plain);
    });
  });
  return { port: await listening(server), requests };
}

/** Wraps a socket in a stream. Otherwise, TLS would take its handle, and no other bytes could be written to it. */
function secured(plain: Socket, { key, cert }: Authority): TLSSocket {
  const between = Duplex.from({ readable: plain, writable: plain });
  between.on("error", () => {});
  return new TLSSocket(between, { isServer: true, key, cert });
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Formats a reply with a JSON body. */
export function wire(status: number, body: unknown, headers: Record<string, string> = {}): string {
  const text = JSON.stringify(body);
  const all = { "content-type": "application/json", "content-length": text.length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} X\r\n${lines.join("")}\r\n${text}`;
}

/** Creates a certificate authority for `localhost` and `api.example.test`, and connections that trust it. */
export async function trusted(env: NodeJS.ProcessEnv = {}) {
  const authority = await makeAuthority("localhost", "api.example.test");
  const dispatcher = openConnections({ env, authorities: [authority.ca] });
  onTestFinished(() => dispatcher.close());
  return { authority, dispatcher };
}
