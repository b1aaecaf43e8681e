import { InitError } from "../provider";
import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import { isProviderType } from "../state/urn";
import { type Diff, identical, invert } from "../values/diff";
import { now, type Step } from "./step";

/** Updates one entry of the state with the result of a read. */
export class RefreshStep implements Step {
  readonly op = "refresh";
  readonly logical = false;
  /** The entry after the refresh, or undefined if the object no longer exists. */
  current: Resource | undefined;
  diff: Diff | undefined;

  constructor(
    readonly old: Resource,
    /**
     * The resource that the program registers. The entry gets its options and provider. With a program, entries are
     * replaced one by one. Without one, the caller replaces the whole list.
     */
    private readonly registered?: Resource,
  ) {
    this.current = old;
  }

  get resource(): Resource {
    return this.old;
  }

  /** Refreshes of components aren't shown, because each component also has its own step. */
  get internal(): boolean {
    return this.registered !== undefined && !this.old.custom;
  }

  /** The displayed result. */
  get result(): "same" | "update" | "delete" {
    if (!this.current) return "delete";
    return this.current === this.old || !this.diff?.changes ? "same" : "update";
  }

  begin(snapshot: Snapshot): (saved: boolean) => void {
    return (saved) => {
      if (!this.registered || !saved || this.current === this.old) return;
      snapshot.exchange(this.old, this.current);
      snapshot.write();
    };
  }

  async apply(run: Run): Promise<void> {
    if (!this.old.custom || isProviderType(this.old.type) || this.old.pendingReplacement) return;
    const { id, inputs, outputs } = this.old;
    const { urn, provider: reference } = this.registered ?? this.old;
    const provider = await run.providers.get(reference);
    const { read, initErrors } = await provider.read(urn, id, inputs, outputs).then(
      (read) => ({ read, initErrors: [] as string[] }),
      (error: unknown) => {
        if (!(error instanceof InitError)) throw error;
        const message = `Refreshed resource is in an unhealthy state:\n* ${error.reasons.join("\n* ")}`;
        run.reporter.diagnose({ severity: "warning", message, urn });
        return { read: { id: error.id, outputs: error.outputs, inputs }, initErrors: [...error.reasons] };
      },
    );
    if (read.id === "") {
      this.current = undefined;
      return;
    }
    const current = {
      ...(this.registered ?? this.old),
      id: read.id,
      inputs: read.inputs ?? inputs,
      outputs: read.outputs,
      initErrors,
    };
    this.current = current;
    if (!identical(current.inputs, inputs) || !identical(current.outputs, outputs)) current.modified = now();
    if (this.old.external) return;
    // Deliberately reversed: compare as if an update with the program's inputs followed.
    this.diff = invert(
      await provider.diff(urn, current.id, current.inputs, current.outputs, inputs, this.old.ignoreChanges),
    );
  }
}
