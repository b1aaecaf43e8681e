import { CloudInfraError } from "../diagnostics/error";
import type { Clock } from "../polling/clock";
import { type Operation, summarizeOperation } from "../polling/wait";
import { createAuth, type TokenSource } from "./auth";
import { createCollections, type Instances, type Projects } from "./collections";
import type { Connections } from "./connections";
import { parseEndpoint, pathOf, readLink } from "./endpoint";
import { type ApiObject, parseObjectWithId } from "./objects";
import { createOperations, type Operations, resultIdOf } from "./operations";
import { createRateLimiter, DEFAULT_CONCURRENCY } from "./rate-limiter";
import { type CallOptions, createSend, type Observer } from "./request";
import { DEFAULT_RETRY, type RetryOptions } from "./retry";

export type { TokenSource } from "./auth";
export type { Page } from "./collections";
export type { ApiObject } from "./objects";
export type { Accepted } from "./operations";
export type { CallOptions } from "./request";

export interface ClientOptions {
  /** Base URL of the service, with or without `/v1` and a trailing slash. */
  endpoint: string;
  /** Names the source of `endpoint` in messages. @default "the setting cloudinfra:endpoint" */
  endpointSetting?: string | undefined;
  token: TokenSource;
  /** Maximum number of requests in progress. @default 16 */
  concurrency?: number | undefined;
  /** Maximum number of requests that start per second; may be a fraction. @default no limit */
  maxRequestsPerSecond?: number | undefined;
  /** Field of an object that contains its revision tag. @default the ETag header, else a field with a usual name */
  revisionField?: string | undefined;
  /** Allows plain http to hosts other than this machine. @default false */
  allowHttp?: boolean | undefined;
  /** @default 8 attempts with full jitter from 0.5 s to 20 s */
  retry?: Partial<RetryOptions> | undefined;
  clock: Clock;
  /** Returns numbers from 0 to 1, for jitter. */
  random: () => number;
  /** The connections, which the caller closes. */
  dispatcher: Connections;
  /** Observes the requests, for `probe`. */
  observe?: Observer | undefined;
}

/** A client of the service. Each call ends by its deadline. If it fails, it throws a CloudInfraError. */
export interface Client {
  /** Normalized base URL, which ends in `/v1`. */
  readonly endpoint: string;
  /** The most recent tokens. Messages must not contain them, but replies may. */
  readonly tokens: readonly string[];
  readonly projects: Projects;
  readonly instances: Instances;
  readonly operations: Operations;
  /** Returns the id of the object that an operation is about, or undefined if the operation doesn't include it. */
  resultId(operation: Operation): string | undefined;
  /**
   * Reads the object that a finished operation links to.
   *
   * @throws CloudInfraError `no_result` if there is no link to this service; `not_found` or `unsupported` after the reply to the request
   */
  readResult(operation: Operation, options: CallOptions): Promise<ApiObject>;
}

/**
 * Creates a client for one endpoint and one token source. Sends no request.
 *
 * @throws CloudInfraError `config_invalid` if an option is invalid
 */
export function createClient(options: ClientOptions): Client {
  const { clock, concurrency = DEFAULT_CONCURRENCY, maxRequestsPerSecond, revisionField } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new CloudInfraError(
      "config_invalid",
      "cloudinfra:concurrency must be a whole number greater than zero",
    );
  const endpoint = parseEndpoint(options.endpoint, {
    allowHttp: options.allowHttp,
    setting: options.endpointSetting,
  });
  const auth = createAuth(options.token);
  const send = createSend({
    endpoint,
    auth,
    clock,
    limits: createRateLimiter({ concurrency, maxRequestsPerSecond, clock }),
    retry: { ...DEFAULT_RETRY, ...options.retry },
    random: options.random,
    dispatcher: options.dispatcher,
    observe: options.observe,
  });
  const operations = createOperations(send, endpoint, auth.redact);
  return {
    endpoint: endpoint.base,
    tokens: auth.used,
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
      const object = parseObjectWithId(resultIdOf(operation, endpoint), reply, revisionField);
      const ownPaths = [pathOf("projects", object.id), pathOf("instances", object.id)];
      return { ...object, isFromOwnUrl: ownPaths.some((path) => url === endpoint.base + path) };
    },
  };
}
