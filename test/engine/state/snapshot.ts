import type { Deployment, PendingOperation } from "../../harness/engine";
import { manifest, type StateFile } from "./file";
import { renamed } from "./renamed";
import { fromState, type Resource, toState } from "./resource";
import { makeUrn, parseUrn, stackType } from "./urn";

export interface Operation {
  readonly resource: Resource;
  readonly type: PendingOperation["type"];
}

/**
 * The state while a command runs: the entries that it has finished, in the order of completion, and then the old
 * entries that it hasn't handled. It is written after each step, and before each provider call.
 */
export class Snapshot {
  /** The entries at the start of the command. A refresh replaces the list. */
  base: Resource[];
  readonly leftOverOperations: readonly Operation[];
  /** Kept for the real engine, so that states can be exchanged with it. */
  readonly #secretsProviders: Pick<Deployment, "secrets_providers">;
  readonly #made: Resource[] = [];
  readonly #done = new Set<Resource>();
  readonly #pending = new Set<Operation>();
  #behind = true;

  constructor(
    private readonly file: StateFile,
    private readonly dryRun: boolean,
    /** Writes the state only at the end, as PULUMI_SKIP_CHECKPOINTS does. */
    private readonly skipsCheckpoints = false,
  ) {
    const deployment = file.read();
    const { secrets_providers } = deployment;
    this.#secretsProviders = secrets_providers ? { secrets_providers } : {};
    this.base = (deployment.resources ?? []).map(fromState);
    this.leftOverOperations = (deployment.pending_operations ?? []).map((operation) => ({
      resource: fromState(operation.resource),
      type: operation.type,
    }));
  }

  /** Records the start of a provider call. The returned function records its end. */
  begin(type: Operation["type"], resource: Resource): () => void {
    const operation = { type, resource };
    this.#pending.add(operation);
    this.write();
    return () => void this.#pending.delete(operation);
  }

  made(resource: Resource): void {
    this.#made.push(resource);
  }

  done(resource: Resource): void {
    this.#done.add(resource);
  }

  /** Replaces an entry with the result of a refresh. */
  exchange(old: Resource, current: Resource | undefined): void {
    this.base = this.base.flatMap((resource) => (resource !== old ? resource : current ? current : []));
  }

  resources(): Resource[] {
    return [...this.#made, ...this.base].filter((resource) => !this.#done.has(resource));
  }

  /** Returns the latest entry of a URN that isn't waiting for deletion. */
  find(urn: string): Resource | undefined {
    return this.resources().find((resource) => resource.urn === urn && !resource.delete);
  }

  /** Postpones writing an unimportant change to the next write, or to the end of the command. */
  writeLater(): void {
    this.#behind = true;
  }

  /** Writes postponed changes. */
  flush(): void {
    if (this.#behind) this.#write();
  }

  write(): void {
    if (this.skipsCheckpoints) this.#behind = true;
    else this.#write();
  }

  #write(): void {
    this.#behind = false;
    if (this.dryRun) return;
    const resources = this.resources();
    const urns = this.#renamedUrns(resources);
    const now = (urn: string) => urns.get(urn) ?? urn;
    const operations = [
      ...this.#pending,
      ...this.leftOverOperations.filter((operation) => operation.type === "creating"),
    ];
    const deployment: Deployment = {
      manifest: manifest(),
      ...this.#secretsProviders,
      resources: resources.map((resource) => toState(urns.size > 0 ? renamed(resource, now) : resource)),
      ...(operations.length === 0
        ? {}
        : {
            pending_operations: operations.map(({ resource, type }) => ({
              resource: toState(resource),
              type,
            })),
          }),
      metadata: {},
    };
    this.file.write(deployment);
  }

  /**
   * Returns the map of former URNs to URNs, for each renamed resource and the remaining entries of its former children.
   * The file contains the new URNs everywhere.
   */
  #renamedUrns(resources: readonly Resource[]): Map<string, string> {
    const urns = new Map(resources.filter((r) => r.formerUrn !== "").map((r) => [r.formerUrn, r.urn]));
    for (const { urn, parent } of urns.size > 0 ? resources : []) {
      const parentNow = urns.get(parent);
      if (parentNow === undefined || parseUrn(parentNow).qualifiedType === stackType) continue;
      const { stack, project, type, name } = parseUrn(urn);
      urns.set(urn, makeUrn({ stack, project }, parentNow, type, name));
    }
    return urns;
  }
}
