import type { Clock } from "../../src/operations/clock";

/** The clock of processes that are killed as soon as they wait for something. */
export class LastMoment implements Clock {
  readonly reached: Promise<void>;
  private reach: () => void = () => {};

  constructor() {
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

  sleep(): Promise<never> {
    this.reach();
    return new Promise(() => {});
  }
}
