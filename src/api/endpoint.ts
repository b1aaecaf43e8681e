import { CloudInfraError } from "../diagnostics/error";
import { percentDecoded } from "../diagnostics/problem";

/** The base URL of the service. */
export interface Endpoint {
  /** The normalized base URL, which ends in `/v1`. */
  readonly base: string;
  readonly origin: string;
  /** The path of the base URL, such as `/v1` or `/somewhere/v1`. */
  readonly basePath: string;
}

const SETTING = "the setting cloudinfra:endpoint";
const VERSION = "v1";

/**
 * Parses a base URL with or without `/v1` (§9) and a trailing slash. The options are those of the client.
 *
 * @throws CloudInfraError `config_invalid`, with the name of the setting
 */
export function parseEndpoint(
  text: string,
  options: { allowHttp?: boolean | undefined; setting?: string | undefined } = {},
): Endpoint {
  const { setting = SETTING } = options;
  const invalid = (why: string): CloudInfraError =>
    new CloudInfraError("config_invalid", `${setting} ${why}`, {
      hint:
        setting === SETTING
          ? "Run `pulumi config set cloudinfra:endpoint https://…`, or correct the environment variable CLOUDINFRA_ENDPOINT"
          : "Set it to a URL such as https://api.example.com",
    });
  const url = URL.parse(text.trim());
  if (url === null || !["https:", "http:"].includes(url.protocol))
    throw invalid("must be a URL that begins with https://");
  if (url.username !== "" || url.password !== "") throw invalid("must not contain a user name or password");
  if (url.search !== "" || url.hash !== "") throw invalid('must not contain "?" or "#"');
  if (url.protocol === "http:" && !options.allowHttp && !isLoopback(url.hostname)) {
    throw invalid(
      `must begin with https://, because http would send the token to ${url.hostname} unencrypted`,
    );
  }
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const last = segments.at(-1) ?? "";
  if (/^v\d+$/.test(last) && last !== VERSION) {
    throw invalid(`must not contain the API version "${last}": this package uses ${VERSION}`);
  }
  if (last !== VERSION) segments.push(VERSION);
  const basePath = `/${segments.join("/")}`;
  return { base: url.origin + basePath, origin: url.origin, basePath };
}

/** Builds a percent-encoded path below the base URL, such as `pathOf("instances", id)`. */
export function pathOf(...segments: string[]): string {
  const invalid = segments.find((segment) => !isPathSegment(segment));
  if (invalid !== undefined) throw new CloudInfraError("input_invalid", `"${invalid}" isn't a valid id`);
  return segments.map((segment) => `/${encodeURIComponent(segment.toWellFormed())}`).join("");
}

/** Reports whether an id can be part of a path. URL parsers resolve "." and ".." even if they are percent-encoded. */
export function isPathSegment(id: string): boolean {
  return !["", ".", ".."].includes(id);
}

/** Reports whether a host name always refers to this machine, without a DNS lookup. */
export function isLoopback(hostname: string): boolean {
  return /^((.+\.)?localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
}

const COLLECTIONS = ["operations", "projects", "instances"];

/**
 * Resolves a link to a URL at the endpoint's origin. Only the path of the link is used, because a service behind a proxy may return links
 * to an internal host. The path must be below the base path, or end with a collection of the API and an id.
 *
 * @param from the URL whose reply contained the link
 * @returns the URL, to which the token may be sent, and the last two segments of its path. The URL is `undefined` if the link points outside
 * of the API
 */
export function readLink(link: string, from: string | URL, endpoint: Endpoint) {
  const unknown = { url: undefined, collection: undefined, id: undefined };
  const target = URL.parse(link.trim(), String(from));
  if (target === null || link.trim() === "" || !/^https?:$/.test(target.protocol)) return unknown;
  const segments = target.pathname.split("/").filter((segment) => segment !== "");
  const last = segments.at(-1);
  const id = last && percentDecoded(last);
  const collection = COLLECTIONS.find((name) => name === segments.at(-2));
  const path = target.pathname + target.search;
  if (path.startsWith(`${endpoint.basePath}/`)) return { url: endpoint.origin + path, collection, id };
  if (collection === undefined || id === undefined) return unknown;
  return { url: `${endpoint.base}/${collection}/${last}`, collection, id };
}

/** Normalizes an endpoint for comparisons: the host in lower case, without `/v1` and trailing slashes. */
export function comparableEndpoint(endpoint: string): string {
  const url = URL.parse(endpoint);
  const path = url?.pathname.replace(/\/+$/, "").replace(/\/v1$/i, "");
  return url === null ? endpoint : `${url.origin}${path}`;
}
