import type { Emulator, LoggedRequest } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import type { Deed, Moment, Planned } from "./deeds";
import type { Ledger } from "./ledger";
import { atService, type Fields, inProperties, isLabel, same, type Target, written } from "./targets";

/** The object that somebody is at, what the state has of it, and what the program asks for. */
export interface Subject {
  readonly id: string;
  readonly known: Properties;
  readonly wanted: Properties;
}

type When = "before" | "between" | "after";

/** A deed that was done. */
export interface Done {
  readonly deed: Deed;
  readonly when: When;
}

/** Somebody else, at work on an object of ours while we are. */
export class Somebody {
  /** Objects that they made in place of ours. */
  readonly twins: string[] = [];
  /** What they have done since the command began. */
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

  /** A command of ours begins. */
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

  /** The command is over. */
  end(): void {
    this.due.push(...this.waiting.map(({ deed }) => deed));
    this.waiting = [];
    this.catchUp();
  }

  /** Whether they are deleting this object just now. */
  isDeleting(id: string): boolean {
    return this.doomed === id;
  }

  /** What had to wait for the end of an operation is done, and so is a deletion that has begun. */
  catchUp(): void {
    this.act("after");
    if (this.doomed !== undefined && this.objectOf(this.doomed)) this.remove(this.doomed);
    this.doomed = undefined;
  }

  /** Those who made an object in place of ours take it away again. */
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
    // While an operation is at work, the service itself writes over what others do: they are told to wait for its end.
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

  /** @returns whether that has changed anything */
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
