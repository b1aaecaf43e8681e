import type { Emulator, LoggedRequest } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { atService, type Fields, inProperties, same, type Target, targetsOf } from "./targets";

/** The basis of an update: the state, which the user has seen, and the program. */
interface Meant {
  readonly olds: Properties;
  readonly news: Properties;
}

/** A change by somebody else to an object of the program. */
interface Entry {
  readonly id: string;
  readonly target: Target;
  readonly value: unknown;
  /** The revision after the change. The service counts revisions. */
  readonly revision: number | undefined;
  /** A refresh has read the object since. */
  isSeen: boolean;
  /** An accepted update that may replace the value may still be running. */
  mayGo: boolean;
}

/**
 * Records what somebody else did at the service, and checks it after every request. A change that an update replaced is
 * overwritten if the user who ran `up` couldn't have seen it.
 */
export class Ledger {
  readonly breaches: string[] = [];
  private readonly entries = new Map<string, Entry>();
  /** Objects of somebody else, which must not change. */
  private readonly foreign = new Map<string, string>();
  private readonly ours = new Set<string>();
  private readonly gone = new Set<string>();
  private readonly deletable = new Set<string>();
  private readonly meant = new Map<string, Meant>();

  constructor(private readonly emulator: Emulator) {}

  /** Adds an object of somebody else. */
  addForeign(id: string): void {
    this.foreign.set(id, JSON.stringify(this.objectOf(id)));
  }

  isForeign(id: string): boolean {
    return this.foreign.has(id);
  }

  /** Removes an object that somebody else has deleted themselves. */
  removeForeign(id: string): void {
    this.foreign.delete(id);
  }

  /** Adds an object of the program. It must not be deleted unless the program requires it. */
  addOurs(id: string): void {
    if (!this.gone.has(id)) this.ours.add(id);
  }

  mayDelete(id: string): void {
    this.deletable.add(id);
  }

  /** Sets the basis of further updates of this object. */
  means(id: string, meant: Meant): void {
    this.meant.set(id, meant);
  }

  /** Records a change by somebody else to an object of the program. */
  set(id: string, target: Target, value: unknown): void {
    const revision = revisionNumber(this.emulator.instances.get(id)?.revision);
    this.entries.set(`${id} ${target}`, { id, target, value, revision, isSeen: false, mayGo: false });
  }

  /** Records that a refresh is reading this object. */
  seen(id: string): void {
    for (const entry of this.entries.values()) if (entry.id === id) entry.isSeen = true;
  }

  /** Records that somebody else deleted an object of the program. */
  removed(id: string): void {
    this.drop(id);
  }

  /** Returns the changes by somebody else that still exist. */
  entriesOf(id: string): readonly { readonly target: Target; readonly value: unknown }[] {
    return [...this.entries.values()].filter((entry) => entry.id === id);
  }

  /** Must be called directly after each request. */
  answered({ method, path, status, fault }: LoggedRequest): void {
    const isDone = fault === undefined || fault === "slow" ? status < 300 : fault !== "reset";
    const put = method === "PUT" && isDone ? path.split("/").at(-1) : undefined;
    for (const entry of this.entries.values())
      if (entry.id === put) entry.mayGo ||= isMeant(entry, this.meant.get(put));
    this.check(`${method} ${path}`);
  }

  /** Compares all records with the service. @param after the latest action */
  check(after: string): void {
    for (const [key, entry] of this.entries) {
      const fields = this.fieldsOf(entry.id);
      const now = fields && atService(entry.target, fields);
      if (fields === undefined || same(now, entry.value)) continue;
      this.entries.delete(key);
      if (!entry.mayGo)
        this.broken(
          after,
          `${entry.target}, which somebody set to ${shown(entry.value)}, is now ${shown(now)}`,
          entry.id,
        );
    }
    for (const id of this.ours) {
      if (this.objectOf(id) !== undefined) continue;
      this.drop(id);
      if (!this.deletable.has(id)) this.broken(after, "was deleted without a request", id);
    }
    for (const [id, before] of this.foreign) {
      const now = JSON.stringify(this.objectOf(id));
      if (now === before) continue;
      this.foreign.set(id, now);
      this.broken(after, `belongs to somebody else and changed from ${before} to ${now}`, id);
    }
  }

  private drop(id: string): void {
    this.ours.delete(id);
    this.gone.add(id);
    for (const [key, entry] of this.entries) if (entry.id === id) this.entries.delete(key);
  }

  private broken(after: string, what: string, id: string): void {
    const { olds, news } = this.meant.get(id) ?? {};
    const known = `state: ${JSON.stringify(olds)}; program: ${JSON.stringify(news)}`;
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
 * Returns whether the user who ran `up` could have seen the value that the update replaces: the state contained it, so
 * the diff showed it. If the program sets a property for the first time, the state doesn't contain it. Then a read of
 * the object must have come between, or the state has no revision.
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
