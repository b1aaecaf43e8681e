import type { Clock } from "../../src/polling/clock";

/** A clock for processes that are killed when they start to wait, or after `pauses` waits. */
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
