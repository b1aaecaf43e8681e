import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PollSchedule, remainingEstimateMs, type Sample } from "../../src/operations/schedule";

const ROUND_TRIP_MS = 100;
/** Longest an agreed jump may be where less than that has elapsed. */
const FIRST_JUMP_MS = 3_000;

/** Lets an operation of the given length run against the schedule. @param progressAt from the share of the time to the progress shown */
function simulate(totalMs: number, progressAt: (share: number) => number | undefined) {
  const samples: Sample[] = [{ atMs: 0, progress: progressAt(0) }];
  for (let elapsedMs = 0, polls = 1; ; polls++) {
    const askedMs = elapsedMs + PollSchedule.next({ elapsedMs, samples }) + ROUND_TRIP_MS / 2;
    elapsedMs = askedMs + ROUND_TRIP_MS / 2;
    if (!(elapsedMs < Number.MAX_SAFE_INTEGER)) throw new Error(`the schedule led to ${elapsedMs}`);
    if (askedMs + ROUND_TRIP_MS / 2 >= totalMs) return { polls, lateMs: elapsedMs - totalMs };
    samples.push({ atMs: elapsedMs, progress: progressAt(elapsedMs / totalMs) });
  }
}

const steady = (share: number) => share;
const inSteps = (share: number) => Math.floor(share * 10) / 10;
const inBursts = (share: number) => [0.31, 0.37, 0.6, 0.93].filter((burst) => burst < share).length / 5;
const stuck = (share: number) => Math.min(share * 2, 0.4);
const slowingDown = (share: number) => Math.sqrt(share);
const comingBack = (share: number) => (share > 0.5 ? share - 0.3 : share);
const silent = () => undefined;

describe("the poll schedule", () => {
  it.each([
    [2, 2],
    [5, 3],
    [10, 4],
    [20, 5],
    [45, 7],
    [120, 8],
    [300, 9],
    [600, 12],
  ])("with steady progress over %i s polls at most %i times and is at most 0.4 s late", (seconds, most) => {
    const { polls, lateMs } = simulate(seconds * 1_000, steady);
    expect(polls).toBeLessThanOrEqual(most);
    expect(lateMs).toBeLessThanOrEqual(400);
  });

  it.each([
    ["in steps", inSteps],
    ["in bursts", inBursts],
    ["stuck", stuck],
    ["slowing down", slowingDown],
    ["coming back", comingBack],
    ["missing", silent],
  ])(
    "with progress %s stays below 90 polls and is no later than 10 s in ten minutes",
    (_what, progressAt) => {
      const { polls, lateMs } = simulate(600_000, progressAt);
      expect(polls).toBeLessThanOrEqual(90);
      expect(lateMs).toBeLessThanOrEqual(10_000);
    },
  );

  it("polls first after 0.4 s", () => {
    expect(PollSchedule.next({ elapsedMs: 0, samples: [{ atMs: 0, progress: 0 }] })).toBe(400);
  });

  it("never asks before the service wants to be asked", () => {
    expect(PollSchedule.next({ elapsedMs: 0, samples: [], retryAfterMs: 45_000 })).toBe(45_000);
  });

  it("finds the rate of an operation that was met half-way", () => {
    const samples = [0, 1, 2].map((step) => ({ atMs: step * 1_000, progress: 0.5 + step * 0.1 }));
    expect(remainingEstimateMs({ elapsedMs: 2_000, samples })).toBeCloseTo(3_000);
  });

  it("is not led astray by progress that hardly moves", () => {
    const samples = [0, 1_000].map((atMs) => ({ atMs, progress: atMs === 0 ? 0 : Number.MIN_VALUE }));
    expect(PollSchedule.next({ elapsedMs: 1_000, samples })).toBe(250);
  });

  it("says nothing about the end where there is no telling", () => {
    expect(
      remainingEstimateMs({ elapsedMs: 5_000, samples: [{ atMs: 0 }, { atMs: 5_000 }] }),
    ).toBeUndefined();
    const still = [0, 1_000, 5_000].map((atMs) => ({ atMs, progress: 0.4 }));
    expect(remainingEstimateMs({ elapsedMs: 5_000, samples: still })).toBeUndefined();
  });

  const anyProgress = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined });
  const anySamples = fc
    .array(fc.record({ gapMs: fc.double({ min: 0, max: 1e6, noNaN: true }), progress: anyProgress }), {
      maxLength: 30,
    })
    .map((gaps) => {
      let atMs = 0;
      return gaps.map(({ gapMs, progress }) => {
        atMs += gapMs;
        return { atMs, progress };
      });
    });

  it("never waits longer than has elapsed (or three seconds), nor two minutes, nor less than 0.25 s after the first poll", () => {
    fc.assert(
      fc.property(anySamples, fc.double({ min: 0, max: 1e5, noNaN: true }), (samples, sinceMs) => {
        const elapsedMs = (samples.at(-1)?.atMs ?? 0) + sinceMs;
        const pauseMs = PollSchedule.next({ elapsedMs, samples });
        expect(pauseMs).toBeGreaterThanOrEqual(250);
        expect(pauseMs).toBeLessThanOrEqual(Math.min(Math.max(elapsedMs, FIRST_JUMP_MS), 120_000));
      }),
      { numRuns: 2_000 },
    );
  });

  it("comes to the end of an operation whatever its progress says", () => {
    fc.assert(
      fc.property(
        fc.array(anyProgress, { minLength: 1 }),
        fc.integer({ min: 1, max: 3_600_000 }),
        (progress, totalMs) => {
          const { polls } = simulate(totalMs, (share) => progress[Math.floor(share * progress.length)]);
          expect(polls).toBeLessThanOrEqual(60 + totalMs / 5_000);
        },
      ),
      { numRuns: 500 },
    );
  });
});
