import { describe, expect, test } from "vitest";
import type { ApiObject, Page } from "../../../src/api/client";
import { instanceKind } from "../../../src/model/resource-fields";
import { deadlineIn } from "../../../src/polling/clock";
import { ListCache } from "../../../src/provider/lookup/list-cache";
import { ObjectFinder } from "../../../src/provider/lookup/object-finder";
import { FakeClock } from "../../polling/fake-clock";
import { FakeService } from "../fake-service";

/** A list of one page, whose every reading is ended by the test: `end(0, "a", "b")` ends the first with two objects. */
function listInHand() {
  const ends: { resolve: (page: Page) => void; reject: (error: Error) => void }[] = [];
  const clock = new FakeClock();
  async function* pages() {
    yield await new Promise<Page>((resolve, reject) => ends.push({ resolve, reject }));
  }
  return {
    cache: new ListCache(pages, clock),
    clock,
    begun: () => ends.length,
    end: (index: number, ...ids: string[]) => ends[index]?.resolve(page(true, ids)),
    fail: (index: number) => ends[index]?.reject(new Error("503")),
  };
}

const page = (isLast: boolean, ids: readonly string[]): Page => ({
  objects: ids.map((id) => ({ id, fields: { id }, revision: undefined })),
  isLast,
});

const idsOf = async (list: Promise<ReadonlyMap<string, ApiObject>>) => [...(await list).keys()];

describe("a lookup that may use a recent list", () => {
  test("shares a running list, and then its result for 30 s", async () => {
    const { cache, clock, begun, end } = listInHand();
    const looks = [cache.recent(), cache.recent(), cache.recent()];
    end(0, "a", "b");
    expect(await Promise.all(looks.map(idsOf))).toEqual([
      ["a", "b"],
      ["a", "b"],
      ["a", "b"],
    ]);
    await clock.advance(30_000);
    expect(await idsOf(cache.recent())).toEqual(["a", "b"]);
    expect(begun()).toBe(1);
    await clock.advance(1);
    expect(cache.current).toBeUndefined();
    const later = cache.recent();
    end(1, "a");
    expect(await idsOf(later)).toEqual(["a"]);
  });

  test("doesn't use a list from before a write of this process", async () => {
    const { cache, begun, end } = listInHand();
    const before = cache.recent();
    end(0);
    expect(await idsOf(before)).toEqual([]);
    cache.invalidate();
    const after = cache.recent();
    end(1, "a");
    expect(await idsOf(after)).toEqual(["a"]);
    expect(begun()).toBe(2);
  });

  test("doesn't use a list that was running during a write of this process", async () => {
    const { cache, begun, end } = listInHand();
    const before = cache.recent();
    cache.invalidate();
    const after = cache.recent();
    expect(begun()).toBe(2);
    end(1, "new");
    end(0, "old");
    expect(await idsOf(before)).toEqual(["old"]);
    expect(await idsOf(after)).toEqual(["new"]);
    expect(await idsOf(cache.recent())).toEqual(["new"]);
  });
});

