import { afterEach, describe, expect, it, vi } from "vitest";
import { beats, dominates, figuresIn } from "../../bench/waiting/dominance";
import { type Kind, planOperation } from "../../bench/waiting/operation";
import { ours } from "../../bench/waiting/ours";
import { everyHalfSecond, everyTenSeconds } from "../../bench/waiting/peers/constant";
import { coreLro } from "../../bench/waiting/peers/core-lro";
import { googleGax } from "../../bench/waiting/peers/google-gax";
import { utilWaiter } from "../../bench/waiting/peers/util-waiter";
import { runCells } from "../../bench/waiting/run-cells";
import { simulate, waitFor } from "../../bench/waiting/simulate";
import { inVirtualTime } from "../../bench/waiting/virtual-time";
import type { Waiter } from "../../bench/waiting/waiter";
import { peers, waiters } from "../../bench/waiting/waiters";

/** An operation that starts 50 ms before the wait. */
const lasting = (endsAt: number, retryAfter?: number) => ({
  endsAt,
  look: (at: number) => ({ state: at < endsAt ? ("running" as const) : ("done" as const), retryAfter }),
});

afterEach(() => void vi.restoreAllMocks());

describe("the simulation of waiting", () => {
  // A poll at t after the 202 reaches the service at t + 100 ms of the operation. Its reply arrives 50 ms later.
  it.each<[Waiter, number, number | undefined, { polls: number; overshootMs: number }]>([
    // Sent at 0.5, 1.1, 1.7 and 2.3 s.
    [everyHalfSecond, 2_000, undefined, { polls: 4, overshootMs: 2_300 + 150 - 2_000 }],
    // Sent at 0, 10.1 and 20.2 s.
    [everyTenSeconds, 12_000, undefined, { polls: 3, overshootMs: 20_200 + 150 - 12_000 }],
    // Sent at 0, 2.1 and 4.2 s; with Retry-After at 0, 5.1 s.
    [coreLro, 4_000, undefined, { polls: 3, overshootMs: 4_200 + 150 - 4_000 }],
    [coreLro, 4_000, 5, { polls: 2, overshootMs: 5_100 + 150 - 4_000 }],
    // Sent at 0, 0.2, 0.43, 0.699 and 1.0187 s: 0.1, 0.13, 0.169 and 0.2197 s of pause. Timers drop fractions of 1 ms.
    [googleGax, 1_000, undefined, { polls: 5, overshootMs: 1_018 + 150 - 1_000 }],
    // Sent at 0.55 s for the mocked random number, and then after Retry-After.
    [ours, 2_000, 5, { polls: 2, overshootMs: 550 + 100 + 5_000 + 150 - 2_000 }],
  ])(
    "gives the results for %o and %i ms that a manual calculation gives",
    async (waiter, endsAt, retryAfter, outcome) => {
      vi.spyOn(Math, "random").mockReturnValue(0.5);
      const { polls, overshootMs } = await waitFor(waiter, lasting(endsAt, retryAfter));
      expect({ polls, overshootMs: Math.round(overshootMs) }).toEqual(outcome);
    },
  );

  it("gives util-waiter a second pause of two seconds, and a third one of two to four", async () => {
    expect(await waitFor(utilWaiter, lasting(2_100))).toEqual({ polls: 2, overshootMs: 150 });
    const { polls, overshootMs } = await waitFor(utilWaiter, lasting(2_300));
    expect(polls).toBe(3);
    expect(overshootMs).toBeGreaterThanOrEqual(2_100 + 2_100 + 150 - 2_300);
    expect(overshootMs).toBeLessThanOrEqual(2_100 + 4_100 + 150 - 2_300);
  });

  it.each(waiters)("ends the wait of $name after a failed operation", async (waiter) => {
    const kind: Kind = { name: "fails", shape: "linear", failsWithin: 0.3 };
    const operation = planOperation(kind, 10, 3, { samples: 4, seed: 1 });
    expect(operation.look(operation.endsAt)).toEqual({ state: "failed" });
    expect((await waitFor(waiter, operation)).polls).toBeGreaterThan(0);
  });

  it("repeats the results for the same seed only", async () => {
    const kind: Kind = { name: "bursty", shape: "bursty" };
    const run = (seed: number) => simulate(ours, kind, 10, { samples: 5, seed });
    expect(await run(1)).toEqual(await run(1));
    expect(await run(1)).not.toEqual(await run(2));
  });

  it("fails instead of hanging if the work doesn't wait for a timer", async () => {
    await expect(inVirtualTime(() => new Promise(() => {}))).rejects.toThrow("not for a timer");
  });
});

describe("the waiting of this package", () => {
  const kinds: Kind[] = [
    { name: "linear", shape: "linear" },
    { name: "stalled", shape: "stalled" },
    { name: "steps", shape: "steps of 10 %" },
  ];

  it("is not dominated if progress is reported, and beats adaptive waiters if it is linear", async () => {
    const cells = await runCells(waiters, kinds, [2, 10, 45, 120], { samples: 40, seed: 1 });
    for (const { kind, seconds, figures } of cells) {
      for (const peer of peers) {
        const [own, theirs] = [figuresIn(figures, ours), figuresIn(figures, peer)];
        const cell = { kind, seconds, peer: peer.name };
        expect({ ...cell, dominates: dominates(theirs, own) }).toEqual({ ...cell, dominates: false });
        if (kind === "linear" && seconds >= 10 && peer.adaptive)
          expect({ ...cell, isBeaten: beats(own, theirs) }).toEqual({ ...cell, isBeaten: true });
      }
    }
  });
});
