import { isDeepStrictEqual } from "node:util";
import type { Pending } from "./creation/pending";
import type { Properties } from "./host";
import { plain } from "./values/plain";
import { hiddenOf, type Now, nowOf } from "./values/state";

/** What check and diff of this process said of one URN. */
export interface Seen {
  /** The last check came with old inputs, and no diff since. */
  readonly checkedWithOlds?: boolean;
  /** The last check came without old inputs, and no create has answered since: it will take over what was cut off. */
  readonly isToBeCreated?: boolean;
  /** Key, id and operation of what the state holds: an entry of the journal that has one of them is no left-over. */
  readonly key?: string | undefined;
  readonly id?: string | undefined;
  readonly operation?: string | undefined;
  /** A creation that the state knows as not ended. */
  readonly placeholder?: Pending | undefined;
  /** The endpoint where that was asked for. */
  readonly placeholderAt?: string | undefined;
}

/** What all of a process's memory is in. */
class Store {
  readonly seen = new Map<string, Seen>();
  /** Objects that this process has named as what a resource now is, with the URN. Ids count, not URNs: there are aliases. */
  readonly live = new Map<string, string | undefined>();
  /** By key, what the program says of a resource now beside its arguments. */
  readonly said = new Map<string, Now>();
  /** Objects that this process has deleted. */
  readonly gone = new Set<string>();
}

/**
 * What this process remembers of the resources it was asked about; gone with the process. Ids are of one endpoint: two services
 * may give the same ones.
 */
export class Memory {
  constructor(
    private readonly endpoint = "",
    private readonly store = new Store(),
  ) {}

  /** The same memory, for ids of an endpoint. */
  at(endpoint: string): Memory {
    return new Memory(endpoint, this.store);
  }

  of(urn: string | undefined): Seen {
    return (urn === undefined ? undefined : this.store.seen.get(urn)) ?? {};
  }

  /** A check: with old inputs it begins the look at what exists; without, what existed is about to be replaced. */
  checked(urn: string | undefined, olds: { readonly key: string | undefined } | undefined): void {
    if (urn === undefined) return;
    const isToBeCreated = olds === undefined;
    const more = isToBeCreated ? {} : { checkedWithOlds: true, key: olds.key };
    this.store.seen.set(urn, { ...this.of(urn), ...more, isToBeCreated });
    if (isToBeCreated)
      for (const [object, owner] of this.store.live) if (owner === urn) this.store.live.delete(object);
  }

  /** A diff of what the state holds; where it came after a check and found nothing to replace, its id is live. */
  diffed(
    urn: string | undefined,
    id: string,
    pending: Pending | undefined,
    replaces: boolean,
    placeholderAt?: string,
  ): void {
    if (urn === undefined) return;
    const { checkedWithOlds = false, key } = this.of(urn);
    // An update that was cut off is none: no creation goes on with that.
    const placeholder = pending?.failed || pending?.asked !== undefined ? undefined : pending;
    this.store.seen.set(urn, { key, id, operation: pending?.operation?.id, placeholder, placeholderAt });
    if (checkedWithOlds && !replaces) this.store.live.set(this.object(id), urn);
  }

  /** Returned by create: that is what the resource now is. */
  made(urn: string | undefined, id: string): void {
    this.store.live.set(this.object(id), urn);
    if (urn !== undefined) this.store.seen.set(urn, { id });
  }

  /** What the program says of a resource with this key beside its arguments; its inputs may keep what it said first. */
  says(key: string, now: Now): void {
    this.store.said.set(key, now);
  }

  /** Inputs with what the program says now. */
  withNow(inputs: Properties): Properties {
    const { __key: key } = hiddenOf(inputs);
    const now = key === undefined ? undefined : this.store.said.get(key);
    const isSaid = now === undefined || isDeepStrictEqual(plain(now), plain(nowOf(inputs)));
    return isSaid ? inputs : { ...inputs, __now: now };
  }

  deleted(id: string): void {
    this.store.gone.add(this.object(id));
  }

  isGone(id: string): boolean {
    return this.store.gone.has(this.object(id));
  }

  /** A live object is never deleted, whatever it is that asks. */
  isLive(id: string): boolean {
    return this.store.live.has(this.object(id));
  }

  private object(id: string): string {
    return `${this.endpoint} ${id}`;
  }
}
