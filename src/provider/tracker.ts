import { isDeepStrictEqual } from "node:util";
import type { Entry } from "../journal/entry";
import type { CreationPurpose } from "../journal/journal";
import type { ChangeOptions, PropertyPaths } from "../model/changes";
import { identityKey, type ObjectIdentity } from "../model/kinds";
import { isPlaceholder, type Pending } from "../model/pending";
import {
  type HiddenInputs,
  type ProgramValues,
  programValuesOf,
  toPlainJson,
  withProgramValues,
} from "../model/state";

/** What check and diff of this process reported about one URN. */
export interface TrackedResource {
  /** The last check had prior inputs, and no diff has followed. */
  readonly checkedWithOlds?: boolean;
  /** The last check had no prior inputs, and no create has answered since. */
  readonly isToBeCreated?: boolean;
  /** Whether the program's arguments differ from the prior inputs of the last check: the engine then compares them, too. */
  readonly isChanged?: boolean;
  /** Key, object id and operation of what the state holds as the current resource of this URN. */
  readonly key?: string | undefined;
  /** When that key was made, in milliseconds since 1970. */
  readonly keyAt?: number | undefined;
  readonly id?: string | undefined;
  readonly operation?: string | undefined;
  /** Where the journal has the unfinished creation that the next create resumes. */
  readonly resumes?: CreationPurpose | undefined;
  /** Where the journal has a creation under this URN that belongs to the resource that had the URN before, and the present URN of that. */
  readonly displaces?: { readonly purpose: CreationPurpose; readonly to: string } | undefined;
  /** An entry of the resource with a later key than its first: the diff tells whether the state holds its object. */
  readonly retried?: Entry | undefined;
  /** A creation that the state holds as unfinished. */
  readonly placeholder?: Pending | undefined;
  /** Id that the program's `import` option names. */
  readonly imported?: string | undefined;
  /** Id that the option named when the state was saved: it has done its work. */
  readonly importedBefore?: string | undefined;
  /** URNs that the resource had before, according to its aliases. */
  readonly formerUrns?: readonly string[] | undefined;
  /** The endpoint to which its request was sent. */
  readonly placeholderAt?: string | undefined;
}

/** What an object is in this run: the current object of the resource with this URN and key. */
export interface LiveObject {
  readonly urn: string | undefined;
  readonly key: string | undefined;
  /** If create adopted an object that may have been reported to the engine before: the resource's URNs, former ones included, and its key. */
  readonly adoptedFor?: readonly string[] | undefined;
}

/** What a diff tells of a state. */
interface DiffedState {
  readonly pending: Pending | undefined;
  readonly replaces: boolean;
  /** The endpoint that the state names. */
  readonly at: string | undefined;
  readonly key: string | undefined;
  readonly importedBefore?: string | undefined;
}

/** What this process remembers of the resources that it was called for. It serves one run of one stack. */
export class ResourceTracker {
  /** Organization of the stack, once a check or, in a run without checks, a delete has reported it. */
  organization: string | undefined;
  /** Folder of Pulumi's project file, from the program's folder, if that isn't in it. It is known as soon as the organization. */
  projectFolder: string | undefined;
  /** Whether this run is a preview, which decides nothing. */
  isPreview = false;
  /** URN of any resource that a check of this run was about: it holds the stack's current name. */
  urn: string | undefined;
  private readonly resources = new Map<string, TrackedResource>();
  /** Objects that this process has reported as current. They are tracked by object, as aliases change URNs. */
  private readonly live = new Map<string, LiveObject>();
  /** URNs by the key of the resource that holds it: in the state, or since create has answered. */
  private readonly holders = new Map<string, string>();
  /** Keys of resources whose replacement's create deals with their unfinished creations. */
  private readonly replacing = new Set<string>();
  /** By key, what the program says of a resource beside its arguments. */
  private readonly said = new Map<string, ProgramValues>();
  /** By key, what the option `ignoreChanges` lists. */
  private readonly options = new Map<string, ChangeOptions>();
  /** By key and URN, whether a resource has the option `retainOnDelete`. */
  private readonly retained = new Map<string, boolean>();
  private readonly gone = new Set<string>();
  /** The URN that each object or entry was promised to, before anything could be awaited. */
  private readonly claims = new Map<string, string>();
  /** Objects that a refresh has read, and whose diff has not followed. */
  private readonly refreshed = new Set<string>();

