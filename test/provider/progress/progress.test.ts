import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CloudInfraError } from "../../../src/diagnostics/error";
import type { Pause } from "../../../src/polling/backoff";
import { EngineLog } from "../../../src/provider/progress/engine-log";
import { Progress } from "../../../src/provider/progress/progress";
import { FakeClock } from "../../polling/fake-clock";

function row(inCi: boolean, verb = "creating") {
  const clock = new FakeClock();
  const written: string[] = [];
  const write = async (message: string) => void written.push(message);
  return { clock, written, progress: new Progress({ write }, verb, { clock, inCi }) };
}

const unavailable = new CloudInfraError("unavailable", "the service answered 503", { status: 503 });
const nextTry = (at: number, after = unavailable): Pause => ({ for: "retry", after, at });
const turn = (isSlowed: boolean): Pause => ({ for: "turn", isSlowed: () => isSlowed });
const never = new Promise<never>(() => {});

describe("in a terminal the row shows", () => {
  test.each([
    [{ progress: 0.42, remainingMs: 18_200 }, "creating 42 % · about 18 s left"],
    [{ progress: 0.5 }, "creating 50 %"],
    [{ progress: 0.1, remainingMs: 600_000 }, "creating 10 % · about 10 min left"],
    [{ progress: 0.999, remainingMs: 3 }, "creating 100 % · about 1 s left"],
    [{ progress: -3 }, "creating 0 %"],
    [{ progress: 7 }, "creating 100 %"],
    [{ progress: 0.3, pause: nextTry(8_000) }, "creating 30 % · the service answers 503; next try in 8 s"],
  ])("%j as %s", (step, text) => {
    const { written, progress } = row(false);
    progress.show(step);
    expect(written).toEqual([text]);
  });

  test("nothing twice, and is emptied at the end", async () => {
    const { written, progress } = row(false);
    for (const part of [0.1, 0.1, 0.101, 0.2]) progress.show({ progress: part });
    await progress.clear();
    await progress.clear();
    expect(written).toEqual(["creating 10 %", "creating 20 %", ""]);
  });

  test("nothing at all of a call that is over within three seconds", async () => {
    const { clock, written, progress } = row(false, "reading");
    progress.begin();
    const read = progress.during("page 1 of the list", () => clock.sleep(2_900));
    progress.pausing(nextTry(20_000));
    await clock.advance(2_900);
    await read;
    await progress.clear();
    await clock.advance(60_000);
    expect(written).toEqual([]);
  });

  test("what is waited for, ever more seldom, and the time that has passed", async () => {
    const { clock, written, progress } = row(false, "deleting");
    progress.begin();
    void progress.during("waiting for something", () => never);
    await clock.advance(45_000);
    const so = (seconds: number) => `deleting · waiting for something · ${seconds} s so far`;
    expect(written).toEqual([3, 13, 23, 33, 43].map(so));
    await clock.advance(3_600_000 - 45_000);
    expect(written.length).toBeLessThan(40);
    expect(written.at(-1)).toMatch(/ · \d\d min so far$/);
    await progress.clear();
    expect(written.at(-1)).toBe("");
  });

  test("no percent that is old beside a time left that goes down, and not more than there is to say", async () => {
    const { clock, written, progress } = row(false);
    progress.begin();
    progress.show({ progress: 0.2, remainingMs: 8_000 });
    await clock.advance(2_000);
    progress.show({ progress: 0.4, remainingMs: 6_000 });
    progress.show({ progress: 0.4, remainingMs: 15_000 });
    await clock.advance(30_000);
    expect(written).toEqual([
      "creating 20 % · about 8 s left",
      "creating 40 % · about 6 s left",
      "creating 40 % · about 15 s left",
      "creating · about 5 s left",
      "creating · 22 s so far",
      "creating · 32 s so far",
    ]);
  });

  test("the outermost of several waits, beside an operation's percent and time left, which goes down", async () => {
    const { clock, written, progress } = row(false, "deleting");
    progress.begin();
    void progress.during("waiting for the first", () =>
      progress.during("waiting for the second", () => never),
    );
    progress.show({ progress: 0.5, remainingMs: 20_000 });
    await clock.advance(5_000);
    progress.show(undefined);
    await clock.advance(5_000);
    expect(written).toEqual([
      "deleting · waiting for the first · 50 % · about 20 s left",
      "deleting · waiting for the first · 8 s so far",
    ]);
  });

  test("at once what keeps a request from being tried again, once there is a row, and if it takes a while", async () => {
    const { clock, written, progress } = row(false, "reading");
    progress.begin();
    await clock.advance(4_000);
    progress.pausing(nextTry(5_000));
    progress.pausing(nextTry(12_000));
    await clock.advance(9_000);
    progress.pausing(undefined);
    await clock.advance(5_000);
    expect(written).toEqual([
      "reading · 3 s so far",
      "reading · the service answers 503; next try in 8 s",
      "reading · 14 s so far",
    ]);
  });

  describe("before long, however long the call has lasted, that something is over:", () => {
    const SO_FAR_MS = 600_000;

    test("an operation", async () => {
      const { clock, written, progress } = row(false, "deleting");
      progress.begin();
      await clock.advance(SO_FAR_MS);
      progress.show({ progress: 0.99, remainingMs: 2_000 });
      progress.show(undefined);
      void progress.during("waiting for something", () => never);
      await clock.advance(3_000);
      expect(written.slice(-2)).toEqual([
        "deleting 99 % · about 2 s left",
        "deleting · waiting for something · 10 min so far",
      ]);
    });

    test("all that came before a wait", async () => {
      const { clock, written, progress } = row(false, "deleting");
      progress.begin();
      await clock.advance(SO_FAR_MS);
      void progress.during("waiting for something", () => never);
      await clock.advance(3_000);
      expect(written.at(-1)).toBe("deleting · waiting for something · 10 min so far");
    });

    test("an outage", async () => {
      const { clock, written, progress } = row(false, "reading");
      progress.begin();
      await clock.advance(SO_FAR_MS);
      progress.pausing(nextTry(SO_FAR_MS + 9_000));
      progress.pausing(undefined);
      await clock.advance(3_000);
      expect(written.slice(-2)).toEqual([
        "reading · the service answers 503; next try in 9 s",
        "reading · 10 min so far",
      ]);
    });

    test("an outage while an operation is waited for that tells no progress", async () => {
      const { clock, written, progress } = row(false);
      progress.begin();
      await clock.advance(SO_FAR_MS - 60_000);
      progress.show({ pause: nextTry(SO_FAR_MS) });
      await clock.advance(60_000);
      expect(written.at(-1)).toMatch(/^creating · the service answers 503/);
      progress.show({});
      await clock.advance(3_000);
      expect(written.at(-1)).toBe("creating · 10 min so far");
    });

    test("and again and again, without being put off", async () => {
      const { clock, written, progress } = row(false, "reading");
      progress.begin();
      await clock.advance(SO_FAR_MS);
      const before = written.length;
      for (let times = 0; times < 10; times++) {
        progress.show(undefined);
        await clock.advance(1_000);
      }
      expect(written.length).toBeGreaterThan(before);
    });
  });

  test.each([
    [nextTry(0), "the service answers 503; trying again"],
    [
      nextTry(9_000, new CloudInfraError("unreachable", "refused")),
      "the service can't be reached; next try in 6 s",
    ],
    [
      nextTry(9_000, new CloudInfraError("bad_reply", "cut off", { status: 200 })),
      "the service's reply can't be read; next try in 6 s",
    ],
    [turn(false), "waiting for its turn"],
    [turn(true), "waiting for its turn: the service wants fewer requests (429)"],
  ])("why nothing is asked: %o", async (pause, words) => {
    const { clock, written, progress } = row(false, "reading");
    progress.begin().pausing(pause);
    await clock.advance(3_000);
    expect(written).toEqual([`reading · ${words}`]);
  });
});

