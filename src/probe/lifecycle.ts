import { v4 as uuidV4 } from "uuid";
import type { Accepted, ApiObject } from "../api/client";
import type { Observer } from "../api/request";
import type { WireReply, WireRequest } from "../api/transport";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { instanceKind, type Kind, projectKind } from "../model/kinds";
import { isSuccess, type Operation } from "../polling/wait";
import { findCreated, findFresh } from "../provider/absence";
import {
  type Context,
  fetchOperation,
  listingContext,
  objectRefOf,
  waitForOperationEnd,
} from "../provider/context";
import { removeObject } from "../provider/remove-object";
import type { Session } from "../provider/session";
import type { ProbeCreation, ProbeRecord, RecordFile } from "./record";

/** One request of the client and its reply. */
export interface Exchange {
  readonly request: WireRequest;
  readonly reply: WireReply;
  /** The JSON of the reply, if it is an object. Otherwise, an empty object. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Collects the exchanges of a client. */
export class Exchanges {
  readonly all: Exchange[] = [];

  readonly observe: Observer = (request, attempt) => {
    if (attempt.kind !== "reply") return;
    const { body } = attempt.reply;
    const value: unknown = body.kind === "json" ? body.value : undefined;
    const json = typeof value === "object" && value !== null ? { ...value } : {};
    this.all.push({ request, reply: attempt.reply, json });
  };

  /** Returns the last exchange with this method. */
  last(method: WireRequest["method"]): Exchange {
    const found = this.all.findLast(({ request }) => request.method === method);
    if (found === undefined) throw new Error(`no ${method} was sent`);
    return found;
  }
}

/** Creates the objects of a probe, and deletes them. Everything is recorded before it is requested. */
export class Lifecycle {
  constructor(
    readonly session: Session,
    private readonly file: RecordFile,
    private record: ProbeRecord,
    private readonly signal: AbortSignal = new AbortController().signal,
  ) {}

  /** Name of the probe's instance. */
  get name(): string {
    return this.record.name;
  }

  /** Returns the same lifecycle without the signal, for cleaning up after an interruption. */
  uninterrupted(): Lifecycle {
    return new Lifecycle(this.session, this.file, this.record);
  }

  /** The context of a call. It ends with the probe's signal. */
  context(kind: Kind): Context {
    return { ...listingContext(kind, this.session), signal: this.signal };
  }

  /**
   * Sends a creation request.
   *
   * @param repeatedKey another creation's key to use again. @default a new key
   * @returns the reply, and a function that waits for the object
   * @throws CloudInfraError if the service rejects the request
   */
  async create(
    kind: ProbeCreation["kind"],
    fields: object,
    repeatedKey?: string,
  ): Promise<{
    readonly key: string;
    readonly accepted: Accepted;
    readonly created: () => Promise<ApiObject>;
  }> {
    const key = repeatedKey ?? uuidV4();
    const isRepeat = repeatedKey !== undefined;
    const creation: ProbeCreation = { kind, key, body: JSON.stringify(fields), isRepeat };
    await this.extend([...this.record.creations, creation]);
    const accepted = await this.send(creation);
    if (accepted.kind === "operation") {
      const { id, url } = accepted.operation;
      await this.note(creation, { operation: { id, url } });
    } else if (accepted.kind === "object") await this.note(creation, { id: accepted.object.id });
    return { key, accepted, created: () => this.created(creation, accepted) };
  }

  /** Adds to the record of a creation. */
  private note({ body, key }: ProbeCreation, more: Partial<ProbeCreation>): Promise<void> {
    const isSame = (one: ProbeCreation): boolean => one.key === key && one.body === body;
    return this.extend(this.record.creations.map((one) => (isSame(one) ? { ...one, ...more } : one)));
  }

  private async extend(creations: ProbeCreation[]): Promise<void> {
    this.record = { ...this.record, creations };
    await this.file.write(this.record);
  }

  private send({ kind, body, key }: ProbeCreation): Promise<Accepted> {
    const { projects, instances } = this.session.client;
    const isProject = kind === "project";
    return (isProject ? projects : instances).create(
      body,
      key,
      this.context(isProject ? projectKind : instanceKind),
    );
  }

  private async created(creation: ProbeCreation, accepted: Accepted): Promise<ApiObject> {
    const kind = creation.kind === "project" ? projectKind : instanceKind;
    const context = this.context(kind);
    const id = (await this.idOf(context, accepted)) ?? (await this.named(creation.kind))[0]?.id;
    if (id === undefined) throw new CloudInfraError("no_result", "the creation doesn't identify its object");
    await this.note(creation, { id });
    const { project } = parsedBody(creation);
    const found = await findCreated(context, objectRefOf(kind, id, { project }));
    if (found !== undefined) return found;
    throw new CloudInfraError("not_found", `the service shows no ${kind.name} ${id}, which it has created`);
  }