  get(urn: string | undefined): TrackedResource {
    return (urn === undefined ? undefined : this.resources.get(urn)) ?? {};
  }

  /**
   * Records a check without prior inputs: the resource is about to be created or replaced.
   *
   * @returns what ends being live with it: the texts of the objects
   */
  recordCheckBeforeCreate(urn: string): string[] {
    this.urn = urn;
    const before = this.get(urn);
    this.resources.set(urn, { ...before, isToBeCreated: true });
    const objects = [...this.live].flatMap(([object, owner]) => (owner.urn === urn ? object : []));
    for (const object of objects) this.live.delete(object);
    return objects;
  }

  /**
   * Records a check with prior inputs: the resource exists.
   *
   * @returns the URN of another resource that holds the same key: the state then holds one object twice
   */
  recordCheck(
    urn: string,
    olds: Pick<TrackedResource, "key" | "keyAt" | "imported" | "importedBefore" | "isChanged">,
  ): string | undefined {
    this.urn = urn;
    const { key } = olds;
    this.resources.set(urn, { ...this.get(urn), ...olds, checkedWithOlds: true, isToBeCreated: false });
    const holder = key === undefined ? undefined : this.holders.get(key);
    if (key !== undefined) this.holders.set(key, urn);
    return holder === urn ? undefined : holder;
  }

  /** Whether the `import` option of a resource that is about to be replaced has done its work. */
  hasImported(urn: string | undefined, id: string): boolean {
    const { id: held, importedBefore } = this.get(urn);
    return id === held || id === importedBefore;
  }

  /** Records that the create of the resource which replaces the one with this key deals with unfinished creations. */
  recordHandover(key: string): void {
    this.replacing.add(key);
  }

  /** Adds to what is known of a URN. */
  extend(
    urn: string,
    more: Pick<TrackedResource, "resumes" | "displaces" | "retried" | "formerUrns" | "importedBefore">,
  ): void {
    this.resources.set(urn, { ...this.get(urn), ...more });
  }

  /** Promises an object, or the entry with a key, to a resource. @returns the URN to which it was promised first */
  claim(what: string, urn: string): string {
    const first = this.claims.get(what) ?? urn;
    this.claims.set(what, first);
    return first;
  }

  /** Promises an object to the resource with which the state has it, whoever was promised it. @returns the URN that had the promise */
  reclaim(what: string, urn: string): string {
    const before = this.claims.get(what) ?? urn;
    this.claims.set(what, urn);
    return before;
  }

  /** Records that a refresh has read an object: the diff that follows may have a URN from before a rename. */
  recordRead(object: ObjectIdentity): void {
    this.refreshed.add(identityKey(object));
  }

  /** Whether a refresh has read the object, and the diff that it leads to has not ended. */
  isRefreshed(object: ObjectIdentity): boolean {
    return this.refreshed.has(identityKey(object));
  }

  /** URN of the resource that holds a key. */
  holderOf(key: string): string | undefined {
    return this.holders.get(key);
  }

  /** Records a diff of what the state holds. If it followed a check and found nothing to replace, the object is live. */
  recordDiff(
    urn: string | undefined,
    object: ObjectIdentity,
    { pending, replaces, at, key: held, importedBefore }: DiffedState,
  ): void {
    if (urn === undefined) return;
    const { checkedWithOlds = false, key: checked, keyAt } = this.get(urn);
    const isRefresh = this.refreshed.delete(identityKey(object));
    // The dependents of a resource that is deleted before its replacement get a diff without a check.
    const key = checkedWithOlds || isRefresh ? checked : held;
    // A failed creation can't be resumed, and an object that the state holds under its id is replaced as any other.
    const placeholder = isPlaceholder(object.id) && !pending?.failed ? pending : undefined;
    const operation = pending?.operation?.id;
    this.resources.set(urn, {
      key,
      keyAt,
      id: object.id,
      operation,
      placeholder,
      placeholderAt: at,
      importedBefore,
    });
    if (checkedWithOlds && !replaces) this.live.set(identityKey(object), { urn, key });
  }

