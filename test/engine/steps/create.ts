import { randomUUID } from "node:crypto";
import { InitError } from "../provider";
import { configurationOf } from "../providers";
import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import { isProviderType } from "../state/urn";
import type { Diff } from "../values/diff";
import { unknownText } from "../values/values";
import { now, type RegistrationResult, type Settle, type Step } from "./step";

export class CreateStep implements Step {
  readonly old: Resource | undefined;
  readonly diff: Diff | undefined;
  readonly #oldIsDeletedLater: boolean;

  constructor(
    readonly current: Resource,
    private readonly answer: Settle,
    /** The resource to replace, if any. */
    replaces?: { old: Resource; diff: Diff | undefined; oldIsDeletedLater: boolean },
  ) {
    this.old = replaces?.old;
    this.diff = replaces?.diff;
    this.#oldIsDeletedLater = replaces?.oldIsDeletedLater ?? false;
  }

  get op(): "create" | "create-replacement" {
    return this.old ? "create-replacement" : "create";
  }

  get logical(): boolean {
    return !this.old;
  }

  get resource(): Resource {
    return this.current;
  }

  begin(snapshot: Snapshot): (saved: boolean) => void {
    const ended = snapshot.begin("creating", this.current);
    return (saved) => {
      ended();
      if (saved) {
        snapshot.made(this.current);
        if (this.old?.pendingReplacement) snapshot.done(this.old);
      }
      snapshot.write();
    };
  }

  async apply(run: Run): Promise<void> {
    try {
      await this.#create(run);
    } catch (error) {
      if (!(error instanceof InitError)) throw error;
      this.current.initErrors = [...error.reasons];
      this.#becomes(error);
      throw error;
    }
  }

  async #create(run: Run): Promise<void> {
    if (!this.current.custom) return this.#becomes({ id: "", outputs: {} });
    if (isProviderType(this.current.type)) {
      const id = run.dryRun ? unknownText : randomUUID();
      await run.providers.configure(`${this.current.urn}::${id}`, this.current.inputs);
      return this.#becomes({ id, outputs: configurationOf(this.current.inputs) });
    }
    const provider = await run.providers.get(this.current.provider);
    this.#becomes(await provider.create(this.current));
  }

  #becomes(created: Pick<Resource, "id" | "outputs">): void {
    this.current.id = created.id;
    this.current.outputs = created.outputs;
    this.current.created = now();
    this.current.modified = this.current.created;
    if (this.old && this.#oldIsDeletedLater) this.old.delete = true;
  }

  settle(result: RegistrationResult): void {
    this.answer({ resource: this.current, result, unknown: false });
  }
}
