import { CloudInfraError } from "../diagnostics/error";
import { type Clock, systemClock } from "../polling/clock";
import { type Operation, summarizeOperation } from "../polling/operation";
import { createAuth, type TokenSource } from "./auth";
import {
  createCollection,
  createInstances,
  createProjects,
  type Instances,
  type Projects,
} from "./collections";
import { type Connections, openConnections } from "./connections";
import { parseEndpoint, pathOf, readLink } from "./endpoint";
import { type ApiObject, parseObjectWithId } from "./objects";
import { createOperations, type Operations, resultIdOf } from "./operations";
import { createTraceIds } from "./outcome";
import { createRateLimiter, DEFAULT_CONCURRENCY } from "./rate-limiter";
import { type CallOptions, createSend } from "./request";
import { createRetryBudget, DEFAULT_RETRY, type RetryOptions } from "./retry";

export type { Accepted } from "./accepted";
export type { TokenSource } from "./auth";
export type { ApiObject } from "./objects";
export type { Page } from "./pages";
export type { CallOptions } from "./request";
export interface ClientOptions {
  /** Base URL of the service, with or without `/v1` and a trailing slash. */
  endpoint: string;
  /** What the base URL is called in errors. @default "the setting cloudinfra:endpoint" */
  endpointSetting?: string | undefined;
  token: TokenSource;
  /** Most requests under way at once; fewer for a while after 429. @default 16 */
  concurrency?: number | undefined;
  /** Requests that start within a second at most; fractions are allowed. @default no limit */
  maxRequestsPerSecond?: number | undefined;
  /** Field of an object that holds its revision tag. @default the ETag header, else the usual names */
  revisionField?: string | undefined;
  /** Plain http also to other hosts than this machine. @default false */
  allowHttp?: boolean | undefined;
  /** @default 8 tries, full jitter from 0.5 s to 20 s */
  retry?: Partial<RetryOptions> | undefined;
  /** @default the real time */
  clock?: Clock | undefined;
  /** From 0 to 1, for jitter. @default Math.random */
  random?: (() => number) | undefined;
  /** @default connections of its own, kept alive */
  dispatcher?: Connections | undefined;
  /** Told of each try of a request; never of the token. What it throws is ignored. */
  onRequest?: ((request: RequestSeen) => void) | undefined;
  /** @default "pulumi-cloudinfra" */
  userAgent?: string | undefined;
}

/** One try of a request. */
interface RequestSeen {
  method: string;
  /** Without origin and query. */
  path: string;
  /** Undefined where no reply came. */
  status?: number | undefined;
  /** 1 for the first try. */
  attempt: number;
  /** How long it took, in milliseconds. */
  ms: number;
}

/** The service: every call ends by its deadline, and fails with a CloudInfraError. */
export interface Client {
  /** Normalised base URL; ends in `/v1`. */
  readonly endpoint: string;
  /** The latest tokens used, which no words may repeat: replies can hold them. */
  readonly tokens: readonly string[];
  readonly projects: Projects;
  readonly instances: Instances;
  readonly operations: Operations;
  /** Id of the object an operation is about, as far as it tells. */
  resultId(operation: Operation): string | undefined;
  /** The object a done operation links to. Throws `no_result` without a link of this service, `not_found`, `unsupported`. */
  readResult(operation: Operation, options: CallOptions): Promise<ApiObject>;
  /** Gives the connections back; calls under way are finished first. */
  close(): Promise<void>;
}

/** So many retries may come at once from one client, then ten a second. */
const RETRY_BUDGET = { burst: 100, perSecond: 10 };

/**
 * A client of the service for one endpoint and one token source. Makes no request by itself.
 *
 * @throws CloudInfraError `config_invalid` that names the setting
 */
export function createClient(options: ClientOptions): Client {
  const { clock = systemClock, revisionField } = options;
  const endpoint = parseEndpoint(options.endpoint, {
    allowHttp: options.allowHttp,
    setting: options.endpointSetting,
  });
  const { concurrency = DEFAULT_CONCURRENCY, maxRequestsPerSecond } = options;
  if (!(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new CloudInfraError(
      "config_invalid",
      "the setting cloudinfra:concurrency must be a whole number above 0",
    );
  }
  if (maxRequestsPerSecond !== undefined && !(maxRequestsPerSecond > 0)) {
    throw new CloudInfraError(
      "config_invalid",
      "the setting cloudinfra:maxRequestsPerSecond must be a number above 0",
    );
  }

  const dispatcher = options.dispatcher ?? openConnections({ env: {}, concurrency });
  const auth = createAuth(options.token);
  const send = createSend({
    endpoint,
    auth,
    clock,
    limits: createRateLimiter({ concurrency, maxRequestsPerSecond, clock }),
    budget: createRetryBudget(RETRY_BUDGET, clock),
    retry: { ...DEFAULT_RETRY, ...options.retry },
    random: options.random ?? Math.random,
    dispatcher,
    traces: createTraceIds(),
    userAgent: options.userAgent ?? "pulumi-cloudinfra",
    onAttempt: options.onRequest ?? (() => {}),
  });

  const operations = createOperations(send, endpoint, auth.redact);
  const parts = { send, operations, revisionField };
  return {
    endpoint: endpoint.base,
    tokens: auth.used,
    projects: createProjects(createCollection("projects", parts)),
    instances: createInstances(createCollection("instances", parts)),
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
      const own = [pathOf("projects", object.id), pathOf("instances", object.id)];
      return { ...object, isFromOwnUrl: own.some((path) => url === endpoint.base + path) };
    },
    close: async () => {
      if (options.dispatcher === undefined) await dispatcher.close();
    },
  };
}
