import { type Behaviour, defaultBehaviour } from "./behaviour";
import { Controls } from "./controls";
import { type FaultHandle, type FaultRule, Faults } from "./faults";
import { FirstReplies } from "./idempotency";
import { isLoopback, Listener } from "./listener";
import type { StoredOperation } from "./operations";
import type { Refusal } from "./problems";
import { type LoggedRequest, RequestLog } from "./request-log";
import type { PlannedFailure } from "./rules";
import { handleRequest, type Service } from "./server";
import { State, type StoredInstance, type StoredProject } from "./state";

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

/** A kind of object, for ids that are unique per kind only. */
export type ObjectKind = "project" | "instance" | "operation";

/** A running service, with methods that act as other users do, and methods that cause faults. Unknown ids are an Error. */
export interface Emulator {
  /** Origin, for example `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Base URL, with `/v1`. */
  readonly endpoint: string;
  /** The bearer token that it accepts now. */
  readonly token: string;
  /** What the specification leaves open. You can change it at any time. */
  behaviour: Behaviour;
  /** Every request, oldest first, including those that went wrong. */
  readonly requests: readonly LoggedRequest[];
  /** All projects, by id. */
  readonly projects: ReadonlyMap<string, StoredProject>;
  /** All instances, by id, including those that are being created or deleted, without those that were deleted. */
  readonly instances: ReadonlyMap<string, StoredInstance>;
  /** Every operation that was started, by id, including those that were purged. */
  readonly operations: ReadonlyMap<string, StoredOperation>;
  /** Empties {@link Emulator.requests}. */
  clearRequests(): void;
  /** Replaces the token; the old one is rejected from now on. */
  changeToken(token: string): void;
  /** Changes fields (or the status) of an instance or project as another user does. An instance gets a new revision. */
  edit(id: string, fields: Readonly<Record<string, unknown>>, kind?: ObjectKind): void;
  /** Changes only the revision of an instance. */
  touch(id: string): void;
  /** Deletes an instance or project at once as another user does, or forgets an operation. */
  remove(id: string, kind?: ObjectKind): void;
  /** Creates a project as another user does. */
  addProject(fields?: Readonly<Record<string, unknown>>): StoredProject;
  /** Creates an instance as another user does; without `project`, in the first project or a new one. */
  addInstance(fields?: Readonly<Record<string, unknown>>): StoredInstance;
  /** Makes requests go wrong. */
  fail(rule: FaultRule): FaultHandle;
  /** Makes the next operation (of a kind) fail. */
  failNextOperation(failure?: PlannedFailure): void;
  /** Rejects every body in which `field` has that value, with 422 unless `problem` says otherwise. */
  refuse(field: string, value: unknown, problem?: Partial<Refusal>): void;
  /** Rejects every update that changes that field. */
  refuseUpdatesOf(field: string, problem?: Partial<Refusal>): void;
  /** Accepts updates, but leaves that field unchanged. */
  ignoreUpdatesOf(field: string): void;
  /** Ends every operation in flight: it is done, or fails as planned. */
  finishOperations(): void;
  /** Closes the port and drops all connections, until `resume`. */
  pause(): Promise<void>;
  /** Opens the same port again. */
  resume(): Promise<void>;
  /** Closes the port and drops all connections. */
  stop(): Promise<void>;
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
