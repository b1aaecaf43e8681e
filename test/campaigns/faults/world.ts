import { isDeepStrictEqual } from "node:util";
import type { Emulator, LoggedRequest, StoredInstance } from "../../../src/emulator";
import { instanceFields, projectFields } from "../../../src/model/kinds";
import type { Random } from "../random";
import type { Slot } from "./slot";

type Fields = Readonly<Record<string, unknown>>;

const MOST_TOLD = 60;

/** What the service must hold, whoever made it: the judge at the end of each round. */
export class World {
  /** Objects of somebody else, as they made them. */
  private readonly foreign = new Map<string, Fields>();
  /** What somebody else added to instances of ours. */
  private readonly added = new Map<StoredInstance, Fields>();
  /** Operations that create something, and projects that were created without one. */
  private readonly known = new Set<object>();
  /** Under which names objects were asked for, by id. */
  private readonly names = new Map<string, string>();

  constructor(
    readonly emulator: Emulator,
    /** Told of each object that a creation makes, with the name that was asked for. */
    private readonly onMade: (name: string) => void,
  ) {}

  /** To be called after each request, at once. */
  answered({ method, body }: LoggedRequest): void {
    if (method !== "POST") return;
    const { operations, projects } = this.emulator;
    const creations = [...operations.values()].filter(({ kind }) => kind === "create");
    const byOperation = new Set(creations.map(({ target }) => keyOf(target.kind, target.id)));
    // By the objects themselves: ids may be assigned again.
    const made = [
      ...creations.map(
        (operation) => [operation, keyOf(operation.target.kind, operation.target.id)] as const,
      ),
      ...[...projects.values()]
        .filter(({ id }) => !byOperation.has(keyOf("project", id)))
        .map((project) => [project, keyOf("project", project.id)] as const),
    ];
    for (const [origin, key] of made) {
      if (this.known.has(origin)) continue;
      this.known.add(origin);
      const name = String(Object(JSON.parse(body)).name);
      this.names.set(key, name);
      this.onMade(name);
    }
  }

  /** The latest requests about the objects whose names begin so, for whoever looks for what went wrong. */
  story(prefix: string): string {
    const keys = [...this.names].flatMap(([key, name]) => (name.startsWith(prefix) ? key : []));
    const operations = [...this.emulator.operations.values()].filter(({ target }) =>
      keys.includes(keyOf(target.kind, target.id)),
    );
    const marks = [
      ...keys.map((key) => `/v1/${key}`),
      ...operations.map(({ id }) => `/v1/operations/${id}`),
      `"name":"${prefix}`,
    ];
    return this.emulator.requests
      .filter(({ path, body }) => marks.some((mark) => path === mark || body.includes(mark)))
      .slice(-MOST_TOLD)
      .map(
        ({ at, method, path, status, fault = "", headers, body }) =>
          `  ${new Date(at).toISOString()} ${method} ${path} → ${status} ${fault} ` +
          `${headers["idempotency-key"] ?? headers["if-match"] ?? ""} ${body}`,
      )
      .join("\n");
  }

  /** The latest requests about the resource of the object that a message names. */
  storyOf(message: string): string {
    const [key] = [...this.names.keys()].filter((name) => message.includes(` ${name.split("/").at(-1)}`));
    return key === undefined ? "" : this.story(`${this.names.get(key)?.split("-")[0]}-`);
  }

  /**
   * Whether a request of ours has deleted this object. The journal of the other machine may still hold its creation. If that is
   * resumed while faults hide the object's absence, only the next `up` finds out that it no longer exists.
   */
  wasDeleted(kind: "project" | "instance", id = ""): boolean {
    const { projects, instances, requests } = this.emulator;
    const isThere = (kind === "project" ? projects : instances).has(id);
    const path = `/v1/${keyOf(kind, id)}`;
    return !isThere && requests.some((request) => request.method === "DELETE" && request.path === path);
  }

  addProject(): string {
    const project = this.emulator.addProject();
    const { id, fields } = project;
    this.known.add(project);
    this.foreign.set(keyOf("project", id), structuredClone(fields));
    return id;
  }

