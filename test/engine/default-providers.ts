import { dynamicProviderType, withVersion } from "./providers";
import type { Registered } from "./steps/step";
import type { Values } from "./values/values";
import type { Goal } from "./wire/goal";

/** Registers a default provider for each version that resources request, one at a time. */
export class DefaultProviders {
  readonly #byVersion = new Map<string, WakeUpCall<string>>();
  #last: Promise<unknown> | undefined;

  constructor(
    private readonly register: (goal: Goal) => Promise<Registered>,
    private readonly inputs: () => Values,
  ) {}

  /** Returns the reference to the default provider of a version. Without a version, there is a separate default provider. */
  reference(version: string): Promise<string> {
    const known = this.#byVersion.get(version);
    if (known) return known.wait();
    const call = new WakeUpCall<string>();
    this.#byVersion.set(version, call);
    const goal = defaultProvider(this.inputs(), version);
    const registered = this.#last ? this.#last.then(() => this.register(goal)) : this.register(goal);
    this.#last = registered.catch(() => undefined);
    return call.start(registered.then(({ resource }) => `${resource.urn}::${resource.id}`));
  }
}

/**
 * A result that many callers wait for. In the real engine, the last caller usually continues first, because Go wakes it
 * last. This class does the same, so that programs that depend on the order fail in tests, too.
 */
class WakeUpCall<T> {
  readonly #waiting: PromiseWithResolvers<T>[] = [];
  #done = false;
  #awaited: Promise<T> | undefined;

  start(awaited: Promise<T>): Promise<T> {
    this.#awaited = awaited;
    const waking = this.wait();
    const finish = (wake: (sleeper: PromiseWithResolvers<T>) => void) => {
      this.#done = true;
      const last = this.#waiting.pop();
      for (const sleeper of last ? [last, ...this.#waiting.splice(0)] : []) wake(sleeper);
    };
    awaited.then(
      (value) => finish((sleeper) => sleeper.resolve(value)),
      (error: unknown) => finish((sleeper) => sleeper.reject(error)),
    );
    return waking;
  }

  wait(): Promise<T> {
    if (this.#done && this.#awaited) return this.#awaited;
    const sleeper = Promise.withResolvers<T>();
    this.#waiting.push(sleeper);
    return sleeper.promise;
  }
}

function defaultProvider(inputs: Values, version: string): Goal {
  return {
    type: dynamicProviderType,
    name: version === "" ? "default" : `default_${version.split(/[.+-]/).join("_")}`,
    custom: true,
    parent: "",
    inputs: version === "" ? inputs : withVersion(inputs, version),
    provider: "",
    version: "",
    dependencies: [],
    propertyDependencies: {},
    protect: undefined,
    retainOnDelete: undefined,
    deleteBeforeReplace: undefined,
    ignoreChanges: [],
    replaceOnChanges: [],
    additionalSecretOutputs: [],
    aliases: [],
    importId: "",
    customTimeouts: {},
    deletedWith: "",
    replaceWith: [],
    sourcePosition: "",
  };
}
