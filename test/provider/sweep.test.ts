import { describe, expect, test } from "vitest";
import type { ApiObject } from "../../src/api/client";
import { Sweep } from "../../src/provider/sweep";
import { FakeClock } from "../operations/fake-clock";

/** A list whose every reading is ended by the test: `end(0, "a", "b")` ends the first with two objects. */
function listInHand() {
  const ends: { resolve: (objects: ApiObject[]) => void; reject: (error: Error) => void }[] = [];
  const clock = new FakeClock();
  const list = () => new Promise<ApiObject[]>((resolve, reject) => ends.push({ resolve, reject }));
  return {
    sweep: new Sweep(list, clock),
    clock,
    begun: () => ends.length,
    end: (index: number, ...ids: string[]) => ends[index]?.resolve(ids.map((id) => ({ id, fields: { id } }))),
    fail: (index: number) => ends[index]?.reject(new Error("503")),
  };
}

const idsOf = async (sweep: Promise<ReadonlyMap<string, ApiObject>>) => [...(await sweep).keys()];

describe("a look that may be a moment old", () => {
  test("shares the sweep that is under way, and then its result for half a minute", async () => {
    const { sweep, clock, begun, end } = listInHand();
    const looks = [sweep.recent(), sweep.recent(), sweep.recent()];
    end(0, "a", "b");
    expect(await Promise.all(looks.map(idsOf))).toEqual([
      ["a", "b"],
      ["a", "b"],
      ["a", "b"],
    ]);
    await clock.advance(30_000);
    expect(await idsOf(sweep.recent())).toEqual(["a", "b"]);
    expect(begun()).toBe(1);
    await clock.advance(1);
    expect(sweep.usable).toBe(false);
    const later = sweep.recent();
    end(1, "a");
    expect(await idsOf(later)).toEqual(["a"]);
  });

  test("does not share what was seen before this process wrote", async () => {
    const { sweep, begun, end } = listInHand();
    const before = sweep.recent();
    end(0);
    expect(await idsOf(before)).toEqual([]);
    sweep.forget();
    const after = sweep.recent();
    end(1, "a");
    expect(await idsOf(after)).toEqual(["a"]);
    expect(begun()).toBe(2);
  });

  test("does not share a sweep that this process wrote into: its end is not remembered either", async () => {
    const { sweep, begun, end } = listInHand();
    const before = sweep.recent();
    sweep.forget();
    const after = sweep.recent();
    expect(begun()).toBe(2);
    end(1, "new");
    end(0, "old");
    expect(await idsOf(before)).toEqual(["old"]);
    expect(await idsOf(after)).toEqual(["new"]);
    expect(await idsOf(sweep.recent())).toEqual(["new"]);
  });
});

describe("a look that begins now", () => {
  test("waits for the sweep under way and shares the next with all who wait", async () => {
    const { sweep, clock, begun, end } = listInHand();
    const recent = sweep.recent();
    const looks = [sweep.after(), sweep.after(), sweep.after()];
    expect(begun()).toBe(1);
    end(0, "a");
    await recent;
    await clock.advance(0);
    expect(begun()).toBe(2);
    end(1, "a", "b");
    expect(await Promise.all(looks.map(idsOf))).toEqual([
      ["a", "b"],
      ["a", "b"],
      ["a", "b"],
    ]);
    expect(begun()).toBe(2);
  });

  test("never takes what was remembered", async () => {
    const { sweep, begun, end } = listInHand();
    const first = sweep.after();
    end(0, "a");
    await first;
    const second = sweep.after();
    end(1);
    expect(await idsOf(second)).toEqual([]);
    expect(begun()).toBe(2);
  });
});

describe("a sweep that fails", () => {
  test("fails for all who share it, and is not remembered", async () => {
    const { sweep, begun, end, fail } = listInHand();
    const looks = [sweep.recent(), sweep.recent()];
    fail(0);
    expect((await Promise.allSettled(looks)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(sweep.usable).toBe(false);
    const next = sweep.recent();
    end(1, "a");
    expect(await idsOf(next)).toEqual(["a"]);
    expect(begun()).toBe(2);
  });

  test("does not fail those who wait for the next", async () => {
    const { sweep, clock, end, fail } = listInHand();
    const first = sweep.recent();
    const next = sweep.after();
    fail(0);
    await expect(first).rejects.toThrow("503");
    await clock.advance(0);
    end(1, "a");
    expect(await idsOf(next)).toEqual(["a"]);
  });
});
