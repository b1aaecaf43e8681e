import { CloudInfraError } from "../diagnostics/error";
import type { Clock } from "../polling/clock";
import { type Operation, summarizeOperation } from "../polling/wait";
import { createAuth, type TokenSource } from "./auth";
import type { Connections } from "./connections";
import { parseEndpoint, pathOf, readLink } from "./endpoint";
import { type ApiObject, parseObject } from "./objects";
import { createOperations, type Operations, resultIdOf } from "./operations";
import { type Collections, createCollections } from "./pagination";
import { createRateLimiter, type RateLimits } from "./rate-limiter";
import { type ApiReply, type ApiRequest, type CallOptions, createSend, type Observer } from "./request";
import { DEFAULT_RETRY, type RetryOptions } from "./retry";

export type { TokenSource } from "./auth";
export type { ApiObject } from "./objects";
export type { Accepted } from "./operations";
export type { Page } from "./pagination";
export type { CallOptions } from "./request";

export interface ClientOptions extends RateLimits {
  /** The base URL of the service, with or without `/v1` and a trailing slash. */
  endpoint: string;
  /** The source of `endpoint` as shown in messages. @default "the setting cloudinfra:endpoint" */
  endpointSetting?: string | undefined;
  token: TokenSource;
  /** The field that contains the revision of an object. @default the ETag header, or else a field with a common name */
  revisionField?: string | undefined;
  /** Whether plain HTTP connections to other machines are allowed. @default false */
  allowHttp?: boolean | undefined;
  /** @default 8 attempts with full jitter from 0.5 s to 20 s */
  retry?: Partial<RetryOptions> | undefined;
  clock: Clock;
  /** Returns a random number from 0 to 1, for jitter. */
  random: () => number;
  /** The connections, which the caller must close. */
  dispatcher: Connections;
  /** Called with each attempt to send a request, for `probe`. */
  observe?: Observer | undefined;
}

/** A client of the service. Each call ends by its deadline. A failed call throws a CloudInfraError. */
export interface Client {
  /** The normalized base URL, which ends in `/v1`. */
  readonly endpoint: string;
  /** The most recent tokens. Messages must not contain these tokens, although replies may contain them. */
  readonly tokens: readonly string[];
  /** The origin of the token, for messages. */
  readonly tokenOrigin: string;
  /**
   * Sends a GET, for `probe`.
   *
   * @param request.path a percent-encoded path below the endpoint, or a whole URL with the endpoint's origin
   */
  get(request: Pick<ApiRequest, "path" | "query" | "token">, options: CallOptions): Promise<ApiReply>;
  readonly projects: Collections["projects"];
  readonly instances: Collections["instances"];
  readonly operations: Pick<Operations, "get" | "poll">;
  /** Returns the id of the object that an operation creates or changes, or `undefined` if the operation contains no id. */
  resultId(operation: Operation): string | undefined;
  /**
   * Reads the object that a finished operation links to.
   *
   * @throws CloudInfraError `no_result` if there is no link to this service; `not_found` or `unsupported` if the service returns no object
   */
  readResult(operation: Operation, options: CallOptions): Promise<ApiObject>;
}

/**
 * Creates a client for one endpoint and one token source, without sending a request.
 *
 * @throws CloudInfraError `config_invalid` if an option is invalid
 */
export function createClient(options: ClientOptions): Client {
  const { allowHttp, endpointSetting: setting, clock, random, dispatcher, observe, revisionField } = options;
  const limits = createRateLimiter(options);
  const endpoint = parseEndpoint(options.endpoint, { allowHttp, setting });
  const auth = createAuth(options.token);
  const retry = { ...DEFAULT_RETRY, ...options.retry };
  const send = createSend({ endpoint, auth, clock, limits, retry, random, dispatcher, observe });
  const operations = createOperations(send, endpoint, auth.redact);
  return {
    endpoint: endpoint.base,
    tokens: auth.used,
    tokenOrigin: auth.origin,
    get: (request, call) => send({ ...request, method: "GET" }, call),
    ...createCollections(send, operations, revisionField),
    operations,
    resultId: (operation) => resultIdOf(operation, endpoint),
    async readResult(operation, call) {
      const url = operation.resultUrl && readLink(operation.resultUrl, operation.url, endpoint).url;
      if (!url) {
        const message = `operation ${operation.id} has no link to its result`;
        throw new CloudInfraError("no_result", message, {
          operation: summarizeOperation(operation),
          resultId: operation.resource,
        });
      }
      const reply = await send({ method: "GET", path: url, needsBody: true }, call);
      const object = parseObject(reply, revisionField, resultIdOf(operation, endpoint));
      const ownPaths = [pathOf("projects", object.id), pathOf("instances", object.id)];
      return { ...object, isFromOwnUrl: ownPaths.some((path) => url === endpoint.base + path) };
    },
  };
}
