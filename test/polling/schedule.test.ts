import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PollSchedule, remainingEstimateMs, type Sample } from "../../src/polling/schedule";

const ROUND_TRIP_MS = 100;
/** Longest an agreed jump may be where less than that has elapsed: a tenth of the whole, between these. */
const FIRST_JUMP_MS = { least: 2_500, most: 10_000 };

/** Lets an operation of the given length run against the schedule. @param progressAt from the share of the time to the progress shown */
function simulate(totalMs: number, progressAt: (share: number) => number | undefined, spread?: number) {
  const samples: Sample[] = [{ atMs: 0, progress: progressAt(0) }];
  for (let elapsedMs = 0, polls = 1; ; polls++) {
    const askedMs = elapsedMs + PollSchedule.next({ elapsedMs, samples, spread }) + ROUND_TRIP_MS / 2;
    elapsedMs = askedMs + ROUND_TRIP_MS / 2;
    if (!(elapsedMs < Number.MAX_SAFE_INTEGER)) throw new Error(`the schedule led to ${elapsedMs}`);
    if (askedMs + ROUND_TRIP_MS / 2 >= totalMs) {
      return { polls, lateMs: elapsedMs - totalMs, lookedAtMs: samples.slice(1).map(({ atMs }) => atMs) };
    }
    samples.push({ atMs: elapsedMs, tookMs: ROUND_TRIP_MS, progress: progressAt(elapsedMs / totalMs) });
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
    [45, 6],
    [120, 6],
    [300, 8],
    [600, 11],
  ])("with steady progress over %i s polls at most %i times and is at most 0.2 s late", (seconds, most) => {
    const { polls, lateMs } = simulate(seconds * 1_000, steady);
    expect(polls).toBeLessThanOrEqual(most);
    expect(lateMs).toBeLessThanOrEqual(200);
  });

  it.each([
    ["in steps", inSteps],
    ["in bursts", inBursts],
    ["stuck", stuck],
    ["slowing down", slowingDown],
    ["coming back", comingBack],
    ["missing", silent],
  ])(
    "with progress %s stays below 90 polls and is no later than 20 s in ten minutes",
    (_what, progressAt) => {
      const { polls, lateMs } = simulate(600_000, progressAt);
      expect(polls).toBeLessThanOrEqual(90);
      expect(lateMs).toBeLessThanOrEqual(20_000);
    },
  );

  it("polls first after 0.55 s", () => {
    expect(PollSchedule.next({ elapsedMs: 0, samples: [{ atMs: 0, progress: 0 }] })).toBe(550);
  });

  it.each([
    ["steady", steady],
    ["missing", silent],
  ])("spreads the polls of a hundred that began together, with progress %s", (_what, progressAt) => {
    const waits = Array.from({ length: 100 }, (_, at) => simulate(30_000, progressAt, at / 99));
    const lookedAtMs = waits.flatMap((wait) => wait.lookedAtMs).filter((atMs) => atMs > 4_000);
    const perHalfSecond = new Map<number, number>();
    for (const atMs of lookedAtMs) {
      const half = Math.floor(atMs / 500);
      perHalfSecond.set(half, (perHalfSecond.get(half) ?? 0) + 1);
    }
    expect(Math.max(...perHalfSecond.values())).toBeLessThanOrEqual(60);
  });

  it.each([2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 120, 300, 600])(
    "is at most a quarter of a second late after %i s of steady progress, whether it looks sooner or later than others",
    (seconds) => {
      const usual = simulate(seconds * 1_000, steady);
      for (let spread = 0; spread <= 1; spread += 0.05) {
        const { polls, lateMs } = simulate(seconds * 1_000, steady, spread);
        expect(polls, `spread ${spread}`).toBeLessThanOrEqual(usual.polls + 1);
        expect(lateMs, `spread ${spread}`).toBeLessThanOrEqual(250);
      }
    },
  );

  it("has the last poll come to the service just behind the finish, however long it is on its way", () => {
    const samples = [0, 1_000, 2_000].map((atMs) => ({ atMs, tookMs: 300, progress: atMs / 4_000 }));
    expect(PollSchedule.next({ elapsedMs: 2_000, samples })).toBeCloseTo(2_000 + 80 - 300);
    const queued = samples.map((sample, at) => ({ ...sample, tookMs: [undefined, 300, 1_500][at] }));
    expect(PollSchedule.next({ elapsedMs: 2_000, samples: queued })).toBeCloseTo(2_000 + 80 - 300);
  });

  it("counts on no shorter way where all it knows are the 202 and one poll", () => {
    const samples = [0, 1_000].map((atMs) => ({ atMs, tookMs: 300, progress: atMs / 2_000 }));
    expect(PollSchedule.next({ elapsedMs: 1_000, samples })).toBeCloseTo(1_000 + 80);
  });

  it("goes a fifth of the way to the sooner finish where two estimates disagree", () => {
    const samples = [
      { atMs: 0, progress: 0 },
      { atMs: 10_000, progress: 0.02 },
      { atMs: 20_000, progress: 0.2 },
    ];
    const soonerMs = 20_000 + 0.8 * (10_000 / 0.18);
    expect(PollSchedule.next({ elapsedMs: 20_000, samples })).toBeCloseTo((soonerMs - 20_000) / 5);
  });

  it("does not take two looks for two estimates: progress that came once and then stood still", () => {
    const samples = [0, 2, 4, 8, 16, 32, 64].map((second) => ({
      atMs: second * 1_000,
      progress: second < 2 ? 0 : 0.1,
    }));
    expect(PollSchedule.next({ elapsedMs: 64_000, samples })).toBeLessThanOrEqual(10_000);
  });

  it.each([
    [5, 7],
    [10, 10],
    [20, 14],
  ])(
    "without progress looks at an operation of %i s at most %i times, and is no more than a quarter late",
    (seconds, most) => {
      const { polls, lateMs } = simulate(seconds * 1_000, silent);
      expect(polls).toBeLessThanOrEqual(most);
      expect(lateMs).toBeLessThanOrEqual(seconds * 250);
    },
  );

  it("never asks before the service wants to be asked", () => {
    expect(PollSchedule.next({ elapsedMs: 0, samples: [], retryAfterMs: 45_000 })).toBe(45_000);
  });

  it("finds the rate of an operation that was met half-way", () => {
    const samples = [0, 1, 2].map((step) => ({ atMs: step * 1_000, progress: 0.5 + step * 0.1 }));
    expect(remainingEstimateMs({ elapsedMs: 2_000, samples })).toBeCloseTo(3_000);
  });

  it("is not led astray by progress that hardly moves", () => {
    const samples = [0, 1_000].map((atMs) => ({ atMs, progress: atMs === 0 ? 0 : Number.MIN_VALUE }));
    expect(PollSchedule.next({ elapsedMs: 1_000, samples })).toBe(500);
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

  const anySoFar = fc
    .tuple(anySamples, fc.double({ min: 0, max: 1e5, noNaN: true }))
    .map(([samples, sinceMs]) => ({ elapsedMs: (samples.at(-1)?.atMs ?? 0) + sinceMs, samples }));

  const anySpread = fc.double({ min: 0, max: 1, noNaN: true });

  it("never waits longer than has elapsed (or a tenth of the whole), nor two minutes, nor less than half a second, give or take a fifth, or half a second to reach the finish", () => {
    fc.assert(
      fc.property(anySoFar, anySpread, (soFar, spread) => {
        const pauseMs = PollSchedule.next({ ...soFar, spread });
        expect(pauseMs).toBeGreaterThanOrEqual(500 * 0.8);
        const tenthMs = (soFar.elapsedMs + (remainingEstimateMs(soFar) ?? 0)) / 10;
        const always = 1.2 * Math.min(Math.max(FIRST_JUMP_MS.least, tenthMs), FIRST_JUMP_MS.most);
        expect(pauseMs).toBeLessThanOrEqual(Math.min(Math.max(soFar.elapsedMs, always), 120_000) + 500);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never waits longer than 20 s where the estimates don't agree, nor 8 s where there are none", () => {
    fc.assert(
      fc.property(anySoFar, fc.boolean(), anySpread, ({ elapsedMs, samples }, tells, spread) => {
        const soFar = {
          elapsedMs,
          spread,
          samples: tells ? samples : samples.map(({ atMs }) => ({ atMs })),
        };
        fc.pre(remainingEstimateMs(soFar) === undefined);
        expect(PollSchedule.next(soFar)).toBeLessThanOrEqual(tells ? 20_000 : 8_000);
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