describe("in CI, where each message is a line", () => {
  test("there are four of an operation", () => {
    const { written, progress } = row(true);
    for (let percent = 0; percent <= 100; percent++) progress.show({ progress: percent / 100 });
    expect(written).toEqual(["creating 25 %", "creating 50 %", "creating 75 %", "creating 100 %"]);
  });

  test("there are four of each operation of a call", () => {
    const { written, progress } = row(true, "updating");
    for (const _operation of ["an earlier one", "its own"]) {
      for (let percent = 0; percent <= 100; percent++) progress.show({ progress: percent / 100 });
      progress.show(undefined);
    }
    const four = ["updating 25 %", "updating 50 %", "updating 75 %", "updating 100 %"];
    expect(written).toEqual([...four, ...four]);
  });

  test("where nothing moves there is one after 1, 5 and 15 minutes, and then each hour", async () => {
    const { clock, written, progress } = row(true, "deleting");
    progress.begin();
    void progress.during("waiting for something", () => never);
    progress.pausing(nextTry(30_000));
    progress.pausing(undefined);
    await clock.advance(3 * 3_600_000);
    expect(written).toEqual(
      ["60 s", "5 min", "15 min", "60 min", "120 min", "180 min"].map(
        (time) => `deleting · waiting for something · ${time} so far`,
      ),
    );
  });

  test("an operation that moves has none of these but the first", async () => {
    const { clock, written, progress } = row(true);
    progress.begin();
    for (let percent = 1; percent <= 100; percent++) {
      progress.show({ progress: percent / 100 });
      await clock.advance(11_000);
    }
    const percents = [6, 25, 50, 75, 100];
    expect(written).toEqual(percents.map((percent) => `creating ${percent} %`));
  });
});

describe("an engine that can't be told", () => {
  test("holds nothing up: no address, no URN, nobody at the address", async () => {
    await new EngineLog(undefined).statusLogFor("urn:x").write("creating 1 %");
    await new EngineLog("127.0.0.1:1").statusLogFor(undefined).write("creating 1 %");
    await expect(
      new EngineLog("127.0.0.1:1").statusLogFor("urn:x").write("creating 1 %"),
    ).resolves.toBeUndefined();
  });

  test.each([undefined, "127.0.0.1:1"])("warns on the console instead (address %s)", async (address) => {
    const said = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => said.mockRestore());
    await new EngineLog(address).warn("beware");
    expect(said.mock.calls).toEqual([["beware"]]);
  });
});
