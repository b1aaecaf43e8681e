/** What one look at an operation shows, in nobody's own words. */
export interface Look {
  readonly state: "running" | "done" | "failed";
  /** From 0 to 1; undefined where the service does not tell. */
  readonly progress?: number | undefined;
  /** What the reply's Retry-After asks for, in whole seconds. */
  readonly retryAfter?: number | undefined;
}

/** Somebody's way to wait: the real code, told of the operation in the words it knows. */
export interface Waiter {
  readonly name: string;
  /** Whether it takes longer pauses the longer it has waited, or heeds what the service says. */
  readonly adaptive: boolean;
  /** What else than the end makes a difference to it. */
  readonly heeds: readonly ("progress" | "Retry-After")[];
  /**
   * Waits until the operation is over. May reject where it has failed.
   *
   * @param accepted what the 202 said
   * @param look one poll, with all of its round trip
   */
  wait(accepted: Look, look: () => Promise<Look>): Promise<unknown>;
}
