import { InitError } from "../provider";
import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import { identical } from "../values/diff";
import { unknownText } from "../values/values";
import { now, type RegistrationResult, type Settle, type Step } from "./step";

/** Reads a resource that the program doesn't manage. */
export class ReadStep implements Step {
  constructor(
    readonly current: Resource,
    readonly old: Resource | undefined,
    private readonly replacing: boolean,
    private readonly answer: Settle,
  ) {}

  get op(): "read" | "read-replacement" {
    return this.replacing ? "read-replacement" : "read";
  }

  // A read doesn't count as a change, unless it changes the state.
  get logical(): boolean {
    return false;
  }

  get resource(): Resource {
    return this.current;
  }

  begin(snapshot: Snapshot): (saved: boolean) => void {
    const ended = snapshot.begin("reading", this.current);
    return (saved) => {
      ended();
      if (saved) {
        if (this.old) snapshot.done(this.old);
        snapshot.made(this.current);
      }
      snapshot.write();
    };
  }

  async apply(run: Run): Promise<void> {
    if (this.current.id === unknownText) return;
    const provider = await run.providers.get(this.current.provider);
    try {
      const read = await provider.read(
        this.current.urn,
        this.current.id,
        this.current.inputs,
        this.current.inputs,
      );
      // The host returns outputs even if the object doesn't exist, so a missing object goes unnoticed here.
      this.current.id = read.id || this.current.id;
      this.current.outputs = read.outputs;
      this.#compareWithOld();
    } catch (error) {
      if (!(error instanceof InitError)) throw error;
      this.current.outputs = error.outputs;
      this.current.initErrors = [...error.reasons];
      this.#compareWithOld();
      throw error;
    }
  }

  #compareWithOld(): void {
    if (!this.old) return;
    if (this.replacing) this.old.delete = true;
    this.current.created = this.old.created;
    const same =
      identical(this.old.inputs, this.current.inputs) && identical(this.old.outputs, this.current.outputs);
    this.current.modified = same ? this.old.modified : now();
  }

  settle(result: RegistrationResult): void {
    this.answer({ resource: this.current, result, unknown: false });
  }
}
