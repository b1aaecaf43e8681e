import { InitError } from "../provider";
import { configurationOf } from "../providers";
import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import { isProviderType } from "../state/urn";
import type { Diff } from "../values/diff";
import { now, type RegistrationResult, type Settle, type Step } from "./step";

export class UpdateStep implements Step {
  readonly op = "update";
  readonly logical = true;

  constructor(
    readonly old: Resource,
    readonly current: Resource,
    readonly diff: Diff,
    private readonly answer: Settle,
  ) {}

  get resource(): Resource {
    return this.current;
  }

  begin(snapshot: Snapshot): (saved: boolean) => void {
    const ended = snapshot.begin("updating", this.current);
    return (saved) => {
      ended();
      if (saved) {
        snapshot.done(this.old);
        snapshot.made(this.current);
      }
      snapshot.write();
    };
  }

  async apply(run: Run): Promise<void> {
    this.current.id = this.old.id;
    this.current.created = this.old.created;
    this.current.modified = this.old.modified;
    try {
      this.current.outputs = await this.#update(run);
    } catch (error) {
      if (!(error instanceof InitError)) throw error;
      this.current.outputs = error.outputs;
      this.current.initErrors = [...error.reasons];
      // The object doesn't have the new inputs. If the old ones stay, the next update tries again.
      this.current.inputs = this.old.inputs;
      this.current.modified = now();
      throw error;
    }
    if (this.current.custom) this.current.modified = now();
  }

  async #update(run: Run): Promise<Resource["outputs"]> {
    if (!this.current.custom) return {};
    if (isProviderType(this.current.type)) {
      await run.providers.configure(`${this.current.urn}::${this.current.id}`, this.current.inputs);
      return configurationOf(this.current.inputs);
    }
    const provider = await run.providers.get(this.current.provider);
    return provider.update(this.old, this.current, this.current.ignoreChanges);
  }

  settle(result: RegistrationResult): void {
    this.answer({ resource: this.current, result, unknown: false });
  }
}