describe("a lookup that needs a fresh list", () => {
  test("waits for the running list and shares the next one with other waiting calls", async () => {
    const { cache, clock, begun, end } = listInHand();
    const recent = cache.recent();
    const looks = [cache.fresh(), cache.fresh(), cache.fresh()];
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

  test("waits for the running list even after a write, so that many deletions share the next one", async () => {
    const { cache, clock, begun, end } = listInHand();
    const first = cache.fresh();
    const looks = ["b", "c"].map(() => {
      cache.invalidate();
      return cache.fresh();
    });
    expect(begun()).toBe(1);
    end(0, "a", "b", "c");
    await first;
    await clock.advance(0);
    end(1, "a");
    expect(await Promise.all(looks.map(idsOf))).toEqual([["a"], ["a"]]);
    expect(begun()).toBe(2);
  });

  test("never uses the cache", async () => {
    const { cache, begun, end } = listInHand();
    const first = cache.fresh();
    end(0, "a");
    await first;
    const second = cache.fresh();
    end(1);
    expect(await idsOf(second)).toEqual([]);
    expect(begun()).toBe(2);
  });
});

describe("a list that fails", () => {
  test("fails for all calls that share it, and is not cached", async () => {
    const { cache, begun, end, fail } = listInHand();
    const looks = [cache.recent(), cache.recent()];
    fail(0);
    expect((await Promise.allSettled(looks)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(cache.current).toBeUndefined();
    const next = cache.recent();
    end(1, "a");
    expect(await idsOf(next)).toEqual(["a"]);
    expect(begun()).toBe(2);
  });

  test("doesn't fail the calls that wait for the next one", async () => {
    const { cache, clock, end, fail } = listInHand();
    const first = cache.recent();
    const next = cache.fresh();
    fail(0);
    await expect(first).rejects.toThrow("503");
    await clock.advance(0);
    end(1, "a");
    expect(await idsOf(next)).toEqual(["a"]);
  });
});

describe("a search in a long list", () => {
  /** A list of pages of two: a, b; c, d; and so on to the last letter. */
  function longList(last: string) {
    const clock = new FakeClock();
    const letters = Array.from({ length: last.charCodeAt(0) - 96 }, (_, at) => String.fromCharCode(97 + at));
    const asked: string[] = [];
    async function* pages() {
      for (let at = 0; at < letters.length; at += 2) {
        const ids = letters.slice(at, at + 2);
        asked.push(ids.join(""));
        yield page(at + 2 >= letters.length, ids);
      }
    }
    const cache = new ListCache(pages, clock);
    const seek = async (id: string, isPatient = false) => {
      cache.recordRead();
      const found = await cache.seek(id, () => isPatient);
      return typeof found === "string" ? found : found.id;
    };
    return { cache, clock, asked, seek };
  }

  test("reads one page for every two reads, and reports that further pages cost too much", async () => {
    const { asked, seek } = longList("z");
    expect(await seek("z")).toBe("costly");
    expect(asked).toEqual([]);
    expect(await seek("z")).toBe("costly");
    expect(asked).toEqual(["ab"]);
    expect(await Promise.all(["x", "y", "z"].map((id) => seek(id)))).toEqual(["costly", "costly", "costly"]);
    expect(asked).toEqual(["ab", "cd"]);
  });

  test("continues where the last one stopped, and requests no page twice", async () => {
    const { asked, seek } = longList("h");
    await seek("h");
    await seek("h");
    expect(await seek("b")).toBe("b");
    expect(await seek("d")).toBe("d");
    expect(asked).toEqual(["ab", "cd"]);
  });

  test("reports a missing object after the last page, without further requests", async () => {
    const { asked, seek } = longList("d");
    for (const id of ["a", "b", "c"]) await seek(id);
    expect(await Promise.all(["x", "d"].map((id) => seek(id)))).toEqual(["missing", "d"]);
    expect(asked).toEqual(["ab", "cd"]);
  });

  test("reads all pages if GET isn't offered", async () => {
    const { asked, seek } = longList("f");
    expect(await seek("f", true)).toBe("f");
    expect(asked).toEqual(["ab", "cd", "ef"]);
  });

  test("waits for a page that has already been requested", async () => {
    const { cache, asked, seek } = longList("h");
    const whole = cache.recent();
    expect(await seek("h")).toBe("h");
    await whole;
    expect(asked).toEqual(["ab", "cd", "ef", "gh"]);
  });

  test("starts again 30 s after the last reads and after a write", async () => {
    const { cache, clock, asked, seek } = longList("h");
    await Promise.all(["a", "b"].map((id) => seek(id)));
    await clock.advance(30_001);
    expect(await seek("a")).toBe("costly");
    expect(await seek("a")).toBe("a");
    cache.invalidate();
    expect(await seek("a")).toBe("costly");
    expect(asked).toEqual(["ab", "ab"]);
  });
});

/** A list that two calls wait for, and that comes when the test says so. */
function sharedList() {
  const fake = new FakeService();
  const client = fake.client();
  const clock = new FakeClock();
  let come: () => void = () => {};
  async function* pages() {
    yield await new Promise<Page>((resolve) => {
      come = () => resolve({ objects: [{ id: "ins-1", fields: {}, revision: undefined }], isLast: true });
    });
  }
  const slow = { ...client, instances: { ...client.instances, pages } };
  const finder = new ObjectFinder(slow, clock, 600_000);
  const look = (ms: number, signal?: AbortSignal) =>
    finder.findInList(
      { kind: instanceKind, id: "ins-1", project: "prj-1" },
      { deadline: deadlineIn(ms, clock), signal },
    );
  return { clock, look, come: () => come() };
}

describe("a list that several calls share", () => {
  test("is awaited by each call until its own deadline", async () => {
    const { clock, look, come } = sharedList();
    const first = look(300_000);
    const hasty = look(5_000).catch((error: unknown) => error);
    await clock.advance(5_000);
    expect(await hasty).toMatchObject({
      code: "timeout",
      summary: "timed out after 5 s listing instances",
    });
    come();
    expect(await first).toMatchObject({ found: { id: "ins-1" } });
  });

  test("doesn't delay a call that is interrupted", async () => {
    const { look } = sharedList();
    const ending = new AbortController();
    const told = look(300_000, ending.signal).catch((error: unknown) => error);
    ending.abort(new Error("SIGTERM"));
    expect(await told).toMatchObject({ code: "aborted" });
  });
});
