import { type Clock, systemClock } from "../../src/polling/clock";

/**
 * The real time, so many times faster: pauses, deadlines and limits shrink together, and what a request takes grows with
 * them. Who gives the emulator the same clock has a service for which time passes as fast.
 */
export function fastClock(factor: number): Clock {
  return {
    now: () => systemClock.now() * factor,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
    alarm: (ms, ring) => systemClock.alarm(ms / factor, ring),
  };
}