  /** Records that create has returned an object: it is what the resource now is, also if its id was used before. */
  recordCreated(
    urn: string | undefined,
    object: ObjectIdentity,
    key: string | undefined,
    adoptedFor?: readonly string[],
  ): void {
    this.live.set(identityKey(object), { urn, key, adoptedFor });
    this.gone.delete(identityKey(object));
    if (urn === undefined) return;
    const replaced = this.get(urn).key;
    if (replaced !== undefined) this.replacing.delete(replaced);
    if (key !== undefined) this.holders.set(key, urn);
    this.resources.set(urn, { id: object.id });
  }

  /** Whether a check of this run had the prior inputs of the resource with this key: the state holds it as current (I3). */
  isCurrent(key: string): boolean {
    return this.holders.has(key);
  }

  /** Whether the resource with this key is about to be replaced by a create that has not answered yet, and deals with unfinished creations. */
  isHandedOver(key: string | undefined): boolean {
    return key !== undefined && this.replacing.has(key);
  }

  /** Records what the program says of a resource with this key beside its arguments; the state may hold older values (I4). */
  recordProgramValues(
    key: string,
    now: ProgramValues,
    { ignoreChanges, replaceOnChanges }: ChangeOptions = {},
  ): void {
    this.said.set(key, now);
    this.options.set(key, { ignoreChanges, replaceOnChanges });
  }

  /** What the program's option `ignoreChanges` lists for the resource with this key. */
  ignoredBy(key: string | undefined): PropertyPaths {
    return this.optionsOf(key).ignoreChanges ?? [];
  }

  /** The program's options for the resource with this key. */
  optionsOf(key: string | undefined): ChangeOptions {
    return (key === undefined ? undefined : this.options.get(key)) ?? {};
  }

  /** Records whether a resource has the option `retainOnDelete`. A former URN may be another resource's by now, which decides itself. */
  recordRetained(
    isRetained: boolean,
    { urn, key, formerUrns = [] }: Pick<TrackedResource, "key" | "formerUrns"> & { urn: string },
  ): void {
    this.retained.set(urn, isRetained);
    if (key !== undefined) this.retained.set(key, isRetained);
    for (const former of formerUrns) if (!this.retained.has(former)) this.retained.set(former, isRetained);
  }

  /** Whether the program's resource with this key or URN has the option `retainOnDelete`. */
  isRetained({ key = "", urn = "" }: Pick<HiddenInputs, "key" | "urn">): boolean {
    return this.retained.get(key) ?? this.retained.get(urn) ?? false;
  }

  /** Returns inputs or a state with what the program says in this run, if a check has reported it. */
  withCurrentValues<State extends HiddenInputs>(state: State): State {
    const now = state.key === undefined ? undefined : this.said.get(state.key);
    const isSame =
      now === undefined || isDeepStrictEqual(toPlainJson(now), toPlainJson(programValuesOf(state)));
    return isSame ? state : withProgramValues(state, now);
  }

  /** Whether a check of this run has told what the program says now of the resource with this key. */
  hasCurrentValues(key: string | undefined): boolean {
    return key !== undefined && this.said.has(key);
  }

  /** URN under which Pulumi shows a resource. Undefined if the recorded one now belongs to another resource. */
  displayUrnOf({ urn, key }: Pick<HiddenInputs, "urn" | "key">): string | undefined {
    return this.hasCurrentValues(key) || urn === undefined || !this.resources.has(urn) ? urn : undefined;
  }

  recordDeleted(object: ObjectIdentity): void {
    this.gone.add(identityKey(object));
  }

  wasDeleted(object: ObjectIdentity): boolean {
    return this.gone.has(identityKey(object));
  }

  liveOwner(object: ObjectIdentity): LiveObject | undefined {
    return this.live.get(identityKey(object));
  }
}
