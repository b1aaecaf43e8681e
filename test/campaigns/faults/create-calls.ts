import type { HostProvider } from "../../../src/provider/host";

/** Counts the objects that each call of `create` creates, including failed calls. */
export class CreateCalls {
  /** A number for each call, in order, by the resource's name. */
  private readonly made = new Map<string, number[]>();
  private readonly told = new Set<string>();
  /** Names of objects that no call can have created. */
  readonly strays: string[] = [];

  /** Wraps the provider of one resource. */
  watched(provider: HostProvider, resource: string): HostProvider {
    return {
      ...provider,
      create: (inputs) => {
        this.made.set(resource, [...(this.made.get(resource) ?? []), 0]);
        return provider.create(inputs);
      },
    };
  }

  /** Records a new object, even if its call has already given up. @param name starts with the resource's name and a dash */
  madeOne(name: string): void {
    const calls = this.made.get(name.split("-")[0] ?? "");
    const latest = calls?.pop();
    if (latest === undefined) this.strays.push(name);
    else calls?.push(latest + 1);
  }

  get all(): readonly number[] {
    return [...this.made.values()].flat();
  }

  /** Returns resources with a call that created more than one object. Each resource is returned once. */
  newlyDoubled(): string[] {
    const names = [...this.made].flatMap(([name, calls]) => (calls.some((made) => made > 1) ? name : []));
    const fresh = names.filter((name) => !this.told.has(name));
    for (const name of fresh) this.told.add(name);
    return fresh;
  }
}
