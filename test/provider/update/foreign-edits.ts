import { expect } from "vitest";
import type { LoggedRequest } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import type { Saved, Service } from "../service";
import { rowsOf } from "./conflict-table-rows";

/** What the state has, and what the program may ask for next. */
export const OURS: Properties = {
  name: "web",
  flavor: "m1.small",
  network: "default",
  publicIp: "203.0.113.5",
  sshKeys: ["ssh-rsa OURS"],
  labels: { team: "web", tier: "a" },
};
export const NEXT: Properties = {
  name: "front",
  flavor: "m1.large",
  network: "backend",
  publicIp: "auto",
  sshKeys: ["ssh-rsa NEXT"],
  labels: { team: "ops", tier: "a", more: "new" },
};
const WIRE: Readonly<Record<string, string>> = { publicIp: "public_ip", sshKeys: "ssh_keys" };
const wireOf = (name: string): string => WIRE[name] ?? name;

/** When somebody else is at work: before it all, after our look, after our PUT (or its loss), or when it is done. */
export const MOMENTS = ["before", "look", "put", "done"] as const;

export interface ForeignEdit {
  readonly moment: (typeof MOMENTS)[number];
  /** A property of ours; `label:…` one key of the labels; what is not ours. */
  readonly target: string;
  /** Whether it is, by chance, what we want. */
  readonly asWanted: boolean;
}

/** Somebody else, and what they must find of their work. */
export class Others {
  /** What they made of properties of ours, where it is not what we want; `label:…` for one key. */
  readonly foreign = new Map<string, unknown>();
  /** The same as of the last look that was answered. */
  seen: ReadonlyMap<string, unknown> = new Map();
  private readonly labels = new Map<string, unknown>();
  private readonly unmanaged = new Map<string, unknown>();
  private edits = 0;

  constructor(
    private readonly service: Service,
    private readonly saved: Saved,
    private readonly wanted: Properties,
  ) {}

  act(edits: readonly ForeignEdit[], moment: ForeignEdit["moment"]): void {
    for (const edit of edits) if (edit.moment === moment) this.edit(edit);
  }

  /** Acts once at each moment, right after the request that makes it. */
  watching(edits: readonly ForeignEdit[]): (request: LoggedRequest) => void {
    const open = new Set(MOMENTS);
    const reach = (moment: ForeignEdit["moment"]): void => {
      if (open.delete(moment)) this.act(edits, moment);
    };
    return ({ method, path, status }) => {
      const { putReply } = this.service.emulator.behaviour;
      if (method === "GET" && path.startsWith("/v1/instances")) {
        this.seen = new Map(this.foreign);
        reach("look");
      }
      // While an operation is at work, the service itself writes over what others do: only before or after it.
      if (method === "PUT" && putReply !== 202) reach("put");
      if (method === "PUT" && putReply !== 202 && status >= 200 && status < 300) reach("done");
      const open = [...this.service.emulator.operations.values()].some(({ outcome }) => outcome === "open");
      if (path.startsWith("/v1/operations/") && !open) reach("done");
    };
  }

  private edit({ target, asWanted }: ForeignEdit): void {
    const { emulator } = this.service;
    const { id } = this.saved;
    this.edits += 1;
    const value = `theirs-${this.edits}`;
    const [, key] = target.split(":");
    if (key !== undefined) this.editLabel(target, key, asWanted ? this.wantedLabels[key] : value);
    else if (target === "revision") emulator.touch(id);
    else if (!(target in OURS)) {
      emulator.edit(id, { [target]: value });
      if (target !== "status") this.unmanaged.set(target, value);
    } else {
      const made = asWanted ? this.wanted[target] : this.valueOf(target, value);
      emulator.edit(id, { [wireOf(target)]: made });
      if (asWanted) this.foreign.delete(target);
      else this.foreign.set(target, made);
    }
  }

  private valueOf(target: string, value: string): unknown {
    if (target === "publicIp") return `198.51.100.${this.edits}`;
    return target === "sshKeys" ? [`ssh-rsa THEIRS${this.edits}`] : value;
  }

  private editLabel(target: string, key: string, value: unknown = "any"): void {
    const labels = { ...Object(this.fields.labels), [key]: value };
    this.service.emulator.edit(this.saved.id, { labels });
    if (!Object.hasOwn(this.wantedLabels, key)) this.labels.set(key, value);
    else if (this.wantedLabels[key] === value) this.foreign.delete(target);
    else this.foreign.set(target, value);
  }

  private get wantedLabels(): Properties {
    return { ...Object(this.wanted.labels) };
  }

  private get fields(): Readonly<Record<string, unknown>> {
    return this.service.emulator.instances.get(this.saved.id)?.fields ?? {};
  }

  private holds(target: string): unknown {
    const [, key] = target.split(":");
    return key === undefined ? this.fields[wireOf(target)] : { ...Object(this.fields.labels) }[key];
  }

  /** Everything they did stands as they made it. */
  expectKept(): void {
    for (const [target, value] of this.foreign) expect(this.holds(target), target).toEqual(value);
    this.expectUnmanagedKept();
  }

  private expectUnmanagedKept(): void {
    expect(this.fields.labels).toMatchObject(Object.fromEntries(this.labels));
    expect(this.fields).toMatchObject(Object.fromEntries(this.unmanaged));
  }

  /** A refusal names each property with the state's value, theirs and ours. @returns the number of them */
  expectShown(message: string): number {
    const rows = rowsOf(message);
    for (const [target, value] of this.seen) {
      const [, key] = target.split(":");
      const property = key === undefined ? target : `labels.${key}`;
      const of = (side: Properties): unknown =>
        key === undefined ? side[target] : { ...Object(side.labels) }[key];
      const cells = [of(OURS), value, of(this.wanted)].map((side) => String(side));
      expect(rows, message).toContainEqual([property, ...cells]);
    }
    return this.seen.size;
  }

  expectRefreshed(inputs: Properties): void {
    for (const [target, value] of this.foreign) {
      const [, key] = target.split(":");
      expect(key === undefined ? inputs[target] : { ...Object(inputs.labels) }[key], target).toEqual(value);
    }
  }

  expectPutRight(): void {
    const { labels, ...rest } = Object.fromEntries(
      Object.entries(this.wanted).map(([name, value]) => [wireOf(name), value]),
    );
    expect(this.fields).toMatchObject(rest);
    expect(this.fields.labels).toMatchObject({ ...Object(labels) });
    this.expectUnmanagedKept();
  }
}
