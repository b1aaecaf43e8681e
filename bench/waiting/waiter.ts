/** The result of one poll, in a format that is independent of all waiters. */
export interface Look {
  readonly state: "running" | "done" | "failed";
  /** From 0 to 1, or undefined if the service doesn't report progress. */
  readonly progress?: number | undefined;
  /** The Retry-After of the reply, in whole seconds. */
  readonly retryAfter?: number | undefined;
}

/** A way to wait. Each waiter runs the real code of a library, and converts the operation to the library's format. */
export interface Waiter {
  readonly name: string;
  /** Whether pauses grow with the waiting time, or depend on what the service reports. */
  readonly adaptive: boolean;
  /** What affects the waiter, besides the end of the operation. */
  readonly heeds: readonly ("progress" | "Retry-After")[];
  /**
   * Waits until the operation has ended. May reject if the operation failed.
   *
   * @param accepted the operation in the 202 reply
   * @param look polls once, including the round trip
   */
  wait(accepted: Look, look: () => Promise<Look>): Promise<unknown>;
}
