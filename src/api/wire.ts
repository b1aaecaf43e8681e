import { CloudInfraError } from "../diagnostics/error";
import type { Endpoint } from "./endpoint";
import { ifMatchOf } from "./revision";
import type { WireRequest } from "./transport";

/** A request of this API. */
export interface ApiRequest {
  readonly method: WireRequest["method"];
  /** Below the endpoint's base, percent-encoded; or a whole URL of the endpoint's origin. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  /** JSON text, sent as it is on every try. */
  readonly body?: string | undefined;
  /** Makes a POST repeatable (§4.7). */
  readonly idempotencyKey?: string | undefined;
  /** Revision tag without quotes; makes a PUT repeatable (§4.5). */
  readonly ifMatch?: string | undefined;
  /** A success without a body is no answer to this request. @default false */
  readonly needsBody?: boolean | undefined;
  /** Its address always exists in this API: a 404 without a problem document means another service. @default false */
  readonly collection?: boolean | undefined;
}

/** The request's whole URL. */
export function urlOf({ path, query = {} }: ApiRequest, endpoint: Endpoint): URL {
  const url = new URL(path.startsWith("/") ? endpoint.base + path : path);
  // The last gate: whatever link led here, the token leaves for no other origin.
  if (url.origin !== endpoint.origin) {
    throw new CloudInfraError("bad_reply", `a link leads away from the service, to ${url.origin}`);
  }
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

/** The request's headers, the token among them. */
export function headersOf(
  { body, idempotencyKey, ifMatch }: ApiRequest,
  token: string,
  userAgent: string,
): Record<string, string> {
  return {
    accept: "application/json, application/problem+json",
    "accept-encoding": "identity",
    authorization: `Bearer ${token}`,
    "user-agent": userAgent,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(ifMatch === undefined ? {} : { "if-match": ifMatchOf(ifMatch) }),
  };
}
