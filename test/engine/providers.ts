import { ProviderProcess, type ProviderProcessOptions } from "./processes/provider-process";
import { Provider } from "./provider";
import type { Snapshot } from "./state/snapshot";
import { parseProviderReference, providerTypePrefix } from "./state/urn";
import type { Values } from "./values/values";

export const dynamicProviderType = `${providerTypePrefix}pulumi-nodejs`;

/** The key for the engine's own part of a provider's inputs. The provider doesn't receive it. */
const internalKey = "__internal";

export function withVersion(inputs: Values, version: string): Values {
  return { ...inputs, [internalKey]: {}, version };
}

/** Returns the configuration of the provider process. The state has the same values as outputs. */
export function configurationOf(inputs: Values): Values {
  const { [internalKey]: _internal, ...configuration } = inputs;
  return configuration;
}

/** The provider processes of one command, by provider reference. */
export class Providers {
  readonly #configured = new Map<string, Promise<Provider>>();
  readonly #started: Promise<ProviderProcess>[] = [];
  /** Former URN of a renamed provider → its URN. */
  readonly #renamed = new Map<string, string>();
  #idle: Promise<ProviderProcess> | undefined;

  constructor(
    private readonly process: ProviderProcessOptions,
    private readonly snapshot: Snapshot,
    private readonly dryRun: boolean,
  ) {}

  /** Starts a process early, while the program starts. */
  warmUp(): void {
    this.#idle ??= this.#start();
  }

  /** Starts and configures a process for a provider, in place of an earlier one. */
  async configure(reference: string, inputs: Values): Promise<void> {
    const before = this.#configured.get(reference);
    const now = this.#configure(inputs);
    this.#configured.set(reference, now);
    await now;
    if (before) await before.then((provider) => provider.close());
  }

  has(reference: string): boolean {
    return this.#known(reference) !== undefined;
  }

  /** Makes references to a provider's former URN lead to its new URN. */
  renamed(former: string, urn: string): void {
    this.#renamed.set(former, urn);
  }

  /** Returns the provider of a reference. If the program didn't register it, the state's configuration is used. */
  get(reference: string): Promise<Provider> {
    const known = this.#known(reference);
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

  /** Ends the process of a deleted provider. */
  async remove(reference: string): Promise<void> {
    const provider = this.#configured.get(reference);
    this.#configured.delete(reference);
    if (provider) await (await provider).close();
  }

  async close(): Promise<void> {
    const processes = await Promise.allSettled(this.#started);
    await Promise.all(processes.map((p) => (p.status === "fulfilled" ? p.value.close() : undefined)));
  }

  #known(reference: string): Promise<Provider> | undefined {
    const { urn, id } = parseProviderReference(reference);
    const now = this.#renamed.get(urn) ?? urn;
    return this.#configured.get(reference) ?? this.#configured.get(`${now}::${id}`);
  }

  async #configure(inputs: Values): Promise<Provider> {
    const process = this.#idle ?? this.#start();
    this.#idle = undefined;
    const provider = new Provider(await process, this.dryRun);
    await provider.configure(configurationOf(inputs));
    return provider;
  }

  #start(): Promise<ProviderProcess> {
    const process = ProviderProcess.start(this.process);
    process.catch(() => undefined);
    this.#started.push(process);
    return process;
  }
}
