import { AsyncLocalStorage } from "node:async_hooks";
import diagnostics from "node:diagnostics_channel";

/** The number of requests of a piece of work, including retries. */
export interface Tally {
  requests: number;
}

const CHANNEL = "undici:request:create";

/**
 * Counts requests by the work that sends them, for concurrent work. A shared list counts for the work that requested it
 * first.
 */
export class RequestCounter {
  private readonly work = new AsyncLocalStorage<Tally>();
  private readonly count = (): void => {
    const tally = this.work.getStore();
    if (tally !== undefined) tally.requests += 1;
  };

  constructor() {
    diagnostics.subscribe(CHANNEL, this.count);
  }

  during<T>(tally: Tally, work: () => Promise<T>): Promise<T> {
    return this.work.run(tally, work);
  }

  close(): void {
    diagnostics.unsubscribe(CHANNEL, this.count);
  }
}
