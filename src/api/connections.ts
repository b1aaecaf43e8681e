import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import path from "node:path";
import tls from "node:tls";
import type { Dispatcher } from "undici";
import { CloudInfraError } from "../diagnostics/error";
import { isLoopback } from "./endpoint";
import { DEFAULT_CONCURRENCY } from "./rate-limiter";

const CONNECT_TIMEOUT_MS = 10_000;
/** The limit for each address of a host, in milliseconds. Node's default of 250 ms is shorter than some round trips. */
const ADDRESS_TIMEOUT_MS = 2_500;

/** Sends requests over a pool of connections. */
export interface Connections {
  /**
   * Sends a request once.
   *
   * @param onStart called when an established connection starts to send the request. Until then, the service has received nothing
   */
  send(options: Dispatcher.RequestOptions, onStart?: () => void): Promise<Dispatcher.ResponseData>;
  close(): Promise<void>;
}

/**
 * Creates a pool of keep-alive connections. Connections are opened by the first request. Requests to this machine never use a proxy,
 * because they may be plain HTTP.
 *
 * @param options.env the environment with `HTTPS_PROXY` (for https), `HTTP_PROXY` (for http) and `NO_PROXY`, in upper or lower case
 * @param options.authorities the certificate authorities to trust in addition to those of Node.js, in PEM format
 * @param options.concurrency the maximum number of connections. @default 16
 * @throws CloudInfraError `config_invalid` if a proxy's address is invalid. The message omits the address, which may contain a password
 */
export function openConnections(options: {
  readonly env: NodeJS.ProcessEnv;
  readonly authorities?: readonly string[] | undefined;
  readonly concurrency?: number | undefined;
}): Connections {
  const { env, authorities, concurrency: connections = DEFAULT_CONCURRENCY } = options;
  const trust = authorities && { ca: [...tls.getCACertificates("default"), ...authorities] };
  // Over HTTP/2, undici resends requests after GOAWAY and REFUSED_STREAM. One attempt could then send several requests.
  const connect = {
    timeout: CONNECT_TIMEOUT_MS,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    allowH2: false,
    ...trust,
  };
  const pool = { connections, connect, allowH2: false };
  const variable = (name: string): string => env[name.toLowerCase()] || env[name] || "";
  // Like curl, the provider accepts a proxy address without a scheme.
  const proxy = (name: string): string =>
    variable(name).replace(/^(?!(?:https?|socks5?):|.*:\/\/)./i, "http://$&");
  const proxies = { httpProxy: proxy("HTTP_PROXY"), httpsProxy: proxy("HTTPS_PROXY") };
  const noProxy = variable("NO_PROXY").trim();
  const networks = networksIn(noProxy);
  let direct: Connections | undefined;
  let proxied: Connections | undefined;
  try {
    if (proxies.httpProxy !== "" || proxies.httpsProxy !== "")
      proxied = connectionsOf(
        new (undici().EnvHttpProxyAgent)({
          ...pool,
          ...proxies,
          noProxy,
          requestTls: connect,
          proxyTls: connect,
        }),
      );
  } catch {
    throw new CloudInfraError("config_invalid", "HTTPS_PROXY or HTTP_PROXY isn't a valid proxy address", {
      hint: "Set it to an address such as http://proxy.example.com:3128",
    });
  }
  return {
    send(request, onStart) {
      const url = new URL(String(request.origin));
      // Without this check, undici would use HTTP_PROXY for HTTPS requests.
      const hasNone = url.protocol === "https:" && proxies.httpsProxy === "";
      if (proxied !== undefined && !hasNone && !isWithoutProxy(url, networks))
        return proxied.send(request, onStart);
      direct ??= connectionsOf(new (undici().Agent)(pool));
      return direct.send(request, onStart);
    },
    close: async () => void (await Promise.all([direct?.close(), proxied?.close()])),
  };
}

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

/** Calls `onStart` before the request is written. undici calls `onRequestStart` after the TLS handshake and the proxy's CONNECT. */
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

/** Parses the `address/prefix` entries of NO_PROXY, because undici ignores these entries. */
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

function isWithoutProxy({ hostname }: URL, networks: BlockList): boolean {
  const address = hostname.replace(/^\[|\]$/g, "");
  const version = isIP(address);
  return isLoopback(hostname) || (version !== 0 && networks.check(address, version === 4 ? "ipv4" : "ipv6"));
}

/** Loads undici for the first request, because the library is large and previews send no requests. */
function undici(): typeof import("undici") {
  return require("undici");
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the certificates in the file of the setting `caFile`.
 *
 * @throws CloudInfraError `config_invalid` if the file can't be read, or contains no certificate or a damaged one
 */
export function readCertificates(file: string): readonly string[] {
  const failed = (why: string): CloudInfraError =>
    new CloudInfraError("config_invalid", `the CA file ${file} from cloudinfra:caFile ${why}`, {
      hint: "Set `caFile` to a PEM file that contains the CA certificates. Relative paths are resolved from the program's folder.",
    });
  let text: string;
  try {
    text = readFileSync(path.resolve(file), "utf8");
  } catch (cause) {
    throw failed(`can't be read: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw failed("contains no certificate");
  for (const [index, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate);
    } catch {
      throw failed(`contains a damaged certificate (number ${index + 1})`);
    }
  }
  return certificates;
}
