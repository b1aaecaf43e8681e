import { confirm } from "../../../src/journal/entry";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import { EngineCalls } from "../../provider/engine-calls";
import type { Saved } from "../../provider/service";
import { overTheWire } from "./wire";

/** A provider process, and the journal of its machine. */
export interface Machine {
  readonly provider: HostProvider;
  readonly journalDir: string;
}

/** One resource as the engine handles it, through all runs of its life and independent of others. */
export class EngineResource extends EngineCalls {
  constructor(readonly urn: string) {
    super();
  }

  /** Returns all entries of the resource in the state. */
  get entries(): readonly Saved[] {
    return this.saved === undefined ? this.replaced : [this.saved, ...this.replaced];
  }

  /** Runs `up`. @param wanted the program's arguments, or undefined if the program doesn't declare the resource */
  async up({ provider, journalDir }: Machine, wanted: Properties | undefined): Promise<void> {
    const host = overTheWire(provider);
    if (wanted === undefined) return this.destroyWith(host, false);
    await this.apply(host, this.keepingIgnored(wanted), {});
    // The program's part: it receives the id when the engine has saved the resource.
    const { id, inputs } = this.inState();
    await confirm(String(inputs.__key), id, { dir: journalDir });
    await this.deleteReplaced(host);
  }

  /** For the arguments in `ignoreChanges`, the engine uses the values of the state's inputs. */
  private keepingIgnored(wanted: Properties): Properties {
    const { saved } = this;
    const ignored = Array.isArray(wanted.__ignoreChanges) ? wanted.__ignoreChanges.map(String) : [];
    if (saved === undefined || ignored.length === 0) return wanted;
    const kept = { ...wanted, ...Object.fromEntries(ignored.map((name) => [name, saved.inputs[name]])) };
    return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
  }

  /** Runs `pulumi state delete`. */
  forget(id = this.saved?.id): void {
    this.replaced = this.replaced.filter((one) => one.id !== id);
    if (this.saved?.id !== id) return;
    this.saved = undefined;
    this.isDeleted = false;
  }

  /** Runs `refresh`. */
  async refresh({ provider }: Machine): Promise<void> {
    if (this.saved !== undefined && !this.isDeleted) await this.refreshWith(overTheWire(provider));
  }
}
