import type { Behaviour } from "./behaviour";
import type { Emulator } from "./emulator";
import type { FaultHandle, FaultRule } from "./faults";
import { assignAddress, newInstance } from "./instances";
import type { Listener } from "./listener";
import type { StoredOperation } from "./operations";
import type { Refusal } from "./problems";
import type { LoggedRequest } from "./request-log";
import type { PlannedFailure } from "./rules";
import type { Service } from "./server";
import type { State, StoredInstance, StoredProject } from "./state";

type Fields = Readonly<Record<string, unknown>>;

/** The hands on a running service. Whatever looks at its objects sees operations ended whose time has come. */
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

  edit(id: string, fields: Fields): void {
    const state = this.settled();
    const project = state.projects.byId.get(id);
    if (project !== undefined) {
      Object.assign(project.fields, fields);
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
    const instance = instanceOf(this.settled(), id);
    instance.revision = this.service.state.newRevision();
  }

  remove(id: string): void {
    const { projects, instances, operations } = this.settled();
    if (!projects.remove(id) && !instances.remove(id) && !operations.byId.delete(id)) throw unknown(id);
  }

  addProject(fields: Fields = {}): StoredProject {
    const state = this.settled();
    const id = state.newId("prj");
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
    const { operations, now } = this.service.state;
    operations.finish(now());
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
    state.operations.settle(state.now());
    return state;
  }
}

function instanceOf(state: State, id: string): StoredInstance {
  const instance = state.instances.byId.get(id);
  if (instance === undefined) throw unknown(id);
  return instance;
}

function unknown(id: string): Error {
  return new Error(`the emulator holds no object "${id}"`);
}
