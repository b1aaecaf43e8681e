import type { Behaviour } from "./behaviour";
import type { FaultHandle, FaultRule } from "./faults";
import { assignAddress, newInstance } from "./instances";
import type { StoredOperation } from "./operation-queue";
import { finishDueOperations, finishOperations } from "./operations";
import type { Refusal } from "./problems";
import type { PlannedFailure } from "./rules";
import type { Listener, LoggedRequest, Service } from "./server";
import type { State, StoredInstance, StoredProject } from "./state";

const OBJECT_KINDS: readonly ObjectKind[] = ["project", "instance", "operation"];
type Fields = Readonly<Record<string, unknown>>;

/** Implements {@link Emulator}. Each method first ends all operations that are due. */
export class Controls implements Emulator {
  constructor(
    private readonly service: Service,
    private readonly listener: Listener,
    private readonly stopping: AbortController,
  ) {}

  get url(): string {
    return this.service.state.url;
  }

  get endpoint(): string {
    return `${this.url}/v1`;
  }

  get token(): string {
    return this.service.token;
  }

  get behaviour(): Behaviour {
    return this.service.state.behaviour;
  }

  set behaviour(behaviour: Behaviour) {
    this.service.state.behaviour = behaviour;
  }

  get requests(): readonly LoggedRequest[] {
    return this.service.log.entries;
  }

  get projects(): ReadonlyMap<string, StoredProject> {
    return this.currentState().projects.byId;
  }

  get instances(): ReadonlyMap<string, StoredInstance> {
    return this.currentState().instances.byId;
  }

  get operations(): ReadonlyMap<string, StoredOperation> {
    return this.currentState().operations.byId;
  }

  clearRequests(): void {
    this.service.log.clear();
  }

  changeToken(token: string): void {
    if (token === "") throw new TypeError("the emulator's token must not be empty");
    this.service.token = token;
  }

  edit(id: string, fields: Fields, kind = this.kindOf(id)): void {
    const state = this.currentState();
    const project = kind === "project" ? state.projects.byId.get(id) : undefined;
    if (project !== undefined) {
      Object.assign(project.fields, fields);
      state.projects.changed(project);
      return;
    }
    const instance = instanceOf(state, id);
    const { status = instance.status, ...others } = fields;
    instance.status = String(status);
    instance.fields = { ...instance.fields, ...others };
    if ("public_ip" in others) assignAddress(state, instance);
    state.changed(instance, state.now());
  }

  touch(id: string): void {
    const state = this.currentState();
    const instance = instanceOf(state, id);
    instance.revision = state.newRevision();
    state.instances.changed(instance);
  }

  remove(id: string, kind = this.kindOf(id)): void {
    const { projects, instances, operations } = this.currentState();
    const isRemoved =
      kind === "operation"
        ? operations.byId.delete(id)
        : (kind === "project" ? projects : instances).remove(id);
    if (!isRemoved) throw unknown(id);
  }

  addProject(fields: Fields = {}): StoredProject {
    const state = this.currentState();
    const id = state.newId("project", fields.name);
    const project = {
      id,
      createdAt: state.now(),
      fields: { name: id, region: "eu-1", description: "", ...fields },
    };
    state.projects.add(project);
    return project;
  }

  addInstance(fields: Fields = {}): StoredInstance {
    const state = this.currentState();
    const { status = state.behaviour.statusAfterCreate, project, ...others } = fields;
    const [first] = state.projects.byId.keys();
    const instance = newInstance(state, {
      project: project ?? first ?? this.addProject().id,
      name: "foreign",
      image: "debian-13",
      flavor: "m1.small",
      network: "default",
      ssh_keys: [],
      labels: {},
      ...others,
    });
    instance.status = String(status);
    assignAddress(state, instance);
    state.instances.add(instance);
    return instance;
  }

  fail(rule: FaultRule): FaultHandle {
    return this.service.faults.add(rule);
  }

  failNextOperation(failure: PlannedFailure = {}): void {
    this.service.state.rules.failNext(failure);
  }

  refuse(field: string, value: unknown, problem: Partial<Refusal> = {}): void {
    this.service.state.rules.refuse(field, value, problem);
  }

  refuseUpdatesOf(field: string, problem: Partial<Refusal> = {}): void {
    this.service.state.rules.refuseUpdatesOf(field, problem);
  }

  ignoreUpdatesOf(field: string): void {
    this.service.state.rules.ignoreUpdatesOf(field);
  }

