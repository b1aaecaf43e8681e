import type { HostProvider } from "../../../src/provider/host";

/** How many objects each call of `create` has made, however it ended. */
export class CreateCalls {
  /** One number for each call, the latest last, by the resource's name. */
  private readonly made = new Map<string, number[]>();
  private readonly told = new Set<string>();
  /** Objects that no call can have asked for. */
  readonly strays: string[] = [];

  /** The provider of one resource, watched. */
  watched(provider: HostProvider, resource: string): HostProvider {
    return {
      ...provider,
      create: (inputs) => {
        this.made.set(resource, [...(this.made.get(resource) ?? []), 0]);
        return provider.create(inputs);
      },
    };
  }

  /** An object was made; also when its call has given up meanwhile. @param name begins with the resource's, and a dash */
  madeOne(name: string): void {
    const calls = this.made.get(name.split("-")[0] ?? "");
    const latest = calls?.pop();
    if (latest === undefined) this.strays.push(name);
    else calls?.push(latest + 1);
  }

  get all(): readonly number[] {
    return [...this.made.values()].flat();
  }

  /** Resources of which a call has made more than one object; each is told once. */
  newlyDoubled(): string[] {
    const names = [...this.made].flatMap(([name, calls]) => (calls.some((made) => made > 1) ? name : []));
    const fresh = names.filter((name) => !this.told.has(name));
    for (const name of fresh) this.told.add(name);
    return fresh;
  }
}
