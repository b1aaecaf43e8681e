import type { Endpoint } from "./endpoint";

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