  finishOperations(): void {
    finishOperations(this.service.state);
  }

  pause(): Promise<void> {
    return this.listener.close();
  }

  resume(): Promise<void> {
    return this.listener.open();
  }

  stop(): Promise<void> {
    this.stopping.abort();
    return this.listener.close();
  }

  private currentState(): State {
    const { state } = this.service;
    finishDueOperations(state);
    return state;
  }

  /** Returns the kind of the object that has the id. Throws an error if no object, or more than one, has the id. */
  private kindOf(id: string): ObjectKind {
    const state = this.currentState();
    const kinds = OBJECT_KINDS.filter((kind) => state[`${kind}s`].byId.has(id));
    const [kind, other] = kinds;
    if (kind === undefined) throw unknown(id);
    if (other !== undefined)
      throw new Error(
        `"${id}" is the id of a ${kind} and of an ${other}. Pass the kind as the last argument`,
      );
    return kind;
  }
}

function instanceOf(state: State, id: string): StoredInstance {
  const instance = state.instances.byId.get(id);
  if (instance === undefined) throw unknown(id);
  return instance;
}

function unknown(id: string): Error {
  return new Error(`the emulator has no object "${id}"`);
}

/** A kind of object. Specify the kind if objects of different kinds may have the same id. */
export type ObjectKind = "project" | "instance" | "operation";

/**
 * A running emulator, with methods that change objects and make requests and operations fail. Field names are those of the specification,
 * such as `public_ip`. Methods that take an id throw an Error if no object has the id.
 */
export interface Emulator {
  /** The origin of the service, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** The value for the setting `cloudinfra:endpoint`: the origin followed by `/v1`. */
  readonly endpoint: string;
  /** The bearer token that is currently valid, for the setting `cloudinfra:token`. */
  readonly token: string;
  /** The switches of the emulator. You can change them at any time. */
  behaviour: Behaviour;
  /** All requests, oldest first, including those that faults affected. */
  readonly requests: readonly LoggedRequest[];
  /** All projects by id. */
  readonly projects: ReadonlyMap<string, StoredProject>;
  /** All instances by id, including those that are being created or deleted. */
  readonly instances: ReadonlyMap<string, StoredInstance>;
  /** All operations by id, including those that have ended. */
  readonly operations: ReadonlyMap<string, StoredOperation>;
  /** Empties {@link Emulator.requests}. */
  clearRequests(): void;
  /** Replaces the token. Requests with the old token are rejected with 401. @throws TypeError if the token is empty */
  changeToken(token: string): void;
  /** Changes fields of a project or an instance, or the `status` of an instance. An instance gets a new revision. */
  edit(id: string, fields: Readonly<Record<string, unknown>>, kind?: ObjectKind): void;
  /** Changes the revision of an instance, and nothing else. */
  touch(id: string): void;
  /** Deletes a project or instance immediately, without an operation, or removes an operation. */
  remove(id: string, kind?: ObjectKind): void;
  /** Creates a project. @param fields fields to set @default the id as its name, in the region `eu-1` */
  addProject(fields?: Readonly<Record<string, unknown>>): StoredProject;
  /** Creates an instance. @param fields fields to set @default a running instance in the first project, or in a new one */
  addInstance(fields?: Readonly<Record<string, unknown>>): StoredInstance;
  /** Starts a fault, which affects the next requests that match. */
  fail(rule: FaultRule): FaultHandle;
  /** Makes the next operation fail. @param failure which operation fails, and how @default any, at half its progress */
  failNextOperation(failure?: PlannedFailure): void;
  /** Rejects every request body in which a field has the given value. @param problem changes to the rejection @default status 422 */
  refuse(field: string, value: unknown, problem?: Partial<Refusal>): void;
  /** Rejects every update that changes a field. @param problem changes to the rejection @default status 422 */
  refuseUpdatesOf(field: string, problem?: Partial<Refusal>): void;
  /** Accepts updates of a field, but doesn't change the value of the field. */
  ignoreUpdatesOf(field: string): void;
  /** Ends all running operations. Operations with a planned failure fail. */
  finishOperations(): void;
  /** Closes the port and all connections until {@link Emulator.resume} is called. */
  pause(): Promise<void>;
  /** Opens the same port again. */
  resume(): Promise<void>;
  /** Stops the emulator: closes the port and all connections. */
  stop(): Promise<void>;
}
