import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import net, { type AddressInfo } from "node:net";
import { Dispatcher } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { connectionsOf, openConnections } from "../../src/api/connections";
import { formatError } from "../../src/diagnostics/format";
import { startProxy } from "../config/network";
import { trusted } from "./raw";
import { clientOf, failureOf, inTurn, startService } from "./service";

it("many requests use at most as many connections as the concurrency allows", async () => {
  const { origin, seen, connections } = await startService(inTurn({ body: { items: [] } }));
  const { client, call } = clientOf(origin, { concurrency: 4 });
  await Promise.all(Array.from({ length: 200 }, () => client.projects.list(call)));
  expect([seen.length, connections()]).toEqual([200, 4]);
});

it.each(["directly", "through a proxy"])(
  "requests use HTTP/1.1 %s even if the service offers HTTP/2, because undici resends HTTP/2 requests by itself",
  async (how) => {
    const versions: string[] = [];
    const server = createSecureServer({ allowHTTP1: true }, (request, response) => {
      versions.push(request.httpVersion);
      response.end('{"items":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const isDirect = how === "directly";
    const { authority, dispatcher } = await trusted(
      isDirect ? {} : { HTTPS_PROXY: (await startProxy(port)).url },
    );
    server.setSecureContext(authority);
    const endpoint = isDirect ? `https://localhost:${port}` : "https://api.example.test";
    const { client, call } = clientOf(endpoint, { dispatcher });
    expect(await client.projects.list(call)).toEqual([]);
    expect(versions).toEqual(["1.1"]);
  },
);

describe("an error of the HTTP library", () => {
  /** Fails each request, before or after an established connection starts to send it. */
  class Failing extends Dispatcher {
    constructor(
      private readonly error: Error,
      private readonly established: boolean,
    ) {
      super();
    }

    override dispatch(_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      const controller = { aborted: false, paused: false, reason: null, abort() {}, pause() {}, resume() {} };
      if (this.established) handler.onRequestStart?.(controller, undefined);
      queueMicrotask(() => handler.onResponseError?.(controller, this.error));
      return true;
    }
  }

  const withCode = (code: string) => Object.assign(new Error(`it went wrong: ${code}`), { code });
  const CODES = [
    ...[
      "ECONNREFUSED",
      "ENOTFOUND",
      "EHOSTUNREACH",
      "ETIMEDOUT",
      "ECONNRESET",
      "EPIPE",
      "EPROTO",
      "ENETDOWN",
    ],
    ...["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_SOCKET", "UND_ERR_INFO", "UND_ERR_PRX_TLS"],
    ...["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_TLS_CERT_ALTNAME_INVALID", "ERR_HTTP2_STREAM_ERROR"],
  ];

  it.each([...CODES, "no code"])(
    "%s leaves the outcome unknown only if a connection was established",
    async (code) => {
      for (const established of [true, false]) {
        const error = code === "no code" ? new TypeError("undici has a bug") : withCode(code);
        const dispatcher = connectionsOf(new Failing(error, established));
        const { client, call } = clientOf("https://api.example.com", { dispatcher });
        expect(await failureOf(client.instances.create("{}", "key-1", call))).toMatchObject({
          code: "unreachable",
          sent: established,
        });
      }
    },
  );

  it("lists the addresses that failed if the host has several", async () => {
    const tried = ["connect ECONNREFUSED ::1:443", "connect ECONNREFUSED 127.0.0.1:443"];
    const error = Object.assign(new AggregateError(tried.map((message) => new Error(message))), {
      code: "ECONNREFUSED",
    });
    const dispatcher = connectionsOf(new Failing(error, false));
    const { client, call } = clientOf("https://api.example.com", { dispatcher });
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      summary: `the service can't be reached: ${tried.join("; ")}`,
    });
  });
});

describe("a proxy's 407", () => {
  /** Starts a proxy on loopback that requires a login for everything. */
  async function startClosedProxy(): Promise<string> {
    const server = createServer((_request, response) => response.writeHead(407).end());
    server.on("connect", (_request, socket) => socket.end("HTTP/1.1 407 No\r\n\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.each([
    ["http", "HTTP_PROXY"],
    ["https", "HTTPS_PROXY"],
  ])(
    "means that an %s request didn't reach the service, and the hint names the variable of the proxy: %s",
    async (scheme, variable) => {
      const proxy = await startClosedProxy();
      const dispatcher = openConnections({ env: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } });
      onTestFinished(() => dispatcher.close());
      const options = { dispatcher, allowHttp: true };
      const { client, call } = clientOf(`${scheme}://api.example.test`, options);
      const error = await failureOf(client.instances.create("{}", "key-1", call));
      expect(error).toMatchObject({ code: "unreachable", sent: false, attempts: 1 });
      const words = formatError(error, { action: "creating" });
      expect(words).toContain("the proxy returned 407");
      expect(words).toContain(`hint: Set the proxy's user name and password: ${variable}=http://user`);
    },
  );

  it("as a reply has the same hint", async () => {
    const { origin } = await startService(inTurn({ status: 407 }));
    const { client, call } = clientOf(origin);
    const error = await failureOf(client.projects.list(call));
    expect(error).toMatchObject({ code: "unreachable", sent: false, attempts: 1 });
    expect(formatError(error, { action: "reading" })).toContain(
      "hint: Set the proxy's user name and password: HTTP_PROXY=http://user",
    );
  });
});

/** Sends a request to a closed port, and returns the error and the requests that the proxy received. */
async function throughProxy(env: (proxy: string) => NodeJS.ProcessEnv, endpoint: string) {
  const { port } = await startService(() => ({}));
  const proxy = await startProxy(port);
  const dispatcher = openConnections({ env: env(proxy.url) });
  onTestFinished(() => dispatcher.close());
  const { client, call } = clientOf(endpoint, { dispatcher, allowHttp: true, retry: { maxAttempts: 1 } });
  return { error: await failureOf(client.projects.list(call)), asked: proxy.asked };
}

it.each([
  ["HTTPS_PROXY", "https", true],
  ["HTTPS_PROXY", "http", false],
  ["HTTP_PROXY", "https", false],
  ["http_proxy", "https", false],
  ["HTTP_PROXY", "http", true],
  ["ALL_PROXY", "https", false],
])("%s alone: an %s endpoint is reached through the proxy: %s", async (name, scheme, isProxied) => {
  const { asked } = await throughProxy((proxy) => ({ [name]: proxy }), `${scheme}://0.0.0.0:1`);
  expect(asked).toHaveLength(isProxied ? 1 : 0);
});

it("an address of a proxy without a scheme means http, as for curl", async () => {
  const env = (proxy: string) => ({ HTTPS_PROXY: proxy.replace("http://", "") });
  const { asked } = await throughProxy(env, "https://0.0.0.0:1");
  expect(asked).toHaveLength(1);
});

describe("NO_PROXY", () => {
  it.each([
    ["0.0.0.0/8", "0.0.0.0", false],
    ["other.test, 10.0.0.0/8,0.0.0.0/31", "0.0.0.0", false],
    ["::/64", "[::]", false],
    ["10.0.0.0/8", "0.0.0.0", true],
    ["0.0.0.0/33,0.0.0.0/,0.0.0.0/x", "0.0.0.0", true],
    ["0.0.0.0/8", "api.example.test", true],
  ])("%s: %s is reached through the proxy: %s", async (noProxy, host, isProxied) => {
    const env = (proxy: string) => ({ HTTPS_PROXY: proxy, NO_PROXY: noProxy });
    expect(await throughProxy(env, `https://${host}:1`)).toEqual({
      error: expect.objectContaining({ code: "unreachable" }),
      asked: isProxied ? [`CONNECT ${host}:1`] : [],
    });
  });
});

it("a connection attempt to one of several addresses of a host may take longer than 250 ms", async () => {
  const connect = vi.spyOn(net, "connect");
  onTestFinished(() => connect.mockRestore());
  const { origin } = await startService(inTurn({ body: { items: [] } }));
  const { client, call } = clientOf(origin);
  await client.projects.list(call);
  expect(connect.mock.calls).toEqual([[expect.objectContaining({ autoSelectFamilyAttemptTimeout: 2_500 })]]);
});
