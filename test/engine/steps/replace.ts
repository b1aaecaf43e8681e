import type { Resource } from "../state/resource";
import type { Diff } from "../values/diff";
import type { Step } from "./step";

/** Displays a replacement as a whole. A create step and a delete step do the work. */
export class ReplaceStep implements Step {
  readonly op = "replace";
  readonly logical = true;

  constructor(
    readonly old: Resource,
    readonly current: Resource,
    readonly diff: Diff | undefined,
  ) {}

  get resource(): Resource {
    return this.current;
  }

  begin(): () => void {
    return () => undefined;
  }

  async apply(): Promise<void> {}
}
