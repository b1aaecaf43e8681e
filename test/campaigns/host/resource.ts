import { confirm } from "../../../src/journal/confirm";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import { EngineRow } from "../../provider/progress/engine-row";
import type { Saved } from "../../provider/service";
import { overTheWire } from "./wire";

/** One process of the provider, and the journal on its machine. */
export interface Machine {
  readonly provider: HostProvider;
  readonly journalDir: string;
}

/** One resource as the engine deals with it through all the runs of its life, and as if it were alone. */
export class EngineResource extends EngineRow {
  constructor(readonly urn: string) {
    super();
  }

  /** All that the state has of it. */
  get entries(): readonly Saved[] {
    return this.saved === undefined ? this.replaced : [this.saved, ...this.replaced];
  }

  /** What an `up` does. @param wanted the program's arguments; undefined where it does not declare the resource (any more) */
  async up({ provider, journalDir }: Machine, wanted: Properties | undefined): Promise<void> {
    const host = overTheWire(provider);
    if (wanted === undefined) return this.deleted(host, false);
    await this.brought(host, this.keepingIgnored(wanted), {});
    // The program's part: it knows the id once the engine has saved it.
    await confirm(this.urn, this.there().id, { dir: journalDir });
    await this.swept(host);
  }

  /** The engine gives what the option `ignoreChanges` lists the value that the state's inputs have. */
  private keepingIgnored(wanted: Properties): Properties {
    const { saved } = this;
    const ignored = Array.isArray(wanted.__ignoreChanges) ? wanted.__ignoreChanges.map(String) : [];
    if (saved === undefined || ignored.length === 0) return wanted;
    const kept = { ...wanted, ...Object.fromEntries(ignored.map((name) => [name, saved.inputs[name]])) };
    return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
  }

  /** What `pulumi state delete` does. */
  forget(id = this.saved?.id): void {
    this.replaced = this.replaced.filter((one) => one.id !== id);
    if (this.saved?.id !== id) return;
    this.saved = undefined;
    this.isDeleted = false;
  }

  /** What a `refresh` does. */
  async refresh({ provider }: Machine): Promise<void> {
    if (this.saved !== undefined && !this.isDeleted) await this.read(overTheWire(provider));
  }
}
