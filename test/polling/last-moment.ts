import type { Clock } from "../../src/polling/clock";

/** The clock of processes that are killed as soon as they wait for something; or, with `pauses`, that many times later. */
export class LastMoment implements Clock {
  readonly reached: Promise<void>;
  private reach: () => void = () => {};

  constructor(private pauses = 0) {
    this.reached = new Promise((resolve) => {
      this.reach = resolve;
    });
  }

  now(): number {
    return 0;
  }

  alarm(): () => void {
    return () => {};
  }

  sleep(): Promise<void> {
    if (this.pauses-- > 0) return Promise.resolve();
    this.reach();
    return new Promise(() => {});
  }
}
