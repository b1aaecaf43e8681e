import { type Behaviour, defaultBehaviour } from "./behaviour";
import { Controls, type Emulator } from "./controls";
import { type FaultRule, Faults } from "./faults";
import { FirstReplies } from "./idempotency";
import { isLoopback, Listener } from "./listener";
import { type LoggedRequest, RequestLog } from "./request-log";
import { handleRequest, type Service } from "./server";
import { State } from "./state";

/** How {@link startEmulator} starts the service. */
export interface EmulatorOptions {
  /** Port to listen on. @default a free one */
  readonly port?: number;
  /** Address to listen on. An address that other machines can reach requires a `token`. @default "127.0.0.1" */
  readonly host?: string;
  /** The bearer token that it accepts (§5). @default "emulator-token" */
  readonly token?: string;
  /** Switches that differ from the defaults. @default none */
  readonly behaviour?: Partial<Behaviour>;
  /** Faults from the start on. @default none */
  readonly faults?: readonly FaultRule[];
  /** The service's clock, in milliseconds since 1970, for operations and expiry. @default Date.now */
  readonly now?: () => number;
  /** How many requests the log keeps. Beyond that, the older half is dropped. @default 100,000 */
  readonly requestsKept?: number;
  /** Called with each request once it is answered, or never will be. @default none */
  readonly onRequest?: (request: LoggedRequest) => void;
}

const defaultToken = "emulator-token";

/**
 * Starts the service of the specification in memory.
 *
 * @param options port, token, behaviour
 * @returns the service, once it listens; end it with {@link Emulator.stop}
 * @throws Error of the system if the port can't be opened (EADDRINUSE); TypeError for an empty host or token, and for a host
 * that other machines can reach without a token of its own
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = "127.0.0.1", token = defaultToken, faults = [] } = options;
  if (host === "") throw new TypeError("the emulator's host must not be empty");
  if (token === "") throw new TypeError("the emulator's token must not be empty");
  if (!isLoopback(host) && options.token === undefined)
    throw new TypeError(`other machines can reach the emulator at ${host}: set a token`);
  const stopping = new AbortController();
  const state = new State({ ...defaultBehaviour, ...options.behaviour }, options.now ?? Date.now);
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
  const listener = new Listener(
    (incoming, outgoing) => void handleRequest(service, incoming, outgoing),
    host,
    options.port ?? 0,
  );
  await listener.open();
  state.url = listener.url;
  return new Controls(service, listener, stopping);
}
