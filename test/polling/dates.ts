import type { Clock } from "../../src/polling/clock";

const MachineDate = Date;

/**
 * Lets the dates of this process pass with a test's clock, because the provider compares the dates of its requests with those of the service.
 *
 * @returns a function that returns the time of the service, in milliseconds since 1970
 */
export function passDatesWith(clock: Pick<Clock, "now">): () => number {
  const start = Math.floor(MachineDate.now() / 1_000) * 1_000;
  const now = (): number => start + clock.now();
  globalThis.Date = new Proxy(MachineDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
  });
  return now;
}

/** Lets the dates of this process pass with the clock of the machine again. */
export function restoreDates(): void {
  globalThis.Date = MachineDate;
}
