import type { Emulator, LoggedRequest } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { atService, type Fields, inProperties, same, type Target, targetsOf } from "./targets";

/** An update as it is meant: by a state that a person has seen, for what the program asks. */
interface Meant {
  readonly olds: Properties;
  readonly news: Properties;
}

/** Something that somebody made of an object of ours. */
interface Entry {
  readonly id: string;
  readonly target: Target;
  readonly value: unknown;
  /** The revision that came of it, as a number; revisions are counted. */
  readonly revision: number | undefined;
  /** A refresh came after it. */
  isSeen: boolean;
  /** An update that was accepted, and meant it, may still be at work. */
  mayGo: boolean;
}

/**
 * What somebody else did at the service, looked up after every request: what an update of ours erased, though nobody who
 * ran `up` could know of it, is overwritten.
 */
export class Ledger {
  readonly breaches: string[] = [];
  private readonly entries = new Map<string, Entry>();
  /** Objects of somebody else, as they are to stay. */
  private readonly foreign = new Map<string, string>();
  private readonly ours = new Set<string>();
  private readonly gone = new Set<string>();
  private readonly deletable = new Set<string>();
  private readonly meant = new Map<string, Meant>();

  constructor(private readonly emulator: Emulator) {}

  /** An object of somebody else. */
  addForeign(id: string): void {
    this.foreign.set(id, JSON.stringify(this.objectOf(id)));
  }

  isForeign(id: string): boolean {
    return this.foreign.has(id);
  }

  /** It has been deleted by those who made it. */
  removeForeign(id: string): void {
    this.foreign.delete(id);
  }

  /** An object of ours, which is not to vanish unless we are told to delete it. */
  addOurs(id: string): void {
    if (!this.gone.has(id)) this.ours.add(id);
  }

  mayDelete(id: string): void {
    this.deletable.add(id);
  }

  /** What updates of this object are about from now on. */
  means(id: string, meant: Meant): void {
    this.meant.set(id, meant);
  }

  /** Somebody has made that of an object of ours. */
  set(id: string, target: Target, value: unknown): void {
    const revision = revisionNumber(this.emulator.instances.get(id)?.revision);
    this.entries.set(`${id} ${target}`, { id, target, value, revision, isSeen: false, mayGo: false });
  }

  /** A refresh looks at this object just now. */
  seen(id: string): void {
    for (const entry of this.entries.values()) if (entry.id === id) entry.isSeen = true;
  }

  /** Somebody has deleted an object of ours. */
  removed(id: string): void {
    this.drop(id);
  }

  /** What somebody made of this object, and is still there. */
  entriesOf(id: string): readonly { readonly target: Target; readonly value: unknown }[] {
    return [...this.entries.values()].filter((entry) => entry.id === id);
  }

  /** To be called after each request, at once. */
  answered({ method, path, status, fault }: LoggedRequest): void {
    const isDone = fault === undefined || fault === "slow" ? status < 300 : fault !== "reset";
    const put = method === "PUT" && isDone ? path.split("/").at(-1) : undefined;
    for (const entry of this.entries.values())
      if (entry.id === put) entry.mayGo ||= isMeant(entry, this.meant.get(put));
    this.check(`${method} ${path}`);
  }

  /** Compares all with what is there. @param after what was done last */
  check(after: string): void {
    for (const [key, entry] of this.entries) {
      const fields = this.fieldsOf(entry.id);
      const now = fields && atService(entry.target, fields);
      if (fields === undefined || same(now, entry.value)) continue;
      this.entries.delete(key);
      if (!entry.mayGo)
        this.broken(
          after,
          `${entry.target}, which somebody made ${shown(entry.value)}, is ${shown(now)}`,
          entry.id,
        );
    }
    for (const id of this.ours) {
      if (this.objectOf(id) !== undefined) continue;
      this.drop(id);
      if (!this.deletable.has(id)) this.broken(after, "was deleted, and nobody has asked for that", id);
    }
    for (const [id, before] of this.foreign) {
      const now = JSON.stringify(this.objectOf(id));
      if (now === before) continue;
      this.foreign.set(id, now);
      this.broken(after, `was somebody else's ${before}, and is ${now}`, id);
    }
  }

  private drop(id: string): void {
    this.ours.delete(id);
    this.gone.add(id);
    for (const [key, entry] of this.entries) if (entry.id === id) this.entries.delete(key);
  }

  private broken(after: string, what: string, id: string): void {
    const { olds, news } = this.meant.get(id) ?? {};
    const known = `in the state: ${JSON.stringify(olds)}; asked for: ${JSON.stringify(news)}`;
    this.breaches.push(`OVERWRITTEN after ${after}: ${id}: ${what}\n  ${known}`);
  }

  private fieldsOf(id: string): Fields | undefined {
    return (this.emulator.instances.get(id) ?? this.emulator.projects.get(id))?.fields;
  }

  private objectOf(id: string): object | undefined {
    const { projects, instances } = this.emulator;
    return instances.get(id) ?? projects.get(id);
  }
}

/**
 * Whether somebody who ran `up` could see what they put right: the state had it, and so the row of the diff. What the program
 * sets for the first time is in no state; then a look at the object must have come between, or no state has known its revision.
 */
function isMeant({ target, value, revision, isSeen }: Entry, meant: Meant | undefined): boolean {
  if (meant === undefined || !targetsOf(meant.olds, meant.news).includes(target)) return false;
  const known = inProperties(target, meant.olds);
  if (same(known, value)) return true;
  const seen = revisionNumber(meant.olds.revision);
  return (
    known === undefined && (isSeen || seen === undefined || (revision !== undefined && seen >= revision))
  );
}

function revisionNumber(revision: unknown): number | undefined {
  const digits = typeof revision === "string" ? /^r(\d+)$/.exec(revision)?.[1] : undefined;
  return digits === undefined ? undefined : Number(digits);
}

function shown(value: unknown): string {
  return value === undefined ? "(not set)" : JSON.stringify(value);
}
