import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextPollMs, remainingEstimateMs, type Sample } from "../../src/polling/schedule";

const ROUND_TRIP_MS = 100;
/** Bounds for a jump that is longer than the elapsed time: a tenth of the total duration, within these limits. */
const FIRST_JUMP_MS = { least: 2_500, most: 10_000 };

/** Simulates the polls of an operation. @param progressAt returns the reported progress at a share of the duration */
function simulate(totalMs: number, progressAt: (share: number) => number | undefined, spread?: number) {
  const samples: Sample[] = [{ atMs: 0, progress: progressAt(0) }];
  for (let elapsedMs = 0, polls = 1; ; polls++) {
    const askedMs = elapsedMs + nextPollMs({ elapsedMs, samples, spread }) + ROUND_TRIP_MS / 2;
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
  ])("with even progress over %i s needs at most %i polls and is at most 0.2 s late", (seconds, most) => {
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
    "with progress %s needs fewer than 90 polls and is at most 20 s late after ten minutes",
    (_what, progressAt) => {
      const { polls, lateMs } = simulate(600_000, progressAt);
      expect(polls).toBeLessThanOrEqual(90);
      expect(lateMs).toBeLessThanOrEqual(20_000);
    },
  );

  it("polls first after 0.55 s", () => {
    expect(nextPollMs({ elapsedMs: 0, samples: [{ atMs: 0, progress: 0 }] })).toBe(550);
  });

  it.each([
    ["steady", steady],
    ["missing", silent],
  ])(
    "spreads the polls of a hundred operations that started together, with progress %s",
    (_what, progressAt) => {
      const waits = Array.from({ length: 100 }, (_, at) => simulate(30_000, progressAt, at / 99));
      const lookedAtMs = waits.flatMap((wait) => wait.lookedAtMs).filter((atMs) => atMs > 4_000);
      const perHalfSecond = new Map<number, number>();
      for (const atMs of lookedAtMs) {
        const half = Math.floor(atMs / 500);
        perHalfSecond.set(half, (perHalfSecond.get(half) ?? 0) + 1);
      }
      expect(Math.max(...perHalfSecond.values())).toBeLessThanOrEqual(60);
    },
  );

  it.each([2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 120, 300, 600])(
    "is at most 0.25 s late after %i s of even progress, for any spread",
    (seconds) => {
      const usual = simulate(seconds * 1_000, steady);
      for (let spread = 0; spread <= 1; spread += 0.05) {
        const { polls, lateMs } = simulate(seconds * 1_000, steady, spread);
        expect(polls, `spread ${spread}`).toBeLessThanOrEqual(usual.polls + 1);
        expect(lateMs, `spread ${spread}`).toBeLessThanOrEqual(250);
      }
    },
  );

  it("sends the last poll so that it reaches the service just after the finish, for any travel time", () => {
    const samples = [0, 1_000, 2_000].map((atMs) => ({ atMs, tookMs: 300, progress: atMs / 4_000 }));
    expect(nextPollMs({ elapsedMs: 2_000, samples })).toBeCloseTo(2_000 + 80 - 300);
    const queued = samples.map((sample, at) => ({ ...sample, tookMs: [undefined, 300, 1_500][at] }));
    expect(nextPollMs({ elapsedMs: 2_000, samples: queued })).toBeCloseTo(2_000 + 80 - 300);
  });

  it("doesn't subtract the travel time if it only has the 202 and one poll", () => {
    const samples = [0, 1_000].map((atMs) => ({ atMs, tookMs: 300, progress: atMs / 2_000 }));
    expect(nextPollMs({ elapsedMs: 1_000, samples })).toBeCloseTo(1_000 + 80);
  });

  it("waits a fifth of the time until the earlier estimate if the estimates disagree", () => {
    const samples = [
      { atMs: 0, progress: 0 },
      { atMs: 10_000, progress: 0.02 },
      { atMs: 20_000, progress: 0.2 },
    ];
    const soonerMs = 20_000 + 0.8 * (10_000 / 0.18);
    expect(nextPollMs({ elapsedMs: 20_000, samples })).toBeCloseTo((soonerMs - 20_000) / 5);
  });

  it("doesn't trust estimates from two polls: progress that changed once and then stopped", () => {
    const samples = [0, 2, 4, 8, 16, 32, 64].map((second) => ({
      atMs: second * 1_000,
      progress: second < 2 ? 0 : 0.1,
    }));
    expect(nextPollMs({ elapsedMs: 64_000, samples })).toBeLessThanOrEqual(10_000);
  });

  it.each([
    [5, 7],
    [10, 10],
    [20, 14],
  ])(
    "without progress polls an operation of %i s at most %i times, and is at most a quarter late",
    (seconds, most) => {
      const { polls, lateMs } = simulate(seconds * 1_000, silent);
      expect(polls).toBeLessThanOrEqual(most);
      expect(lateMs).toBeLessThanOrEqual(seconds * 250);
    },
  );

  it("never polls before Retry-After", () => {
    expect(nextPollMs({ elapsedMs: 0, samples: [], retryAfterMs: 45_000 })).toBe(45_000);
  });

  it("estimates an operation that was already half done at the first poll", () => {
    const samples = [0, 1, 2].map((step) => ({ atMs: step * 1_000, progress: 0.5 + step * 0.1 }));
    expect(remainingEstimateMs({ elapsedMs: 2_000, samples })).toBeCloseTo(3_000);
  });

  it("isn't misled by progress that hardly changes", () => {
    const samples = [0, 1_000].map((atMs) => ({ atMs, progress: atMs === 0 ? 0 : Number.MIN_VALUE }));
    expect(nextPollMs({ elapsedMs: 1_000, samples })).toBe(500);
  });

  it("has no estimate without sufficient progress", () => {
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

  it("never waits longer than the elapsed time or a tenth of the duration, nor two minutes, nor less than 0.5 s, within 20% or 0.5 s", () => {
    fc.assert(
      fc.property(anySoFar, anySpread, (soFar, spread) => {
        const pauseMs = nextPollMs({ ...soFar, spread });
        expect(pauseMs).toBeGreaterThanOrEqual(500 * 0.8);
        const tenthMs = (soFar.elapsedMs + (remainingEstimateMs(soFar) ?? 0)) / 10;
        const always = 1.2 * Math.min(Math.max(FIRST_JUMP_MS.least, tenthMs), FIRST_JUMP_MS.most);
        expect(pauseMs).toBeLessThanOrEqual(Math.min(Math.max(soFar.elapsedMs, always), 120_000) + 500);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never waits longer than 20 s if the estimates disagree, nor 8 s without estimates", () => {
    fc.assert(
      fc.property(anySoFar, fc.boolean(), anySpread, ({ elapsedMs, samples }, tells, spread) => {
        const soFar = {
          elapsedMs,
          spread,
          samples: tells ? samples : samples.map(({ atMs }) => ({ atMs })),
        };
        fc.pre(remainingEstimateMs(soFar) === undefined);
        expect(nextPollMs(soFar)).toBeLessThanOrEqual(tells ? 20_000 : 8_000);
      }),
      { numRuns: 2_000 },
    );
  });

  it("reaches the end of an operation with any reported progress", () => {
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
