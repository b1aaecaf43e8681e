import { isDeepStrictEqual } from "node:util";
import { SecretForms } from "../diagnostics/redact";
import type { Entry } from "../journal/entry";
import type { CreationPurpose } from "../journal/journal";
import type { ChangeOptions, PropertyPaths } from "../model/changes";
import { isPlaceholder, type Pending } from "../model/pending";
import { identityKey, type ObjectIdentity } from "../model/resource-fields";
import { type SecretSource, secretsOf } from "../model/secrets";
import {
  type HiddenInputs,
  type ProgramValues,
  programValuesOf,
  type RecordedMembers,
  toPlainJson,
  withProgramValues,
} from "../model/state";

export interface TrackedResource {
  /** Whether the last check had prior inputs, and no diff has followed yet. */
  readonly checkedWithOlds?: boolean;
  /** The names of the arguments that differ from the prior inputs of the last check. The engine also detects these changes. */
  readonly changed?: readonly string[];
  /** The key of the resource that the state contains for this URN. `id` and `operation` also belong to that resource. */
  readonly key?: string | undefined;
  /** The time at which the key was generated, in milliseconds since 1970. */
  readonly keyAt?: number | undefined;
  readonly id?: string | undefined;
  readonly operation?: string | undefined;
  /** The purpose for which the journal records the unfinished creation that the next create resumes. */
  readonly resumes?: CreationPurpose | undefined;
  /** A journal entry for this URN that belongs to the previous resource with this URN, and the current URN of that resource. */
  readonly displaces?: { readonly purpose: CreationPurpose; readonly to: string } | undefined;
  /** The journal entry of the resource. The diff removes the entry if the state contains the object. */
  readonly entry?: Entry | undefined;
  readonly placeholder?: Pending | undefined;
  readonly imported?: string | undefined;
  /** The id in the `import` option when the state was saved. The object with this id is already imported. */
  readonly importedBefore?: string | undefined;
  /** The key of a creation that create has started and not finished. If the engine repeats create, it hasn't saved the object. */
  readonly unsaved?: string | undefined;
  /** The former URNs of the resource, according to its aliases. */
  readonly formerUrns?: readonly string[] | undefined;
  /** The endpoint of the unfinished creation that the state records. */
  readonly placeholderAt?: string | undefined;
}

export interface LiveObject {
  readonly urn: string | undefined;
  readonly key: string | undefined;
  /** Whether create has adopted an object that the state may already contain. */
  readonly isAdopted?: boolean;
}

/** Tracks the resources of this process. A process belongs to a single run of a single stack. */
export class ResourceTracker {
  /** The organization of the stack. The first check sets it or, in a run without checks, the first delete. */
  organization: string | undefined;
  /** The folder of Pulumi's project file, relative to the program's folder, if they differ. Set together with the organization. */
  projectFolder: string | undefined;
  isPreview = false;
  /** The URN in the last check of this run, which contains the current name of the stack. */
  urn: string | undefined;
  /** The secrets of all resources. A message about one resource may contain a secret of another resource. */
  readonly secrets = new SecretForms();
  private readonly resources = new Map<string | undefined, TrackedResource>();
  /** The objects that are managed by resources of this process. The map doesn't use URNs as keys, because aliases change URNs. */
  private readonly live = new Map<string, LiveObject>();
  /** For each key, the URN of the resource that currently has the key. */
  private readonly holders = new Map<string | undefined, string>();
  /** The values that the program sets in this run, by the key of the resource. */
  private readonly programValues = new Map<string | undefined, ProgramValues>();
  /** The options that affect the diff, by the key of the resource. */
  private readonly options = new Map<string | undefined, ChangeOptions>();
  /** The option `retainOnDelete`, by the key and by the URN of the resource. */
  private readonly retained = new Map<string, boolean>();
  private readonly gone = new Set<string>();
  private readonly deletedKeys = new Set<string>();
  /** For each claimed object or journal entry, the first URN that claimed it. Entries are identified by their keys. */
  private readonly claims = new Map<string, string>();
  /** The objects that a refresh has read and for which the diff hasn't ended yet. */
  private readonly refreshed = new Set<string>();

  get(urn: string | undefined): TrackedResource {
    return this.resources.get(urn) ?? {};
  }

  recordSecrets(...sources: readonly SecretSource[]): void {
    this.secrets.add(secretsOf(...sources).strings);
  }

  /** Records that a resource is about to be created or replaced. Returns the objects that the resource no longer manages. */
  recordCheckBeforeCreate(urn: string): string[] {
    this.urn = urn;
    this.resources.set(urn, this.get(urn));
    const objects = [...this.live].flatMap(([object, owner]) => (owner.urn === urn ? object : []));
    for (const object of objects) this.live.delete(object);
    return objects;
  }

  /** Records a check of an existing resource. Returns the URN of another resource with the same key, if any. */
  recordCheck(
    urn: string,
    olds: Pick<TrackedResource, "key" | "keyAt" | "imported" | "importedBefore" | "changed">,
  ): string | undefined {
    this.urn = urn;
    const { key } = olds;
    this.resources.set(urn, { ...this.get(urn), ...olds, checkedWithOlds: true });
    const holder = this.holders.get(key);
    if (key !== undefined) this.holders.set(key, urn);
    return holder === urn ? undefined : holder;
  }

  /** Reports whether a resource that is about to be replaced has already imported the object in its `import` option. */
  hasImported(urn: string | undefined, id: string): boolean {
    const { id: held, importedBefore } = this.get(urn);
    return id === held || id === importedBefore;
  }

