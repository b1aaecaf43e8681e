import tls from "node:tls";
import type { Dispatcher } from "undici";
import { CloudInfraError } from "../diagnostics/error";
import { isLoopback } from "./endpoint";
import { DEFAULT_CONCURRENCY } from "./limits";
import { CONNECT_TIMEOUT_MS } from "./transport";

/** What sends requests; an undici dispatcher is one. */
export type Connections = Pick<Dispatcher, "request" | "close">;

export interface ConnectionOptions {
  /** For `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in either case. */
  readonly env: NodeJS.ProcessEnv;
  /** Certificates of authorities that are trusted beside Node's own (PEM). */
  readonly authorities?: readonly string[] | undefined;
  /** As many as requests may be under way at once. @default 16 */
  readonly concurrency?: number | undefined;
}

/**
 * Kept-alive connections, through a proxy where the environment names one; never to this machine: plain http is allowed to it.
 * Makes none by itself.
 *
 * @throws CloudInfraError `config_invalid` where a proxy's address is none; without the address, which may hold a password
 */
export function openConnections({
  env,
  authorities,
  concurrency: connections = DEFAULT_CONCURRENCY,
}: ConnectionOptions): Connections {
  const trust = authorities && { ca: [...tls.getCACertificates("default"), ...authorities] };
  const connect = { timeout: CONNECT_TIMEOUT_MS, ...trust };
  const look = (name: string): string => env[name.toLowerCase()] || env[name] || "";
  const [httpProxy, httpsProxy] = [look("HTTP_PROXY"), look("HTTPS_PROXY")];
  const direct = whenAsked(() => new (undici().Agent)({ connections, connect }));
  if (httpProxy === "" && httpsProxy === "") return direct;
  const noProxy = look("NO_PROXY");
  try {
    const proxied = new (undici().EnvHttpProxyAgent)({
      connections,
      httpProxy,
      httpsProxy,
      noProxy: noProxy.trim(),
      connect,
      requestTls: connect,
      proxyTls: connect,
    });
    return {
      request: (...asked: Parameters<Dispatcher["request"]>) =>
        (isHere(asked[0].origin) ? direct : proxied).request(...asked),
      close: async () => void (await Promise.all([direct.close(), proxied.close()])),
    };
  } catch {
    throw new CloudInfraError("config_invalid", "HTTPS_PROXY or HTTP_PROXY is not the address of a proxy", {
      hint: "it must look like http://proxy.example.com:3128",
    });
  }
}

function isHere(origin: string | URL | undefined): boolean {
  const url = URL.parse(String(origin));
  return url !== null && isLoopback(url.hostname);
}

/** Loaded by the first request: it is half of what a provider loads, and previews make no request. */
function undici(): typeof import("undici") {
  return require("undici");
}

function whenAsked(open: () => Dispatcher): Connections {
  let opened: Dispatcher | undefined;
  return {
    request: (...asked: Parameters<Dispatcher["request"]>) => {
      opened ??= open();
      return opened.request(...asked);
    },
    close: async () => opened?.close(),
  };
}
