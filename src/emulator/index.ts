import { type Behaviour, defaultBehaviour } from "./behaviour";
import { Controls, type Emulator } from "./controls";
import { type FaultRule, Faults } from "./faults";
import { FirstReplies } from "./idempotency";
import { EmulatorPage } from "./page/routes";
import { readProfile } from "./profile";
import {
  handleRequest,
  isLoopbackAddress,
  Listener,
  type LoggedRequest,
  RequestLog,
  type Service,
} from "./server";
import { State } from "./state";

export { type Behaviour, defaultBehaviour, type OperationKind, type Replies } from "./behaviour";
export type { Emulator, ObjectKind } from "./controls";
export { type FaultHandle, type FaultKind, type FaultRule, faultKinds } from "./faults";
export { type Normalization, normalizations } from "./normalization";
export type { OperationTarget, StoredOperation } from "./operation-queue";
export type { ProblemDetail, ProblemDocument, Refusal } from "./problems";
export type { Subject } from "./reply";
export type { ReceivedRequest } from "./request";
export type { PlannedFailure } from "./rules";
export type { LoggedRequest } from "./server";
export type { StoredInstance, StoredProject } from "./state";

/** The options of {@link startEmulator}. */
export interface EmulatorOptions {
  /** The port to listen on. @default a free port */
  readonly port?: number;
  /** The address to listen on. If other machines can reach the address, you must set a `token`. @default "127.0.0.1" */
  readonly host?: string;
  /** The bearer token that requests must contain. @default "emulator-token" */
  readonly token?: string;
  /** The switches to change. @default {@link defaultBehaviour} */
  readonly behaviour?: Partial<Behaviour>;
  /** The path to a service profile written by `npx pulumi-cloudinfra probe --out`. `behaviour` takes precedence. @default none */
  readonly like?: string;
  /** The faults that are active from the start. @default none */
  readonly faults?: readonly FaultRule[];
  /** The clock of the emulator, which returns milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** The maximum number of requests in the log. If the log exceeds this number, the older half is dropped. @default 100,000 */
  readonly requestsKept?: number;
  /**
   * Whether to serve a page at `/` that displays objects and requests and injects faults. The page requires no token, so everybody who can
   * reach the emulator can use it.
   * @default false
   */
  readonly page?: boolean;
  /** Called for each request, after its reply was sent or a fault has prevented the reply. @default not called */
  readonly onRequest?: (request: LoggedRequest) => void;
}

const defaultToken = "emulator-token";

/**
 * Starts an emulator, which runs the Cloud Infrastructure Service in memory with its own projects, instances and operations. The emulator
 * serves plain HTTP, and its objects are lost when it stops.
 *
 * @param options port, token, switches and faults
 * @returns the emulator, once it accepts requests. Stop it with {@link Emulator.stop}
 * @throws TypeError if the host or the token is empty, if other machines can reach the host but `token` is not set, or if the profile is
 * invalid
 * @throws the system's error if the port can't be opened, for example EADDRINUSE
 *
 * @example
 * ```ts
 * const emulator = await startEmulator({ behaviour: { operationMs: 50 } });
 * const { id } = emulator.addProject({ name: "shop" });
 * emulator.fail({ kind: "status", status: 503, path: `/v1/projects/${id}`, times: 3 });
 * // … run a program with emulator.endpoint and emulator.token …
 * await emulator.stop();
 * ```
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = "127.0.0.1", token = defaultToken, faults = [] } = options;
  if (host === "") throw new TypeError("the emulator's host must not be empty");
  if (token === "") throw new TypeError("the emulator's token must not be empty");
  if (!isLoopbackAddress(host) && options.token === undefined)
    throw new TypeError(`other machines can reach the emulator at ${host}. Set a token`);
  const stopping = new AbortController();
  const observed = options.like === undefined ? {} : readProfile(options.like);
  const state = new State(
    { ...defaultBehaviour, ...observed, ...options.behaviour },
    options.now ?? Date.now,
  );
  const service: Service = {
    state,
    faults: new Faults(),
    log: new RequestLog(options.requestsKept ?? 100_000),
    firstReplies: new FirstReplies(),
    stopped: stopping.signal,
    onRequest: options.onRequest,
    token,
  };
  for (const rule of faults) service.faults.add(rule);
  const page = options.page ? new EmulatorPage(service, host) : undefined;
  const listener = new Listener(
    (incoming, outgoing) => {
      if (!page?.handle(incoming, outgoing)) void handleRequest(service, incoming, outgoing);
    },
    host,
    options.port ?? 0,
  );
  await listener.open();
  state.url = listener.url;
  return new Controls(service, listener, stopping);
}