  private async idOf(context: Context, accepted: Accepted): Promise<string | undefined> {
    if (accepted.kind === "object") return accepted.object.id;
    if (accepted.kind === "none") return undefined;
    const ended = await waitForOperationEnd(context, accepted.operation);
    return isSuccess(ended) || ended.resource !== undefined ? this.session.client.resultId(ended) : undefined;
  }

  /** Waits for the operation of a reply, if it has one. */
  async ended(accepted: Accepted): Promise<Operation | undefined> {
    if (accepted.kind !== "operation") return undefined;
    return waitForOperationEnd(this.context(instanceKind), accepted.operation);
  }

  /** Returns the id of the project of the probe's instances. */
  get projectId(): string | undefined {
    return this.record.project ?? this.record.creations.find(({ kind }) => kind === "project")?.id;
  }

  /**
   * Deletes everything that the probe has created, and the record. A creation without a known object is sent again with its key, which leads
   * to its object.
   *
   * @returns what remains because the service doesn't support deletion
   * @throws CloudInfraError if an object may remain. The record stays, so that `probe --clean` can finish the work
   */
  async clean(): Promise<string[]> {
    const found = { project: new Set<string>(), instance: new Set<string>() };
    for (const creation of this.record.creations) {
      const id = creation.id ?? (await this.findObject(creation));
      if (id !== undefined) found[creation.kind].add(id);
    }
    for (const { id } of await this.named("project")) found.project.add(id);
    const projects = this.record.project === undefined ? [...found.project] : [this.record.project];
    for (const project of projects)
      for (const { id } of await this.named("instance", project)) found.instance.add(id);
    const remains: string[] = [];
    for (const id of found.instance)
      if (!(await this.remove(instanceKind, id, projects[0]))) remains.push(`instance ${id}`);
    const isEmpty = remains.length === 0; // a project with instances can't be deleted
    for (const id of found.project)
      if (!isEmpty || !(await this.remove(projectKind, id, undefined))) remains.push(`project ${id}`);
    await this.file.remove();
    return remains;
  }

  private async findObject(creation: ProbeCreation): Promise<string | undefined> {
    const context = this.context(creation.kind === "project" ? projectKind : instanceKind);
    const { operation, isRepeat } = creation;
    const found = operation && (await fetchOperation(context, operation));
    if (found !== undefined) return this.idOf(context, { kind: "operation", operation: found });
    if (isRepeat) return undefined;
    try {
      return await this.idOf(context, await this.send(creation));
    } catch (error) {
      if (isCloudInfraError(error) && !error.sent) return undefined; // rejected
      throw error;
    }
  }

  /**
   * Lists the objects with the probe's name, which no other object has. A service may create several of them if it ignores idempotency keys,
   * and an operation may not contain the id of its object.
   */
  private async named(
    kind: ProbeCreation["kind"],
    project: string | undefined = this.projectId,
  ): Promise<readonly ApiObject[]> {
    const { projects, instances } = this.session.client;
    if (kind === "project" && this.record.project !== undefined) return [];
    const all =
      kind === "project"
        ? await projects.list(this.context(projectKind))
        : await instances.list({ project }, this.context(instanceKind));
    return all.filter(({ fields }) => String(fields.name).startsWith(this.record.name));
  }

  /** Reads an instance of the probe. */
  reread(id: string): Promise<ApiObject | undefined> {
    return findFresh(this.context(instanceKind), objectRefOf(instanceKind, id, { project: this.projectId }));
  }

  /** Deletes an instance of the probe. @returns whether the instance is deleted. Otherwise, the service doesn't support deletion */
  removeInstance(id: string): Promise<boolean> {
    return this.remove(instanceKind, id, this.projectId);
  }

  /** @returns whether the object is deleted. Otherwise, the service doesn't support deletion */
  private async remove(kind: Kind, id: string, project: string | undefined): Promise<boolean> {
    try {
      await removeObject(this.context(kind), id, project);
      return true;
    } catch (error) {
      if (isCloudInfraError(error) && error.code === "unsupported") return false;
      throw error;
    }
  }
}

function parsedBody({ body }: ProbeCreation): { project?: string } {
  const { project }: { project?: unknown } = JSON.parse(body);
  return typeof project === "string" ? { project } : {};
}