  extend(
    urn: string,
    more: Pick<
      TrackedResource,
      "resumes" | "displaces" | "entry" | "unsaved" | "formerUrns" | "importedBefore"
    >,
  ): void {
    this.resources.set(urn, { ...this.get(urn), ...more });
  }

  /**
   * Claims an object or the key of a journal entry for a resource. Only a resource that manages the object replaces an earlier claim.
   * Returns the URN of the earlier claim. For the first claim, returns `urn`.
   */
  claim(what: string, urn: string, { isManager = false } = {}): string {
    const first = this.claims.get(what) ?? urn;
    this.claims.set(what, isManager ? urn : first);
    return first;
  }

  /** Records that a refresh has read an object. The URN of the next diff may be outdated after a rename. */
  recordRead(object: ObjectIdentity): void {
    this.refreshed.add(identityKey(object));
  }

  isRefreshed(object: ObjectIdentity): boolean {
    return this.refreshed.has(identityKey(object));
  }

  /** Returns the URN of the resource with this key. In a check with prior inputs, the key proves that the state contains the resource (I3). */
  holderOf(key: string | undefined): string | undefined {
    return this.holders.get(key);
  }

  /** Records a diff of a state. If a check has preceded the diff and the object won't be replaced, a resource manages the object. */
  recordDiff(
    urn: string | undefined,
    object: ObjectIdentity,
    { pending, endpoint, key: held, importId: importedBefore }: RecordedMembers,
    replaces: boolean,
  ): void {
    if (urn === undefined) return;
    const { checkedWithOlds = false, key: checked, keyAt } = this.get(urn);
    const isRefresh = this.refreshed.delete(identityKey(object));
    // If a resource must be deleted before its replacement is created, the engine calls diff for its dependents without a check.
    const key = checkedWithOlds || isRefresh ? checked : held;
    // A failed creation can't be resumed. If the id of its object is known, the object is replaced.
    const placeholder = isPlaceholder(object.id) && !pending?.failed ? pending : undefined;
    const operation = pending?.operation?.id;
    this.resources.set(urn, {
      key,
      keyAt,
      id: object.id,
      operation,
      placeholder,
      placeholderAt: endpoint,
      importedBefore,
    });
    if (checkedWithOlds && !replaces) this.live.set(identityKey(object), { urn, key });
  }

  /** Records that create has returned an object, which a resource now manages. A deleted object may have had the same id. */
  recordCreated(
    urn: string | undefined,
    object: ObjectIdentity,
    key: string | undefined,
    isAdopted = false,
  ): void {
    this.live.set(identityKey(object), { urn, key, isAdopted });
    this.gone.delete(identityKey(object));
    if (urn === undefined) return;
    if (key !== undefined) this.holders.set(key, urn);
    this.resources.set(urn, { id: object.id });
  }

  /** Records the values that the program sets in this run for a resource. The state may contain older values (I4). */
  recordProgramValues(
    key: string,
    now: ProgramValues,
    { ignoreChanges, replaceOnChanges, keepsName }: ChangeOptions = {},
  ): void {
    this.programValues.set(key, now);
    this.options.set(key, { ignoreChanges, replaceOnChanges, keepsName });
  }

  ignoredBy(key: string | undefined): PropertyPaths {
    return this.optionsOf(key).ignoreChanges ?? [];
  }

  optionsOf(key: string | undefined): ChangeOptions {
    return this.options.get(key) ?? {};
  }

  /** Records the option `retainOnDelete` of a resource and of its former URNs, unless other resources now have these URNs. */
  recordRetained(
    isRetained: boolean,
    { urn, key, formerUrns = [] }: Pick<TrackedResource, "key" | "formerUrns"> & { urn: string },
  ): void {
    this.retained.set(urn, isRetained);
    if (key !== undefined) this.retained.set(key, isRetained);
    for (const former of formerUrns) if (!this.retained.has(former)) this.retained.set(former, isRetained);
  }

  isRetained({ key = "", urn = "" }: Pick<HiddenInputs, "key" | "urn">): boolean {
    return this.retained.get(key) ?? this.retained.get(urn) ?? false;
  }

  /** Returns inputs or a state with the values that the program sets in this run, if a check has recorded them. */
  withCurrentValues<State extends HiddenInputs>(state: State): State {
    const now = this.programValues.get(state.key);
    const isSame =
      now === undefined || isDeepStrictEqual(toPlainJson(now), toPlainJson(programValuesOf(state)));
    return isSame ? state : withProgramValues(state, now);
  }

  hasCurrentValues(key: string | undefined): boolean {
    return this.programValues.has(key);
  }

  /** Returns the URN with which Pulumi displays a resource, or `undefined` if the recorded URN now belongs to another resource. */
  displayUrnOf({ urn, key }: Pick<HiddenInputs, "urn" | "key">): string | undefined {
    return this.hasCurrentValues(key) || urn === undefined || !this.resources.has(urn) ? urn : undefined;
  }

  /** Records that the resource with this key was deleted. The engine may still compare its state afterwards. */
  recordDeletedResource(key: string | undefined): void {
    if (key !== undefined) this.deletedKeys.add(key);
  }

  isDeletedResource(key: string | undefined): boolean {
    return key !== undefined && this.deletedKeys.has(key);
  }

  recordDeleted(object: ObjectIdentity): void {
    this.gone.add(identityKey(object));
  }

  wasDeleted(object: ObjectIdentity): boolean {
    return this.gone.has(identityKey(object));
  }

  /** Reports whether a resource with this key manages an object of this run. */
  hasLiveObject(key: string | undefined): boolean {
    return key !== undefined && [...this.live.values()].some((owner) => owner.key === key);
  }

  liveOwner(object: ObjectIdentity): LiveObject | undefined {
    return this.live.get(identityKey(object));
  }
}
