import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import type { Step } from "./step";

/**
 * The `import` option of a dynamic resource. The engine makes the provider process read without inputs, and so without
 * the `__provider` text. The process rejects that.
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
