import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import type { Step } from "./step";

/**
 * What the `import` option comes to for a dynamic resource: the provider's process is asked to read without inputs,
 * among them the text that it would load, and refuses.
 */
export class ImportStep implements Step {
  readonly op = "import";
  readonly logical = true;

  constructor(
    readonly current: Resource,
    private readonly id: string,
  ) {}

  get resource(): Resource {
    return this.current;
  }

  begin(snapshot: Snapshot): (saved: boolean) => void {
    const ended = snapshot.begin("importing", this.current);
    return () => {
      ended();
      snapshot.write();
    };
  }

  async apply(run: Run): Promise<void> {
    const provider = await run.providers.get(this.current.provider);
    await provider.read(this.current.urn, this.id, {}, {});
    throw new Error("the fake engine does not import resources");
  }
}
