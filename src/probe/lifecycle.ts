import { hash } from "node:crypto";
import path from "node:path";
import { v4 as uuidV4 } from "uuid";
import * as v from "valibot";
import type { Accepted, ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { Files } from "../journal/disk";
import { plainCharacters } from "../model/names";
import { instanceKind, type Kind, projectKind } from "../model/resource-fields";
import { isSuccess, type Operation } from "../polling/wait";
import { findNamedByOperation, findWithRevision, readUntil } from "../provider/absence";
import {
  type Context,
  fetchOperation,
  listingContext,
  objectRefOf,
  type Session,
  waitForOperationEnd,
} from "../provider/context";
import { removeObject } from "../provider/delete/confirmed-deletion";
import { isDeleted } from "../provider/lookup/object-getter";

const creation = v.object({
  kind: v.picklist(["project", "instance"]),
  key: v.string(),
  /** The exact string that is sent as the body. */
  body: v.string(),
  /** Whether an earlier creation has the same key. In that case, a conflict on the key means that this creation was rejected. */
  isRepeat: v.optional(v.boolean()),
  operation: v.optional(v.object({ id: v.string(), url: v.string() })),
  id: v.optional(v.string()),
  /** Whether a cleanup has deleted the object. The service may have reused its id since then. */
  isRemoved: v.optional(v.boolean()),
});

const record = v.object({
  endpoint: v.string(),
  /** The unique prefix of the names of the probe's objects. */
  name: v.string(),
  /** The id of an existing project for the instances. Without this id, the probe creates a project. */
  project: v.optional(v.string()),
  creations: v.array(creation),
});

type ProbeCreation = v.InferOutput<typeof creation>;

export type ProbeRecord = v.InferOutput<typeof record>;

/** The record file of a probe. The file exists as long as the service may still contain an object of the probe. */
export class RecordFile {
  private readonly files = new Files();
  private readonly path: string;

  constructor(folder: string, endpoint: string) {
    this.path = path.join(folder, `${hash("sha256", endpoint).slice(0, 12)}.probe`);
  }

  /** @throws CloudInfraError `input_invalid` if the record can't be read or is damaged */
  async read(): Promise<ProbeRecord | undefined> {
    const text = await this.files.read(this.path).catch(this.unusable("can't be read"));
    const parsed = parseRecord(text ?? "");
    return text !== undefined && parsed === undefined ? this.unusable("is damaged")() : parsed;
  }

  /** @throws CloudInfraError `input_invalid` if the record can't be written, or `conflict` if there is a record of another probe */
  async write(content: ProbeRecord): Promise<void> {
    const isOwn = (text: string): boolean => parseRecord(text)?.name === content.name;
    const writing = this.files.write(this.path, JSON.stringify(content), isOwn);
    if ((await writing.catch(this.unusable("can't be written"))) !== undefined) throw notCleanedUp();
  }

  async remove(): Promise<void> {
    await this.files.remove(this.path);
  }

  private unusable(why: string): (cause?: unknown) => never {
    return (cause) => {
      throw new CloudInfraError("input_invalid", `the record of the probe, ${this.path}, ${why}`, {
        hint: "Make the folder writable, or set cloudinfra:journalDir to another one",
        cause,
      });
    };
  }
}

function parseRecord(text: string): ProbeRecord | undefined {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), record), text);
  return parsed.success ? parsed.output : undefined;
}

/** The record of a probe belongs to one service, so the command needs the same provider. */
export const CLEAN_COMMAND =
  "`npx pulumi-cloudinfra probe --clean` (with the same --stack, --provider and --cwd)";

export function notCleanedUp(): CloudInfraError {
  return new CloudInfraError("conflict", "an earlier probe may have left objects at the service", {
    hint: `If no other probe is running, run ${CLEAN_COMMAND} to delete them`,
  });
}

export type Started = Awaited<ReturnType<Lifecycle["create"]>>;

/** An operation that has ended, and the time of the poll that returned its end. */
export interface Ended {
  readonly operation: Operation;
  readonly at: number;
}

type KindName = ProbeCreation["kind"];
const kinds: Readonly<Record<KindName, Kind>> = { project: projectKind, instance: instanceKind };

/** The statuses that a service may return if the token lacks a permission. */
export const PERMISSION_STATUSES: readonly number[] = [401, 403, 404];

