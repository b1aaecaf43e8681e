import { BlockList, isIP } from "node:net";
import tls from "node:tls";
import type { Dispatcher } from "undici";
import { CloudInfraError } from "../diagnostics/error";
import { isLoopback } from "./endpoint";
import { DEFAULT_CONCURRENCY } from "./rate-limiter";

/** What sends requests. */
export interface Connections {
  /**
   * Sends a request once.
   *
   * @param onStart called when an established connection takes the request. Until then, nothing of it can have reached the service
   */
  send(options: Dispatcher.RequestOptions, onStart?: () => void): Promise<Dispatcher.ResponseData>;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  /** For `HTTPS_PROXY` (of https), `HTTP_PROXY` (of http) and `NO_PROXY`, in either case. */
  readonly env: NodeJS.ProcessEnv;
  /** Certificates of authorities that are trusted beside Node's own (PEM). */
  readonly authorities?: readonly string[] | undefined;
  /** As many as requests may be under way at once. @default 16 */
  readonly concurrency?: number | undefined;
}

/**
 * Keeps connections alive, and uses a proxy if the environment names one. Requests to this machine never go through a proxy, because
 * plain http is allowed for them. Opens no connection by itself.
 *
 * @throws CloudInfraError `config_invalid` if a proxy's address is invalid; without the address, which may hold a password
 */
export function openConnections({
  env,
  authorities,
  concurrency: connections = DEFAULT_CONCURRENCY,
}: ConnectionOptions): Connections {
  const trust = authorities && { ca: [...tls.getCACertificates("default"), ...authorities] };
  // Over HTTP/2, undici resends requests on its own after GOAWAY and REFUSED_STREAM, so an attempt would no longer be one request.
  const http1 = { allowH2: false } as const;
  const connect = { timeout: CONNECT_TIMEOUT_MS, ...http1, ...trust };
  const look = (name: string): string => env[name.toLowerCase()] || env[name] || "";
  const [httpProxy, httpsProxy] = [look("HTTP_PROXY"), look("HTTPS_PROXY")];
  const direct = whenNeeded(() => new (undici().Agent)({ connections, connect, ...http1 }));
  if (httpProxy === "" && httpsProxy === "") return direct;
  const noProxy = look("NO_PROXY");
  const networks = networksIn(noProxy);
  try {
    const proxied = connectionsOf(
      new (undici().EnvHttpProxyAgent)({
        connections,
        httpProxy,
        httpsProxy,
        noProxy: noProxy.trim(),
        connect,
        requestTls: connect,
        proxyTls: connect,
        ...http1,
      }),
    );
    return {
      send: (options, onStart) => {
        const url = URL.parse(String(options.origin));
        // undici would use HTTP_PROXY for https, too.
        const hasNone = url?.protocol === "https:" && httpsProxy === "";
        return (hasNone || isWithoutProxy(url, networks) ? direct : proxied).send(options, onStart);
      },
      close: async () => void (await Promise.all([direct.close(), proxied.close()])),
    };
  } catch {
    throw new CloudInfraError("config_invalid", "HTTPS_PROXY or HTTP_PROXY is not the address of a proxy", {
      hint: "it must look like http://proxy.example.com:3128",
    });
  }
}

/** Adapts an undici dispatcher. */
export function connectionsOf(dispatcher: Dispatcher): Connections {
  return {
    send(options, onStart = () => {}) {
      const observed = dispatcher.compose(
        (dispatch) => (opts, handler) => dispatch(opts, observing(handler, onStart)),
      );
      return observed.request(options);
    },
    close: () => dispatcher.close(),
  };
}

/** undici calls `onRequestStart` immediately before it writes to a connection, which includes the TLS handshake and a proxy's tunnel. */
function observing(handler: Dispatcher.DispatchHandler, onStart: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      onStart();
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  };
}

/** The networks that NO_PROXY names as address/prefix, which undici doesn't read. */
function networksIn(noProxy: string): BlockList {
  const networks = new BlockList();
  for (const entry of noProxy.split(/[\s,]+/)) {
    const [address = "", prefix = ""] = entry.split("/");
    const version = isIP(address);
    if (version === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (version === 4 ? 32 : 128)) continue;
    networks.addSubnet(address, Number(prefix), version === 4 ? "ipv4" : "ipv6");
  }
  return networks;
}

function isWithoutProxy(url: URL | null, networks: BlockList): boolean {
  const hostname = url?.hostname ?? "";
  const address = hostname.replace(/^\[|\]$/g, "");
  const version = isIP(address);
  return isLoopback(hostname) || (version !== 0 && networks.check(address, version === 4 ? "ipv4" : "ipv6"));
}

/** Loaded by the first request: it is half of what a provider loads, and previews make no request. */
function undici(): typeof import("undici") {
  return require("undici");
}

function whenNeeded(open: () => Dispatcher): Connections {
  let opened: Connections | undefined;
  return {
    send: (...args) => {
      opened ??= connectionsOf(open());
      return opened.send(...args);
    },
    close: async () => opened?.close(),
  };
}

/** Milliseconds until a connection must stand. */
const CONNECT_TIMEOUT_MS = 10_000;
