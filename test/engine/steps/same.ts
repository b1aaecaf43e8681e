import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import { isProviderType } from "../state/urn";
import type { RegistrationResult, Settle, Step } from "./step";

/** Keeps the resource. Its options in the state may still change. */
export class SameStep implements Step {
  readonly op = "same";
  readonly logical = true;

  constructor(
    readonly old: Resource,
    readonly current: Resource,
    /** Absent if the step only keeps an old entry that another one needs. */
    private readonly answer?: Settle,
  ) {}

  get resource(): Resource {
    return this.current;
  }

  begin(snapshot: Snapshot): (saved: boolean) => void {
    return (saved) => {
      if (!saved) return;
      snapshot.done(this.old);
      snapshot.made(this.current);
      if (JSON.stringify(this.old) === JSON.stringify({ ...this.current, formerUrn: "" }))
        snapshot.writeLater();
      else snapshot.write();
    };
  }

  async apply(run: Run): Promise<void> {
    this.current.id = this.old.id;
    this.current.outputs = this.old.outputs;
    if (isProviderType(this.current.type) && this.answer) {
      const reference = `${this.current.urn}::${this.current.id}`;
      if (!run.providers.has(reference)) await run.providers.configure(reference, this.old.inputs);
    }
  }

  settle(result: RegistrationResult): void {
    this.answer?.({ resource: this.current, result, unknown: false });
  }
}

/** A new resource that is left out of the operation. It isn't created, and the program gets unknown outputs. */
export class SkippedCreateStep implements Step {
  readonly op = "same";
  readonly logical = true;

  constructor(
    readonly current: Resource,
    private readonly answer: Settle,
  ) {}

  get resource(): Resource {
    return this.current;
  }

  begin(): () => void {
    return () => undefined;
  }

  async apply(): Promise<void> {}

  settle(result: RegistrationResult): void {
    this.answer({ resource: this.current, result, unknown: true });
  }
}
