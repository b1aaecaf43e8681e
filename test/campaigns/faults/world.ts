import { isDeepStrictEqual } from "node:util";
import type { Emulator, LoggedRequest, StoredInstance } from "../../../src/emulator";
import { instanceFields, projectFields } from "../../../src/model/resource-fields";
import type { Random } from "../random";
import type { Slot } from "./slot";

type Fields = Readonly<Record<string, unknown>>;

const MOST_TOLD = 60;

/** Checks at the end of each round that the service has the expected objects. */
export class World {
  /** Objects of somebody else, with their original fields. */
  private readonly foreign = new Map<string, Fields>();
  /** Fields that somebody else added to instances of the program. */
  private readonly added = new Map<StoredInstance, Fields>();
  /** Operations of creations, and projects that were created without one. */
  private readonly known = new Set<object>();
  /** Requested names of objects, by id. */
  private readonly names = new Map<string, string>();

  constructor(
    readonly emulator: Emulator,
    /** Called with the requested name of each object that a creation creates. */
    private readonly onMade: (name: string) => void,
  ) {}

  /** Must be called directly after each request. */
  answered({ method, body }: LoggedRequest): void {
    if (method !== "POST") return;
    const { operations, projects } = this.emulator;
    const creations = [...operations.values()].filter(({ kind }) => kind === "create");
    const byOperation = new Set(creations.map(({ target }) => keyOf(target.kind, target.id)));
    // By object identity, because ids may be reused.
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

  /** Formats the latest requests about the objects whose names have this prefix, for debugging. */
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

  /** Formats the latest requests about the resource of the object that a message names. */
  storyOf(message: string): string {
    const [key] = [...this.names.keys()].filter((name) => message.includes(` ${name.split("/").at(-1)}`));
    return key === undefined ? "" : this.story(`${this.names.get(key)?.split("-")[0]}-`);
  }

  /**
   * Returns whether the provider has requested the deletion of this object. The journal of the other machine may still
   * contain its creation. If that creation is resumed while faults hide the object's absence, only the next `up`
   * detects that it no longer exists.
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

  /** Adds a label and an unmanaged field to an instance of the program, as somebody else. */
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

  /** Returns all violations. */
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
        found.push(`${id} ("${fields.name}") is at the service, but belongs to no resource`);
    }
    for (const instance of instances.values()) {
      const theirs = this.added.get(instance);
      if (theirs !== undefined && !isKept(theirs, instance.fields))
        found.push(
          `fields that somebody else added to ${instance.id} are missing: ${JSON.stringify(theirs)} in ${JSON.stringify(instance.fields)}\n` +
            this.story(String(instance.fields.name).split("-")[0] ?? ""),
        );
    }
    for (const [id, fields] of this.foreign)
      if (!isDeepStrictEqual(there.get(id), fields))
        found.push(`${id}, which belongs to somebody else, was changed`);
    return found;
  }
}

function breachesOf({ wanted, resource, options }: Slot, there: ReadonlyMap<string, Fields>): string[] {
  const { entries } = resource;
  const wrong = (what: string): string[] => [`${options.name}: ${what}`];
  if (wanted === undefined) return entries.length === 0 ? [] : wrong("is still in the state");
  const [entry, ...more] = entries;
  if (entry === undefined || more.length > 0) return wrong(`${entries.length} entries in the state`);
  if (!resource.isSettled) return wrong("is unfinished in the state");
  const fields = there.get(keyOf(options.kind, entry.id));
  if (fields === undefined)
    return wrong(`${entry.id}, which the state records, doesn't exist at the service`);
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
      ...(isThere ? [] : wrong(`${name} at the service differs from the program`)),
      ...(isInState ? [] : wrong(`${name} in the state differs from the program`)),
    ];
  });
}

/** The ids of a project and an instance may be the same. */
function keyOf(kind: "project" | "instance", id: string): string {
  return `${kind}s/${id}`;
}

function isKept(theirs: Fields, fields: Fields): boolean {
  return theirs.backup === fields.backup && theirs["label:owner"] === Object(fields.labels).owner;
}
