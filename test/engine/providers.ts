import { ProviderProcess, type ProviderProcessOptions } from "./processes/provider-process";
import { Provider } from "./provider";
import type { Snapshot } from "./state/snapshot";
import { parseProviderReference, providerTypePrefix } from "./state/urn";
import type { Values } from "./values/values";

export const dynamicProviderType = `${providerTypePrefix}pulumi-nodejs`;

/** The provider processes of one command, by provider reference. */
export class Providers {
  readonly #configured = new Map<string, Promise<Provider>>();
  readonly #started: Promise<ProviderProcess>[] = [];
  #idle: Promise<ProviderProcess> | undefined;

  constructor(
    private readonly process: ProviderProcessOptions,
    private readonly snapshot: Snapshot,
    private readonly dryRun: boolean,
  ) {}

  /** Starts a process ahead of its use, while the program starts. */
  warmUp(): void {
    this.#idle ??= this.#start();
  }

  /** Configures a process for a provider's resource, in place of one it had. */
  async configure(reference: string, inputs: Values): Promise<void> {
    const before = this.#configured.get(reference);
    const now = this.#configure(inputs);
    this.#configured.set(reference, now);
    await now;
    if (before) await before.then((provider) => provider.close());
  }

  has(reference: string): boolean {
    return this.#configured.has(reference);
  }

  /** The provider behind a reference; where the program did not register it, it is configured from the state. */
  get(reference: string): Promise<Provider> {
    const known = this.#configured.get(reference);
    if (known) return known;
    const { urn, id } = parseProviderReference(reference);
    const resource = this.snapshot.resources().find((r) => r.urn === urn && r.id === id);
    if (!resource) throw new Error(`there is no provider ${reference} in the state`);
    if (resource.type !== dynamicProviderType) {
      throw new Error(`the fake engine runs dynamic resources only, not those of ${resource.type}`);
    }
    const provider = this.#configure(resource.inputs);
    this.#configured.set(reference, provider);
    return provider;
  }

  async close(): Promise<void> {
    const processes = await Promise.allSettled(this.#started);
    await Promise.all(processes.map((p) => (p.status === "fulfilled" ? p.value.close() : undefined)));
  }

  async #configure(inputs: Values): Promise<Provider> {
    const process = this.#idle ?? this.#start();
    this.#idle = undefined;
    const provider = new Provider(await process, this.dryRun);
    await provider.configure(inputs);
    return provider;
  }

  #start(): Promise<ProviderProcess> {
    const process = ProviderProcess.start(this.process);
    process.catch(() => undefined);
    this.#started.push(process);
    return process;
  }
}
