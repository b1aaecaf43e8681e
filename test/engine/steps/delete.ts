import type { StepOp } from "../../harness/engine";
import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import { isProviderType } from "../state/urn";
import type { Step } from "./step";

export class ProtectedError extends Error {
  constructor(urn: string) {
    super(
      `resource "${urn}" cannot be deleted\nbecause it is protected. To unprotect it, remove the \`protect\` flag in ` +
        `the program and run \`pulumi up\`, or run:\n\`pulumi state unprotect '${urn}'\``,
    );
  }
}

export class DeleteStep implements Step {
  readonly #replacing: "no" | "left-over" | "before-create";

  constructor(
    readonly old: Resource,
    replacing: "no" | "left-over" | "before-create" = "no",
  ) {
    this.#replacing = replacing;
  }

  get op(): StepOp {
    if (this.old.external) return this.#replacing === "no" ? "read-discard" : "discard-replaced";
    return this.#replacing === "no" ? "delete" : "delete-replaced";
  }

  get logical(): boolean {
    return this.#replacing === "no";
  }

  get resource(): Resource {
    return this.old;
  }

  begin(snapshot: Snapshot): (saved: boolean) => void {
    const ended = snapshot.begin("deleting", this.old);
    return (saved) => {
      ended();
      if (saved && !this.old.pendingReplacement) snapshot.done(this.old);
      snapshot.write();
    };
  }

  async apply(run: Run): Promise<void> {
    if (this.#replacing === "no" && this.old.protect) throw new ProtectedError(this.old.urn);
    const goesWithAnother = this.old.deletedWith !== "" && run.deletions.has(this.old.deletedWith);
    const nothingToCall =
      this.old.external || this.old.retainOnDelete || goesWithAnother || isProviderType(this.old.type);
    if (!run.dryRun && this.old.custom && !nothingToCall) {
      const provider = await run.providers.get(this.old.provider);
      await provider.delete(this.old);
    }
    if (!run.dryRun && isProviderType(this.old.type))
      await run.providers.remove(`${this.old.urn}::${this.old.id}`);
    // Only after the deletion, so that a failed deletion is retried.
    if (this.#replacing === "before-create") this.old.pendingReplacement = true;
  }
}

/** Removes an entry whose object was deleted for a replacement that was never created. */
export class RemovePendingReplaceStep implements Step {
  readonly op = "remove-pending-replace";
  readonly logical = false;

  constructor(readonly old: Resource) {}

  get resource(): Resource {
    return this.old;
  }

  begin(snapshot: Snapshot): (saved: boolean) => void {
    return () => {
      snapshot.done(this.old);
      snapshot.write();
    };
  }

  async apply(): Promise<void> {}
}
