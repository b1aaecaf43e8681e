import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { type Client, type ClientOptions, createClient } from "../../src/api/client";
import { openConnections } from "../../src/api/connections";
import { deadlineIn } from "../../src/polling/clock";
import { FakeClock } from "../polling/fake-clock";

export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A reply. `lost` closes the connection after the request, `cut` in the middle of the body. `silent` sends no reply. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  /** Strings and buffers are sent unchanged, other values as JSON. */
  body?: unknown;
  fault?: "lost" | "cut" | "silent";
}

export interface Service {
  origin: string;
  port: number;
  seen: Seen[];
  /** Returns the number of connections so far. */
  connections(): number;
}

/** Starts a service on loopback that sends the given replies. It is closed after the test. */
export async function startService(answer: (request: Seen, index: number) => Answer): Promise<Service> {
  const seen: Seen[] = [];
  const server = createServer(async (message, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk);
    const url = new URL(message.url ?? "/", "http://service");
    const request = {
      method: message.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: message.headers,
      body: Buffer.concat(chunks).toString(),
    };
    seen.push(request);
    give(answer(request, seen.length - 1), response);
  });
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const { port } = address;
  return { origin: `http://127.0.0.1:${port}`, port, seen, connections: () => connections };
}

/** Sends the replies in turn, and then the last one repeatedly. */
export function inTurn(...answers: Answer[]): (request: Seen, index: number) => Answer {
  return (_request, index) => answers[Math.min(index, answers.length - 1)] ?? {};
}

export const TOKEN = "cis_pat_0123456789";

/** Creates a client with an automatic fake clock, maximum jitter, and a deadline of ten minutes. */
export function clientOf(endpoint: string, options: Partial<ClientOptions> = {}) {
  const clock = new FakeClock({ auto: true });
  const token = { origin: "the test", fetch: async () => ({ token: TOKEN }) };
  const dispatcher = openConnections({ env: {}, concurrency: options.concurrency });
  onTestFinished(() => dispatcher.close());
  const client: Client = createClient({ endpoint, token, clock, dispatcher, random: () => 1, ...options });
  return { client, clock, call: { deadline: deadlineIn(600_000, clock) } };
}

function give(answer: Answer, response: ServerResponse): void {
  const { status = 200, headers = {}, body = "", fault } = answer;
  if (fault === "silent") return;
  if (fault === "lost") {
    response.destroy();
    return;
  }
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const { length } = bytes;
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": String(length),
    ...headers,
  });
  if (fault !== "cut") {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, length / 2), () => response.destroy());
}

/** Returns the error of a rejected promise. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`it succeeded: ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}