  addInstance(fields: Fields): void {
    const { id, fields: all } = this.emulator.addInstance(fields);
    this.foreign.set(keyOf("instance", id), structuredClone(all));
  }

  /** Somebody puts a label and a setting of theirs on an instance of ours, which is none of the program's business. */
  addTo(id: string, random: Random): void {
    const instance = this.emulator.instances.get(id);
    if (instance === undefined) return;
    const { fields } = instance;
    const theirs = {
      backup: `daily-${random.integer(1, 99)}`,
      "label:owner": `ops-${random.integer(1, 99)}`,
    };
    this.added.set(instance, theirs);
    const labels = { ...Object(fields.labels), owner: theirs["label:owner"] };
    this.emulator.edit(id, { backup: theirs.backup, labels }, "instance");
  }

  /** What is not as it has to be. */
  breaches(slots: readonly Slot[]): string[] {
    const { projects, instances } = this.emulator;
    const there = new Map([
      ...[...projects].map(([id, { fields }]) => [keyOf("project", id), fields] as const),
      ...[...instances].map(([id, { fields }]) => [keyOf("instance", id), fields] as const),
    ]);
    const found = slots.flatMap((slot) =>
      breachesOf(slot, there).map((words) => `${words}\n${this.story(`${slot.options.name}-`)}`),
    );
    const held = new Set(
      slots.flatMap(({ resource, options }) => resource.entries.map(({ id }) => keyOf(options.kind, id))),
    );
    for (const [id, fields] of there) {
      if (!held.has(id) && !this.foreign.has(id))
        found.push(`${id} ("${fields.name}") is at the service, and no resource's`);
    }
    for (const instance of instances.values()) {
      const theirs = this.added.get(instance);
      if (theirs !== undefined && !isKept(theirs, instance.fields))
        found.push(
          `what somebody added to ${instance.id} is gone: ${JSON.stringify(theirs)} in ${JSON.stringify(instance.fields)}\n` +
            this.story(String(instance.fields.name).split("-")[0] ?? ""),
        );
    }
    for (const [id, fields] of this.foreign)
      if (!isDeepStrictEqual(there.get(id), fields))
        found.push(`${id}, which is somebody else's, was touched`);
    return found;
  }
}

function breachesOf({ wanted, resource, options }: Slot, there: ReadonlyMap<string, Fields>): string[] {
  const { entries } = resource;
  const wrong = (what: string): string[] => [`${options.name}: ${what}`];
  if (wanted === undefined) return entries.length === 0 ? [] : wrong("is still in the state");
  const [entry, ...more] = entries;
  if (entry === undefined || more.length > 0) return wrong(`${entries.length} entries in the state`);
  if (!resource.isSettled) return wrong("is not settled in the state");
  const fields = there.get(keyOf(options.kind, entry.id));
  if (fields === undefined) return wrong(`${entry.id} of the state is not at the service`);
  const kindFields = options.kind === "project" ? projectFields : instanceFields;
  return kindFields.flatMap(({ name, wire }) => {
    const asked = name === "name" ? (wanted.name ?? entry.inputs.name) : wanted[name];
    if (asked === undefined) return [];
    const isThere =
      name === "labels"
        ? isDeepStrictEqual({ ...Object(fields.labels), ...Object(asked) }, { ...Object(fields.labels) })
        : isDeepStrictEqual(fields[wire], asked);
    const isInState = isDeepStrictEqual(entry.state[name], asked);
    return [
      ...(isThere ? [] : wrong(`${name} at the service is not what is wanted`)),
      ...(isInState ? [] : wrong(`${name} in the state is not what is wanted`)),
    ];
  });
}

/** A project and an instance may have the same id. */
function keyOf(kind: "project" | "instance", id: string): string {
  return `${kind}s/${id}`;
}

function isKept(theirs: Fields, fields: Fields): boolean {
  return theirs.backup === fields.backup && theirs["label:owner"] === Object(fields.labels).owner;
}
