import { CloudInfraError } from "../diagnostics/error";

/** Where the service is. */
export interface Endpoint {
  /** Normalised base URL; ends in `/v1`, without a slash. */
  readonly base: string;
  readonly origin: string;
  /** Path of the base URL: `/v1`, or `/somewhere/v1`. */
  readonly basePath: string;
  readonly hostname: string;
}

const SETTING = "the setting cloudinfra:endpoint";
const VERSION = "v1";

/**
 * Reads the base URL as people write it: with or without `/v1` (§9) and a trailing slash.
 *
 * @param options.allowHttp also where the host is not this machine; a token would then travel in the clear. @default false
 * @param options.setting what it is called in errors. @default "the setting cloudinfra:endpoint"
 * @throws CloudInfraError `config_invalid` that names the setting
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
          ? "pulumi config set cloudinfra:endpoint https://…, or the variable CLOUDINFRA_ENDPOINT if that holds it"
          : "give it a whole address, such as https://api.example.com",
    });
  const trimmed = text.trim();
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (url === undefined || !["https:", "http:"].includes(url.protocol) || url.hostname === "") {
    throw invalid("is not a URL that begins with https://");
  }
  if (url.username !== "" || url.password !== "") throw invalid("must not contain a user name or password");
  if (url.search !== "" || url.hash !== "") throw invalid('must not contain "?" or "#"');
  if (url.protocol === "http:" && !options.allowHttp && !isLoopback(url.hostname)) {
    throw invalid(
      `must begin with https://: over http the token could be read on the way to ${url.hostname}`,
    );
  }
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const last = segments.at(-1) ?? "";
  if (/^v\d+$/.test(last) && last !== VERSION) {
    throw invalid(`names version "${last}" of the API; this package speaks ${VERSION}`);
  }
  if (last !== VERSION) segments.push(VERSION);
  const basePath = `/${segments.join("/")}`;
  return { base: url.origin + basePath, origin: url.origin, basePath, hostname: url.hostname };
}

/** A path below the base, its segments percent-encoded: `pathOf("instances", id)`. */
export function pathOf(...segments: string[]): string {
  return segments.map((segment) => `/${encodeSegment(segment)}`).join("");
}

function encodeSegment(segment: string): string {
  // "." and ".." mean something else than themselves in a URL, however they are encoded.
  if (segment === "" || segment === "." || segment === "..") {
    throw new CloudInfraError("input_invalid", `"${segment}" can't be the id of anything`);
  }
  return encodeURIComponent(segment.toWellFormed());
}

/** Whether a host is this machine, whatever the network says. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(\.\d+){3}$/.test(hostname)
  );
}

/** What a link of the service (a Location header, a result_url) leads to. */
export interface Link {
  /** Whole URL on the endpoint's own origin, that may be asked with the token; undefined where there is none. */
  readonly url: string | undefined;
  /** Kind and id that the path ends with: `operations`, `op-1`. */
  readonly collection: string | undefined;
  readonly id: string | undefined;
}

const COLLECTIONS = ["operations", "projects", "instances"];

/**
 * Reads a link: absolute or relative, with or without the endpoint's base path, percent-encoded or not. Only the path counts, because
 * services behind a proxy name hosts that clients can't reach or must not send a token to: if the path is below the endpoint's base
 * path, or names one of the API's collections and an id, it is followed at the endpoint.
 *
 * @param from the URL whose reply carried the link
 */
export function readLink(link: string, from: string | URL, endpoint: Endpoint): Link {
  const nowhere = { url: undefined, collection: undefined, id: undefined };
  const text = link.trim();
  if (text === "" || !URL.canParse(text, String(from))) return nowhere;
  const target = new URL(text, from);
  if (!/^https?:$/.test(target.protocol)) return nowhere;
  const segments = target.pathname.split("/").filter((segment) => segment !== "");
  const id = decode(segments.at(-1));
  const collection = COLLECTIONS.find((name) => name === segments.at(-2));
  const path = target.pathname + target.search;
  if (path.startsWith(`${endpoint.basePath}/`)) return { url: endpoint.origin + path, collection, id };
  if (collection === undefined || id === undefined) return nowhere;
  return { url: `${endpoint.base}/${collection}/${segments.at(-1)}`, collection, id };
}

function decode(segment: string | undefined): string | undefined {
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** An address without what makes no difference to where it leads. */
export function comparableEndpoint(endpoint: string): string {
  const url = URL.parse(endpoint.toLowerCase());
  const path = url?.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return url === null ? endpoint : `${url.origin}${path}`;
}
