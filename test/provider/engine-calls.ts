import type { Properties } from "../../src/model/state";
import { type HostProvider, InitializationError } from "../../src/provider/host";
import { unmarked } from "./marked";
import type { Saved } from "./service";

/** The options of a command and of its resource that decide which calls the engine makes. */
export interface CommandOptions {
  /** Whether the command is `up --target-replace`. The engine then makes no diff. */
  readonly targetReplace?: boolean;
  /** The resource's option, which takes precedence over the provider's answer. */
  readonly deleteBeforeReplace?: boolean;
  /** Whether the resource's option of this name covers a changed property. */
  readonly replaceOnChanges?: boolean;
}

/** One resource in the state, and the provider calls of each command, in the order that is recorded in test/engine. */
export class EngineCalls {
  /** The resource in the state. */
  saved: Saved | undefined;
  /** Replaced objects in the state that are still to be deleted. */
  replaced: Saved[] = [];
  /** Whether the state has an initialization error. The engine then updates the resource even if nothing has changed. */
  private isUnfinished = false;
  /** Whether the object in the state was deleted for a replacement that failed. The engine keeps it, and never deletes it again. */
  protected isDeleted = false;

  /** Whether another run would have nothing to do. */
  get isSettled(): boolean {
    return !this.isUnfinished && !this.isDeleted && this.replaced.length === 0;
  }

  /** Returns the resource in the state. Fails if there is none. */
  inState(): Saved {
    if (this.saved === undefined) throw new Error("the resource is not in the state");
    return this.saved;
  }

  /** Records that the object in the state was deleted before its replacement was created. */
  saveAsDeleted(): void {
    this.isDeleted = true;
  }

  /** Makes the calls of `up`, except for the deletions at its end. */
  protected async apply(provider: HostProvider, news: Properties, how: CommandOptions): Promise<void> {
    if (this.saved === undefined) return this.create(provider, await checked(provider, {}, news));
    const old = this.saved;
    if (how.targetReplace) return this.replace(provider, news, false);
    const inputs = await checked(provider, old.inputs, news);
    const answer = await provider.diff(old.id, old.state, inputs);
    if (answer.replaces.length > 0 || how.replaceOnChanges || this.isDeleted)
      return this.replace(provider, news, how.deleteBeforeReplace ?? answer.deleteBeforeReplace);
    if (answer.changes !== false || this.isUnfinished) return this.update(provider, old, inputs);
    this.saved = { ...old, inputs };
  }

  /** Deletes the replaced objects, as at the end of `up`. */
  protected async deleteReplaced(provider: HostProvider): Promise<void> {
    for (const old of this.replaced) {
      await provider.delete(old.id, old.state);
      this.replaced = this.replaced.filter((one) => one !== old);
    }
  }

  protected async refreshWith(provider: HostProvider): Promise<void> {
    const { id, state } = this.inState();
    const answer = await provider.read(id, state);
    this.isUnfinished = false;
    this.saved =
      "id" in answer
        ? { id: answer.id, inputs: unmarked(answer.inputs), state: unmarked(answer.props) }
        : undefined;
  }

  protected async destroyWith(provider: HostProvider, refresh: boolean): Promise<void> {
    const own = this.saved === undefined || this.isDeleted ? [] : [this.saved];
    for (const one of [...own, ...this.replaced]) {
      if (refresh) await provider.diff(one.id, one.state, one.inputs);
      await provider.delete(one.id, one.state);
      if (one === this.saved) this.saved = undefined;
      else this.replaced = this.replaced.filter((other) => other !== one);
    }
    this.saved = undefined;
    this.isUnfinished = false;
    this.isDeleted = false;
  }

  private async replace(provider: HostProvider, news: Properties, deleteFirst: boolean): Promise<void> {
    const old = this.inState();
    const inputs = await checked(provider, {}, news);
    if (deleteFirst && !this.isDeleted) await provider.delete(old.id, old.state);
    this.isDeleted ||= deleteFirst;
    await this.create(provider, inputs);
  }

  private async create(provider: HostProvider, inputs: Properties): Promise<void> {
    try {
      const { id, outs } = await provider.create(inputs);
      this.save({ id, inputs, state: { ...unmarked(outs), __provider: inputs.__provider } }, false);
    } catch (error) {
      if (error instanceof InitializationError)
        this.save({ id: error.id, inputs, state: unmarked(error.properties) }, true);
      throw error;
    }
  }

  /** Saves a created object in place of the current one. */
  private save(created: Saved, isUnfinished: boolean): void {
    if (this.saved !== undefined && !this.isDeleted) this.replaced.push(this.saved);
    this.saved = created;
    this.isUnfinished = isUnfinished;
    this.isDeleted = false;
  }

  private async update(provider: HostProvider, { id, inputs: before, state }: Saved, inputs: Properties) {
    try {
      const { outs } = await provider.update(id, state, inputs);
      this.saved = { id, inputs, state: { ...unmarked(outs), __provider: inputs.__provider } };
      this.isUnfinished = false;
    } catch (error) {
      if (!(error instanceof InitializationError)) throw error;
      // The engine keeps the id and the inputs, and saves the properties as outputs.
      this.saved = { id, inputs: before, state: unmarked(error.properties) };
      this.isUnfinished = true;
      throw error;
    }
  }
}

async function checked(provider: HostProvider, olds: Properties, news: Properties): Promise<Properties> {
  const { inputs, failures } = await provider.check(olds, news);
  if (failures.length > 0) throw new Error(failures.map(({ reason }) => reason).join("\n"));
  return inputs;
}