/** Creates and deletes the objects of a probe. Each creation is recorded on disk before its request is sent. */
export class Lifecycle {
  constructor(
    readonly session: Session,
    private readonly file: RecordFile,
    private record: ProbeRecord,
    private signal?: AbortSignal | undefined,
  ) {}

  get name(): string {
    return this.record.name;
  }

  get projectId(): string | undefined {
    return this.record.project ?? this.record.creations.find(({ kind }) => kind === "project")?.id;
  }

  /** Returns the context of a call, which the probe's signal can abort. */
  context(kind: KindName = "instance"): Context {
    return { ...listingContext(kinds[kind], this.session), ...(this.signal && { signal: this.signal }) };
  }

  /** @throws CloudInfraError if the service rejects the request */
  async create(
    kind: KindName,
    fields: object,
    { key = uuidV4(), isRepeat = false }: { readonly key?: string; readonly isRepeat?: boolean } = {},
  ) {
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

  /** Waits for the end of a creation, and finds its object. Returns no id if the creation failed, or if the object can't be found */
  async finish({ creation, accepted }: Started) {
    const { id: known, operation } = await this.outcome(accepted);
    if (operation && !isSuccess(operation)) return {};
    const id = known ?? (await this.newest(creation.kind))?.id;
    if (id !== undefined) await this.note(creation, { id });
    const ended: Ended | undefined = operation && { operation, at: this.session.clock.now() };
    return { id, ended };
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

  /** Lists the objects of the probe by their names, because ignored keys may have created several, and operations may lack an id. */
  async list(kind: KindName = "instance", project = this.projectId): Promise<readonly ApiObject[]> {
    if (kind === "project" && this.record.project !== undefined) return [];
    const all = await kinds[kind].requests(this.session.client, project).list(this.context(kind));
    return all.filter((object) => this.hasName(object));
  }

  private hasName({ fields: { name } }: ApiObject): boolean {
    return plainCharacters(name).includes(plainCharacters(this.record.name));
  }

  reread(id: string): Promise<ApiObject | undefined> {
    return findWithRevision(this.context(), objectRefOf(instanceKind, id, { project: this.projectId }));
  }

  /** Removes a deleted instance from the record, because a new instance may get the same id. */
  forgetInstance(id: string): Promise<void> {
    return this.extend(this.record.creations.filter((one) => one.kind !== "instance" || one.id !== id));
  }

  /**
   * Deletes everything that the probe has created, and then the record, even after an interruption. If the object of a creation is unknown,
   * the request is repeated with the same key to find the object.
   *
   * @returns the objects that remain because the service doesn't support deletion
   * @throws CloudInfraError that lists the objects that may remain. The record is kept, so that `probe --clean` can delete them
   */
  async clean(): Promise<string[]> {
    const { creations, name, project: given } = this.record;
    this.signal = undefined;
    // If all creations were rejected, the token may not even have the permission to list instances.
    if (creations.length === 0) return this.file.remove().then(() => []);
    const remains = new Set<string>();
    let failure: CloudInfraError | undefined;
    /** Runs a step of the cleanup. An error doesn't stop the cleanup, unless the service can't be reached. */
    const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
      try {
        if (failure === undefined || (failure.status ?? 500) < 500) return await work();
      } catch (error) {
        if (!isCloudInfraError(error)) throw error;
        failure ??= error;
      }
      remains.add(what);
      return undefined;
    };
    const found = { project: new Set<string>(), instance: new Set<string>() };
    for (const creation of creations) {
      const what = `${creation.kind === "project" ? "a project" : "an instance"} named ${name}…`;
      if (creation.isRemoved) continue;
      const id = creation.id ?? (await attempt(what, () => this.findObject(creation)));
      if (id === undefined) continue;
      found[creation.kind].add(id);
      if (creation.id === undefined) await this.note(creation, { id }).catch(continueCleanup);
    }
    const findOthers = async (kind: KindName, project?: string): Promise<void> => {
      const others = await attempt(`other ${kind}s named ${name}…`, () => this.list(kind, project));
      for (const { id } of others ?? []) found[kind].add(id);
    };
    await findOthers("project");
    const projects = given === undefined ? [...found.project] : [given];
    for (const project of projects) await findOthers("instance", project);
    for (const kind of ["instance", "project"] as const) {
      const hasRest = kind === "project" && remains.size > 0; // a project with instances can't be deleted
      for (const id of found[kind]) {
        const place = kind === "instance" ? projects[0] : undefined;
        const remove = async (): Promise<boolean> => !hasRest && (await this.remove(kind, id, place));
        if (!(await attempt(`${kind} ${id}`, remove))) remains.add(`${kind} ${id}`);
        else await this.noteRemoved(kind, id).catch(continueCleanup);
      }
    }
    if (failure !== undefined) {
      const message = `these objects may remain: ${[...remains].join(", ")}`;
      const hint = `Fix the cause, and run ${CLEAN_COMMAND}`;
      throw new CloudInfraError(failure.code, message, { hint, cause: failure });
    }
    await this.file.remove();
    return [...remains];
  }

  private note({ body, key }: ProbeCreation, more: Partial<ProbeCreation>): Promise<void> {
    const isSame = (one: ProbeCreation): boolean => one.key === key && one.body === body;
    return this.extend(this.record.creations.map((one) => (isSame(one) ? { ...one, ...more } : one)));
  }

  private noteRemoved(kind: KindName, id: string): Promise<void> {
    const isOf = (one: ProbeCreation): boolean => one.kind === kind && one.id === id;
    return this.extend(this.record.creations.map((one) => (isOf(one) ? { ...one, isRemoved: true } : one)));
  }

  private async extend(creations: ProbeCreation[]): Promise<void> {
    const record = { ...this.record, creations };
    await this.file.write(record);
    this.record = record;
  }

  private send({ kind, body, key }: ProbeCreation): Promise<Accepted> {
    return kinds[kind].requests(this.session.client).create(body, key, this.context(kind));
  }

  /** Waits until a list contains an object of the probe that the record doesn't contain. */
  private newest(kind: KindName): Promise<ApiObject | undefined> {
    const isNew = (object: ApiObject): boolean =>
      !isDeleted(object) && !this.record.creations.some((one) => one.kind === kind && one.id === object.id);
    const read = async (): Promise<ApiObject | undefined> => (await this.list(kind)).find(isNew);
    return readUntil(this.context(kind), read, Boolean, () => "catching up");
  }

  private async findObject(creation: ProbeCreation): Promise<string | undefined> {
    const { operation } = creation;
    const found = operation && (await fetchOperation(this.context(creation.kind), operation));
    if (found !== undefined) return (await this.outcome({ kind: "operation", operation: found })).id;
    try {
      return (await this.outcome(await this.send(creation))).id;
    } catch (error) {
      // The service may have accepted the request with an earlier token, even if it rejects the current token.
      const { status = 401 } = isCloudInfraError(error) ? error : {};
      if (isRejection(error, creation) && ![...PERMISSION_STATUSES, 429].includes(status)) return undefined;
      throw error;
    }
  }

  private async outcome(accepted: Accepted): Promise<{ id?: string | undefined; operation?: Operation }> {
    if (accepted.kind === "object") return { id: accepted.object.id };
    const operation = accepted.kind === "operation" ? await this.end(accepted.operation) : undefined;
    return operation === undefined ? {} : { id: this.session.client.resultId(operation), operation };
  }

  /**
   * Deletes an object, unless its name shows that the service has reused the id for an object of another user. Returns `false` if the object
   * remains because the service doesn't support deletion.
   */
  private async remove(kind: KindName, id: string, project: string | undefined): Promise<boolean> {
    const context = this.context(kind);
    const seen = await findNamedByOperation(context, objectRefOf(kinds[kind], id, { project }));
    if (seen?.fields.name !== undefined && !this.hasName(seen)) {
      const why = `its name is "${seen.fields.name}", so another user may have created it`;
      await this.session.warn(`cloudinfra: ${kind} ${id} was not deleted: ${why}.`);
      return true;
    }
    try {
      await removeObject(context, id, project);
      return true;
    } catch (error) {
      if (isCloudInfraError(error) && ["unsupported", "not_found"].includes(error.code)) return false;
      throw error;
    }
  }
}

/** Ignores that the record can't be written, for example because the disk is full. The next cleanup then only sends more requests. */
function continueCleanup(): void {}

/** Reports whether a creation was rejected. If an earlier creation has the same key, a conflict is also a rejection. */
function isRejection(error: unknown, { isRepeat }: ProbeCreation): boolean {
  if (!isCloudInfraError(error)) return false;
  const { sent, status = 0 } = error;
  return !sent || (isRepeat === true && [400, 409, 422].includes(status));
}
