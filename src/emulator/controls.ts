import type { Behaviour } from "./behaviour";
import type { FaultHandle, FaultRule } from "./faults";
import { assignAddress, newInstance } from "./instances";
import type { Listener } from "./listener";
import type { StoredOperation } from "./operation-queue";
import { finishOperations, settleOperations } from "./operations";
import type { Refusal } from "./problems";
import type { LoggedRequest } from "./request-log";
import type { PlannedFailure } from "./rules";
import type { Service } from "./server";
import type { State, StoredInstance, StoredProject } from "./state";

type Fields = Readonly<Record<string, unknown>>;

/** Controls a running service. Before it shows or changes objects, it ends the operations whose time has come. */
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
    return this.settled().projects.byId;
  }

  get instances(): ReadonlyMap<string, StoredInstance> {
    return this.settled().instances.byId;
  }

  get operations(): ReadonlyMap<string, StoredOperation> {
    return this.settled().operations.byId;
  }

  clearRequests(): void {
    this.service.log.clear();
  }

  changeToken(token: string): void {
    if (token === "") throw new TypeError("the emulator's token must not be empty");
    this.service.token = token;
  }

  edit(id: string, fields: Fields, kind = this.kindOf(id)): void {
    const state = this.settled();
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
    const state = this.settled();
    const instance = instanceOf(state, id);
    instance.revision = state.newRevision();
    state.instances.changed(instance);
  }

  remove(id: string, kind = this.kindOf(id)): void {
    const { projects, instances, operations } = this.settled();
    const removed = {
      project: () => projects.remove(id),
      instance: () => instances.remove(id),
      operation: () => operations.byId.delete(id),
    }[kind]();
    if (!removed) throw unknown(id);
  }

  addProject(fields: Fields = {}): StoredProject {
    const state = this.settled();
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
    const state = this.settled();
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
    const { state } = this.service;
    finishOperations(state);
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

  private settled(): State {
    const { state } = this.service;
    settleOperations(state);
    return state;
  }

  /** The one kind of object that has this id. */
  private kindOf(id: string): ObjectKind {
    const { projects, instances, operations } = this.settled();
    const kinds: ObjectKind[] = [
      ...(projects.byId.has(id) ? ["project" as const] : []),
      ...(instances.byId.has(id) ? ["instance" as const] : []),
      ...(operations.byId.has(id) ? ["operation" as const] : []),
    ];
    const [kind, other] = kinds;
    if (kind === undefined) throw unknown(id);
    if (other !== undefined)
      throw new Error(`"${id}" is the id of a ${kind} and of an ${other}: name the kind`);
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
