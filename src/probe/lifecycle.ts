import { v4 as uuidV4 } from "uuid";
import type { Accepted, ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { instanceKind, type Kind, projectKind } from "../model/resource-fields";
import { isSuccess, type Operation } from "../polling/wait";
import { findFresh, readUntil } from "../provider/absence";
import {
  type Context,
  fetchOperation,
  listingContext,
  objectRefOf,
  waitForOperationEnd,
} from "../provider/context";
import { removeObject } from "../provider/delete/confirmed-deletion";
import { isDeleted } from "../provider/lookup/object-getter";
import type { Session } from "../provider/session";
import type { ProbeCreation, ProbeRecord, RecordFile } from "./record";

/** A creation that the service has accepted. */
export interface Started {
  readonly creation: ProbeCreation;
  readonly accepted: Accepted;
}

/** The result of a creation. */
export interface Finished {
  /** The id of the object, or `undefined` if the creation failed or the object can't be found. */
  readonly id: string | undefined;
  /** The operation and the time of the poll that returned its end, if any poll returned it. */
  readonly ended?: { readonly operation: Operation; readonly at: number };
}

type KindName = ProbeCreation["kind"];
const kinds: Readonly<Record<KindName, Kind>> = { project: projectKind, instance: instanceKind };

/** Creates and deletes the objects of a probe. Each creation is recorded on disk before its request is sent. */
export class Lifecycle {
  constructor(
    readonly session: Session,
    private readonly file: RecordFile,
    private record: ProbeRecord,
    private readonly signal: AbortSignal = new AbortController().signal,
  ) {}

  get name(): string {
    return this.record.name;
  }

  /** Returns the id of the project that contains the probe's instances. */
  get projectId(): string | undefined {
    return this.record.project ?? this.record.creations.find(({ kind }) => kind === "project")?.id;
  }

  /** Returns a lifecycle that ignores the signal, for the cleanup after an interruption. */
  uninterrupted(): Lifecycle {
    return new Lifecycle(this.session, this.file, this.record);
  }

  /** Returns the context of a call, which the probe's signal can abort. */
  context(kind: KindName = "instance"): Context {
    return { ...listingContext(kinds[kind], this.session), signal: this.signal };
  }

  /**
   * Sends a creation request.
   *
   * @param options.isRepeat whether an earlier creation has the same key
   * @throws CloudInfraError if the service rejects the request
   */
  async create(
    kind: KindName,
    fields: object,
    { key = uuidV4(), isRepeat = false }: { readonly key?: string; readonly isRepeat?: boolean } = {},
  ): Promise<Started> {
    const creation: ProbeCreation = { kind, key, body: JSON.stringify(fields), isRepeat };
    await this.extend([...this.record.creations, creation]);
    const accepted = await this.send(creation).catch(async (error: unknown) => {
      if (isRejection(error, creation))
        await this.extend(this.record.creations.filter((one) => one !== creation));
      throw error;
    });
    if (accepted.kind === "operation") {
      const { id, url } = accepted.operation;
      await this.note(creation, { operation: { id, url } });
    } else if (accepted.kind === "object") await this.note(creation, { id: accepted.object.id });
    return { creation, accepted };
  }

  /** Waits for the end of a creation, and determines the id of its object. */
  async finish({ creation, accepted }: Started): Promise<Finished> {
    const { operation } = accepted.kind === "operation" ? accepted : {};
    const ended = operation && (await this.end(operation));
    if (ended && !isSuccess(ended)) return { id: undefined };
    const known =
      accepted.kind === "object" ? accepted.object.id : ended && this.session.client.resultId(ended);
    const id = known ?? (await this.newest(creation.kind))?.id;
    if (id !== undefined) await this.note(creation, { id });
    return { id, ...(ended && { ended: { operation: ended, at: this.session.clock.now() } }) };
  }

  /** Waits for the end of an operation. Returns `undefined` if the operation is purged too early. */
  async end(operation: Operation): Promise<Operation | undefined> {
    try {
      return await waitForOperationEnd(this.context(), operation);
    } catch (error) {
      if (isCloudInfraError(error) && error.code === "operation_unknown") return undefined;
      throw error;
    }
  }

  /** Lists the instances of the probe. */
  listed(): Promise<readonly ApiObject[]> {
    return this.named("instance");
  }

  /** Reads a single instance of the probe. */
  reread(id: string): Promise<ApiObject | undefined> {
    return findFresh(this.context(), objectRefOf(instanceKind, id, { project: this.projectId }));
  }

  /** Removes a deleted instance from the record, because a new instance may get the same id. */
  forgetInstance(id: string): Promise<void> {
    return this.extend(this.record.creations.filter((one) => one.kind !== "instance" || one.id !== id));
  }

  /**
   * Deletes everything that the probe has created, and then the record. If the object of a creation is unknown, the request is repeated
   * with the same key to find the object.
   *
   * @returns the objects that remain because the service doesn't support deletion
   * @throws CloudInfraError that lists the objects that may remain. The record is kept, so that `probe --clean` can delete them
   */
  async clean(): Promise<string[]> {
    // If all creations were rejected, the token may not even have the permission to list instances.
    if (this.record.creations.length === 0) return this.file.remove().then(() => []);
    const remains: string[] = [];
    let failure: CloudInfraError | undefined;
    /** Runs a step of the cleanup. An error doesn't stop the cleanup, unless the service can't be reached. */
    const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
      try {
        if (failure === undefined || (failure.status ?? 500) < 500) return await work();
      } catch (error) {
        if (!isCloudInfraError(error)) throw error;
        failure ??= error;
      }
      remains.push(what);
      return undefined;
    };
    const found = { project: new Set<string>(), instance: new Set<string>() };
    for (const creation of this.record.creations) {
      const what = creation.id === undefined ? `${ARTICLES[creation.kind]} named ${this.name}…` : "";
      const id = creation.id ?? (await attempt(what, () => this.findObject(creation)));
      if (id !== undefined) found[creation.kind].add(id);
    }
    const list = (kind: KindName, project?: string): Promise<readonly ApiObject[] | undefined> =>
      attempt(`other ${kind}s named ${this.name}…`, () => this.named(kind, project));
    for (const { id } of (await list("project")) ?? []) found.project.add(id);
    const projects = this.record.project === undefined ? [...found.project] : [this.record.project];
    for (const project of projects)
      for (const { id } of (await list("instance", project)) ?? []) found.instance.add(id);
    for (const kind of ["instance", "project"] as const) {
      const hasRest = kind === "project" && remains.length > 0; // a project with instances can't be deleted
      for (const id of found[kind]) {
        const remove = async (): Promise<boolean> =>
          !hasRest && (await this.remove(kind, id, kind === "instance" ? projects[0] : undefined));
        if ((await attempt(`${kind} ${id}`, remove)) === false) remains.push(`${kind} ${id}`);
      }
    }
    if (failure !== undefined) throw cleaningFailed([...new Set(remains)], failure);
    await this.file.remove();
    return remains;
  }

  /** Adds details to the record of a creation. */
  private note({ body, key }: ProbeCreation, more: Partial<ProbeCreation>): Promise<void> {
    const isSame = (one: ProbeCreation): boolean => one.key === key && one.body === body;
    return this.extend(this.record.creations.map((one) => (isSame(one) ? { ...one, ...more } : one)));
  }

  private async extend(creations: ProbeCreation[]): Promise<void> {
    this.record = { ...this.record, creations };
    await this.file.write(this.record);
  }

  private send({ kind, body, key }: ProbeCreation): Promise<Accepted> {
    return kinds[kind].requests(this.session.client).create(body, key, this.context(kind));
  }

  /** Waits until a list contains an object of the probe that the record doesn't contain. */
  private newest(kind: KindName): Promise<ApiObject | undefined> {
    const isNew = (object: ApiObject): boolean =>
      !isDeleted(object) && !this.record.creations.some((one) => one.kind === kind && one.id === object.id);
    const read = async (): Promise<ApiObject | undefined> => (await this.named(kind)).find(isNew);
    return readUntil(
      this.context(kind),
      read,
      (found) => found !== undefined,
      () => "catching up",
    );
  }

  private async findObject(creation: ProbeCreation): Promise<string | undefined> {
    const { operation } = creation;
    const found = operation && (await fetchOperation(this.context(creation.kind), operation));
    if (found !== undefined) return this.idOf({ kind: "operation", operation: found });
    try {
      return await this.idOf(await this.send(creation));
    } catch (error) {
      // The service may have accepted the request with an earlier token, even if it rejects the current token.
      const { status = 401 } = isCloudInfraError(error) ? error : {};
      if (isRejection(error, creation) && ![...PERMISSION_STATUSES, 429].includes(status)) return undefined;
      throw error;
    }
  }

  private async idOf(accepted: Accepted): Promise<string | undefined> {
    if (accepted.kind === "object") return accepted.object.id;
    if (accepted.kind === "none") return undefined;
    const ended = await this.end(accepted.operation);
    return ended && this.session.client.resultId(ended);
  }

  /**
   * Lists the objects whose names begin with the probe's unique name. A service that ignores idempotency keys may have created several
   * objects, and an operation may not contain the id of its object.
   */
  private async named(
    kind: KindName,
    project: string | undefined = this.projectId,
  ): Promise<readonly ApiObject[]> {
    if (kind === "project" && this.record.project !== undefined) return [];
    const all = await kinds[kind].requests(this.session.client, project).list(this.context(kind));
    return all.filter(({ fields }) => String(fields.name).startsWith(this.record.name));
  }

  /** Deletes an object. Returns `false` if the service doesn't support deletion. */
  private async remove(kind: KindName, id: string, project: string | undefined): Promise<boolean> {
    try {
      await removeObject(this.context(kind), id, project);
      return true;
    } catch (error) {
      if (isCloudInfraError(error) && (error.code === "unsupported" || error.code === "not_found"))
        return false;
      throw error;
    }
  }
}

/** The statuses that a service may return if the token lacks a permission. */
export const PERMISSION_STATUSES: readonly number[] = [401, 403, 404];

const ARTICLES = { project: "a project", instance: "an instance" } as const;

function cleaningFailed(remains: readonly string[], cause: CloudInfraError): CloudInfraError {
  const message = `these objects may remain: ${remains.join(", ")}`;
  const hint = "Fix the cause, and run `npx pulumi-cloudinfra probe --clean`";
  return new CloudInfraError(cause.code, message, { hint, cause });
}

/** Reports whether a creation was rejected. If an earlier creation has the same key, a conflict is also a rejection. */
function isRejection(error: unknown, { isRepeat }: ProbeCreation): boolean {
  if (!isCloudInfraError(error)) return false;
  const { sent, status = 0 } = error;
  return !sent || (isRepeat === true && [400, 409, 422].includes(status));
}
