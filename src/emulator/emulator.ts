import { type Behaviour, defaultBehaviour } from "./behaviour";
import { Controls } from "./controls";
import { type FaultHandle, type FaultRule, Faults } from "./faults";
import { FirstReplies } from "./idempotency";
import { Listener } from "./listener";
import type { StoredOperation } from "./operations";
import type { Refusal } from "./problems";
import { type LoggedRequest, RequestLog } from "./request-log";
import type { PlannedFailure } from "./rules";
import { createApp, type Service } from "./server";
import { State, type StoredInstance, type StoredProject } from "./state";

/** How {@link startEmulator} starts the service. */
export interface EmulatorOptions {
  /** Port to listen on. @default a free one */
  readonly port?: number;
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string;
  /** The bearer token it takes (§5). @default "emulator-token" */
  readonly token?: string;
  /** Switches that shall differ from the defaults. @default none */
  readonly behaviour?: Partial<Behaviour>;
  /** The service's clock, in milliseconds since 1970; operations and expiry go by it. @default Date.now */
  readonly now?: () => number;
  /** How many requests the log keeps; beyond, the older half is dropped. @default 100,000 */
  readonly requestsKept?: number;
  /** Told of each request once it is answered (or never will be). @default nobody */
  readonly onRequest?: (request: LoggedRequest) => void;
}

/** A running service, and the hands on it: what others do meanwhile, and what goes wrong. Ids that it does not hold are an Error. */
export interface Emulator {
  /** Origin, as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Base URL, with `/v1`. */
  readonly endpoint: string;
  /** The bearer token that it takes now. */
  readonly token: string;
  /** What the specification leaves open; may be changed at any time. */
  behaviour: Behaviour;
  /** Every request, oldest first, spoiled ones too. */
  readonly requests: readonly LoggedRequest[];
  /** What it holds now, by id. */
  readonly projects: ReadonlyMap<string, StoredProject>;
  /** What it holds now, by id; those being created or deleted too. */
  readonly instances: ReadonlyMap<string, StoredInstance>;
  /** Every operation that was begun, by id. */
  readonly operations: ReadonlyMap<string, StoredOperation>;
  /** Empties {@link Emulator.requests}. */
  clearRequests(): void;
  /** From now on another token is right, and the old one wrong. */
  changeToken(token: string): void;
  /** Somebody else changes fields (or the status) of an instance or project; an instance gets a new revision. */
  edit(id: string, fields: Readonly<Record<string, unknown>>): void;
  /** Only the revision of an instance moves. */
  touch(id: string): void;
  /** Somebody else deletes an instance or project, at once; or the service forgets an operation. */
  remove(id: string): void;
  /** A project made by somebody else. */
  addProject(fields?: Readonly<Record<string, unknown>>): StoredProject;
  /** An instance made by somebody else; without `project`, in the first project, or a new one. */
  addInstance(fields?: Readonly<Record<string, unknown>>): StoredInstance;
  /** Spoils requests to come. */
  fail(rule: FaultRule): FaultHandle;
  /** Makes the next operation (of a kind) fail. */
  failNextOperation(failure?: PlannedFailure): void;
  /** Refuses every body in which `field` has that value: 422, unless `problem` says otherwise. */
  refuse(field: string, value: unknown, problem?: Partial<Refusal>): void;
  /** Refuses every update that changes that field. */
  refuseUpdatesOf(field: string, problem?: Partial<Refusal>): void;
  /** Accepts updates, but leaves that field as it is. */
  ignoreUpdatesOf(field: string): void;
  /** Everything in flight is done (or failed) now. */
  finishOperations(): void;
  /** Refuses connections, and drops those there are, until `resume`, which opens the same port. */
  pause(): Promise<void>;
  /** Takes connections again. */
  resume(): Promise<void>;
  /** Closes the port and drops all connections. */
  stop(): Promise<void>;
}

/**
 * Starts the service of the specification in memory.
 *
 * @param options port, token, behaviour
 * @returns once it listens; to be ended with {@link Emulator.stop}
 * @throws Error the system's, where the port can't be opened (EADDRINUSE); TypeError for an empty token
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { token = "emulator-token" } = options;
  if (token === "") throw new TypeError("the emulator's token must not be empty");
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
  const listener = new Listener(createApp(service), options.host ?? "127.0.0.1", options.port ?? 0);
  await listener.open();
  state.url = listener.url;
  return new Controls(service, listener, stopping);
}
