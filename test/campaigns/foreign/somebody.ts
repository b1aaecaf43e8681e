import type { Emulator, LoggedRequest } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import type { Deed, Moment, Planned } from "./deeds";
import type { Ledger } from "./ledger";
import { atService, type Fields, inProperties, isLabel, same, type Target, written } from "./targets";

/** The object that somebody acts on, its state, and the program's values. */
export interface Subject {
  readonly id: string;
  readonly known: Properties;
  readonly wanted: Properties;
}

type When = "before" | "between" | "after";

/** An action that has happened. */
export interface Done {
  readonly deed: Deed;
  readonly when: When;
}

/** Somebody else who acts on an object of the program during its commands. */
export class Somebody {
  /** Ids of the objects that somebody created to replace deleted ones. */
  readonly twins: string[] = [];
  /** Actions since the command began. */
  done: readonly Done[] = [];
  private waiting: Planned[] = [];
  private due: Deed[] = [];
  private seen: LoggedRequest[] = [];
  private doomed: string | undefined;
  private values = 0;

  constructor(
    private readonly emulator: Emulator,
    private readonly ledger: Ledger,
    private readonly subject: () => Subject | undefined,
  ) {}

  /** Starts a command. */
  begin(plan: readonly Planned[]): void {
    this.done = [];
    this.seen = [];
    this.due.push(...plan.flatMap(({ deed, moment }) => (moment === "before" ? deed : [])));
    this.waiting = plan.filter(({ moment }) => moment !== "before");
    this.act("before");
  }

  answered(request: LoggedRequest): void {
    this.seen.push(request);
    const isReached = ({ moment }: Planned): boolean => moment !== "before" && this.isReached(moment);
    this.due.push(...this.waiting.filter(isReached).map(({ deed }) => deed));
    this.waiting = this.waiting.filter((planned) => !isReached(planned));
    this.act("between");
  }

  /** Ends the command. */
  end(): void {
    this.due.push(...this.waiting.map(({ deed }) => deed));
    this.waiting = [];
    this.catchUp();
  }

  /** Returns whether somebody is deleting this object. */
  isDeleting(id: string): boolean {
    return this.doomed === id;
  }

  /** Runs the actions that waited for an operation, and finishes a deletion that has begun. */
  catchUp(): void {
    this.act("after");
    if (this.doomed !== undefined && this.objectOf(this.doomed)) this.remove(this.doomed);
    this.doomed = undefined;
  }

  /** Deletes the objects that somebody created to replace deleted ones. */
  giveWay(): void {
    for (const id of this.twins.splice(0)) {
      this.ledger.removeForeign(id);
      this.emulator.remove(id);
    }
  }

  private isReached({ method, nth }: Exclude<Moment, "before">): boolean {
    return this.seen.filter((request) => method === undefined || request.method === method).length >= nth;
  }

  private act(when: When): void {
    // While an operation is running, the service overwrites other changes. Somebody else waits for its end.
    const isBusy = [...this.emulator.operations.values()].some(
      ({ kind, outcome }) => kind === "update" && outcome === "open",
    );
    const due = isBusy ? this.due.filter(({ kind }) => kind === "delete") : this.due;
    this.due = this.due.filter((deed) => !due.includes(deed));
    for (const deed of due) {
      const subject = this.subject();
      if (subject && this.objectOf(subject.id) && this.perform(deed, subject))
        this.done = [...this.done, { deed, when }];
    }
  }

  /** @returns whether the action changed anything */
  private perform(deed: Deed, subject: Subject): boolean {
    const { id } = subject;
    if (deed.kind === "set") return this.change(deed, subject);
    if (deed.kind === "touch") this.emulator.touch(id);
    else if (deed.kind === "delete") this.remove(id);
    else if (deed.kind === "re-create") this.reCreate(id);
    else {
      this.doomed = id;
      this.emulator.edit(id, { status: "deleting" });
    }
    return true;
  }

  private change({ target, to }: Extract<Deed, { kind: "set" }>, { id, known, wanted }: Subject): boolean {
    this.values += 1;
    if (target === "status") {
      this.emulator.edit(id, { status: `theirs-${this.values}` });
      return true;
    }
    const fields = this.objectOf(id)?.fields ?? {};
    const chosen = to === "wanted" ? wanted : known;
    const given = to === "wanted" || to === "known" ? inProperties(target, chosen) : undefined;
    const isNone = to === "none" && (isLabel(target) || target === "publicIp" || target === "sshKeys");
    const value = isNone ? undefined : (given ?? this.theirs(target));
    if (same(value, atService(target, fields))) return false;
    const none = target === "sshKeys" ? [] : undefined;
    this.emulator.edit(id, written(target, value ?? none, fields));
    this.ledger.set(id, target, value);
    return true;
  }

  private theirs(target: Target): unknown {
    if (target === "publicIp") return `198.51.100.${this.values}`;
    return target === "sshKeys" ? [`ssh-rsa THEIRS${this.values}`] : `theirs-${this.values}`;
  }

  private remove(id: string): void {
    this.ledger.removed(id);
    this.emulator.remove(id);
  }

  private reCreate(id: string): void {
    const fields: Fields = structuredClone(this.objectOf(id)?.fields ?? {});
    const isInstance = this.emulator.instances.has(id);
    this.remove(id);
    const twin = isInstance ? this.emulator.addInstance(fields) : this.emulator.addProject(fields);
    this.ledger.addForeign(twin.id);
    this.twins.push(twin.id);
  }

  private objectOf(id: string): { readonly fields: Fields } | undefined {
    return this.emulator.instances.get(id) ?? this.emulator.projects.get(id);
  }
}
