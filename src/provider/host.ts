import type { Properties } from "../model/state";
/** What Pulumi's dynamic-provider host asks of a provider. Old states name it for ever. */
export interface HostProvider {
  configure(request: { config: { get(key: string): string | undefined } }): Promise<void>;
  check(olds: Properties, news: Properties): Promise<{ inputs: Properties; failures: CheckFailure[] }>;
  diff(id: string, olds: Properties, news: Properties): Promise<DiffResult>;
  create(inputs: Properties): Promise<{ id: string; outs: Properties }>;
  read(id: string, props: Properties): Promise<ReadResult>;
  update(id: string, olds: Properties, news: Properties): Promise<{ outs: Properties }>;
  delete(id: string, props: Properties): Promise<void>;
}

/** The host prints `property` beside the raw value, secret or not: it stays empty, and the reason names the path. */
export interface CheckFailure {
  property: "";
  reason: string;
}

export interface DiffResult {
  /** `undefined` lets the engine compare, so that it shows each property and honours its own options. */
  changes: boolean | undefined;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

/** Without an id, the object is gone. */
export type ReadResult = { id: string; props: Properties; inputs: Properties } | Record<string, never>;

/** An error as the host prints it: `message` on the resource's row, and elsewhere `toString()` with `stack`. */
export class HostError extends Error {
  override readonly name = "cloudinfra";

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.stack = message;
  }

  override toString(): string {
    return this.name;
  }
}

/** Saved by the engine as a resource that exists but is not as wanted: the next `up` comes back to it. */
export class InitializationError extends HostError {
  readonly reasons: string[];

  constructor(
    readonly id: string,
    readonly properties: Properties,
    message: string,
    cause: unknown,
  ) {
    super(message, cause);
    this.reasons = [message];
  }
}
