import type { Properties } from "../../../src/model/state";
import { type HostProvider, InitializationError } from "../../../src/provider/host";
import type { Saved } from "../service";
import { unmarked } from "./marked";

/** What of a command and of the resource's options decides which calls come. */
export interface How {
  /** `--target-replace`: what exists is not looked at. */
  readonly targetReplace?: boolean;
  /** The resource's option, which overrides the provider's answer. */
  readonly deleteBeforeReplace?: boolean;
  /** The resource's option of this name lists a changed property. */
  readonly replaceOnChanges?: boolean;
}

/**
 * What a stack's state has of one resource, and the calls with which the engine brings it to what the program wants, in the
 * order in which test/engine has them recorded.
 */
export class EngineRow {
  /** As the state has it. */
  saved: Saved | undefined;
  /** What the state has of it beside that, still to be deleted. */
  replaced: Saved[] = [];
  /** Whether the state has an initialisation error: then an update comes also where nothing has changed. */
  private isUnfinished = false;
  /** What the state has was deleted for a replacement that failed: the engine keeps it, and never deletes it again. */
  protected isDeleted = false;

  /** Nothing is left for another run to do. */
  get isSettled(): boolean {
    return !this.isUnfinished && !this.isDeleted && this.replaced.length === 0;
  }

  /** What the state has of it; it has something. */
  there(): Saved {
    if (this.saved === undefined) throw new Error("it is not in the state");
    return this.saved;
  }

  /** All that `up` asks before its end. */
  protected async brought(provider: HostProvider, news: Properties, how: How): Promise<void> {
    if (this.saved === undefined) return this.created(provider, await checked(provider, {}, news));
    const old = this.saved;
    if (how.targetReplace) return this.anew(provider, news, false);
    const inputs = await checked(provider, old.inputs, news);
    const answer = await provider.diff(old.id, old.state, inputs);
    if (answer.replaces.length > 0 || how.replaceOnChanges || this.isDeleted)
      return this.anew(provider, news, how.deleteBeforeReplace ?? answer.deleteBeforeReplace);
    if (answer.changes !== false || this.isUnfinished) return this.updated(provider, old, inputs);
    this.saved = { ...old, inputs };
  }

  /** The end of `up`: what was replaced goes. */
  protected async swept(provider: HostProvider): Promise<void> {
    for (const old of this.replaced) {
      await provider.delete(old.id, old.state);
      this.replaced = this.replaced.filter((one) => one !== old);
    }
  }

  protected async read(provider: HostProvider): Promise<void> {
    const { id, state } = this.there();
    const answer = await provider.read(id, state);
    this.isUnfinished = false;
    this.saved =
      "id" in answer
        ? { id: answer.id, inputs: unmarked(answer.inputs), state: unmarked(answer.props) }
        : undefined;
  }

  protected async deleted(provider: HostProvider, refresh: boolean): Promise<void> {
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

  private async anew(provider: HostProvider, news: Properties, deleteFirst: boolean): Promise<void> {
    const old = this.there();
    const inputs = await checked(provider, {}, news);
    if (deleteFirst && !this.isDeleted) await provider.delete(old.id, old.state);
    this.isDeleted ||= deleteFirst;
    await this.created(provider, inputs);
  }

  private async created(provider: HostProvider, inputs: Properties): Promise<void> {
    try {
      const { id, outs } = await provider.create(inputs);
      this.save({ id, inputs, state: { ...unmarked(outs), __provider: inputs.__provider } }, false);
    } catch (error) {
      if (error instanceof InitializationError)
        this.save({ id: error.id, inputs, state: unmarked(error.properties) }, true);
      throw error;
    }
  }

  /** What a creation has brought takes the place of what was there. */
  private save(made: Saved, isUnfinished: boolean): void {
    if (this.saved !== undefined && !this.isDeleted) this.replaced.push(this.saved);
    this.saved = made;
    this.isUnfinished = isUnfinished;
    this.isDeleted = false;
  }

  private async updated(provider: HostProvider, { id, inputs: before, state }: Saved, inputs: Properties) {
    try {
      const { outs } = await provider.update(id, state, inputs);
      this.saved = { id, inputs, state: { ...unmarked(outs), __provider: inputs.__provider } };
      this.isUnfinished = false;
    } catch (error) {
      if (!(error instanceof InitializationError)) throw error;
      // The engine keeps id and inputs as they were, and takes the properties for outputs.
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
