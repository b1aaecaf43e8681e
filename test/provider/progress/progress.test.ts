import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CloudInfraError } from "../../../src/diagnostics/error";
import type { Pause } from "../../../src/polling/schedule";
import { EngineLog, Progress } from "../../../src/provider/progress";
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

describe("in a terminal, the status message shows", () => {
  test.each([
    [{ progress: 0.42, remainingMs: 18_200 }, "creating 42% · about 18 s left"],
    [{ progress: 0.5 }, "creating 50%"],
    [{ progress: 0.1, remainingMs: 600_000 }, "creating 10% · about 10 min left"],
    [{ progress: 0.999, remainingMs: 3 }, "creating 100% · about 1 s left"],
    [{ progress: -3 }, "creating 0%"],
    [{ progress: 7 }, "creating 100%"],
    [{ progress: 0.3, pause: nextTry(8_000) }, "creating 30% · the service returned 503 · retrying in 8 s"],
  ])("%j as %s", (step, text) => {
    const { written, progress } = row(false);
    progress.show(step);
    expect(written).toEqual([text]);
  });

  test("no text twice, and is removed at the end", async () => {
    const { written, progress } = row(false);
    for (const part of [0.1, 0.1, 0.101, 0.2]) progress.show({ progress: part });
    await progress.clear();
    await progress.clear();
    expect(written).toEqual(["creating 10%", "creating 20%", ""]);
  });

  test("nothing for a call that ends within three seconds", async () => {
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

  test("the reason for the wait and the elapsed time, at growing intervals", async () => {
    const { clock, written, progress } = row(false, "deleting");
    progress.begin();
    void progress.during("waiting for something", () => never);
    await clock.advance(45_000);
    const so = (seconds: number) => `deleting · waiting for something · ${seconds} s elapsed`;
    expect(written).toEqual([3, 13, 23, 33, 43].map(so));
    await clock.advance(3_600_000 - 45_000);
    expect(written.length).toBeLessThan(40);
    expect(written.at(-1)).toMatch(/ · \d\d min elapsed$/);
    await progress.clear();
    expect(written.at(-1)).toBe("");
  });

  test("no outdated percentage beside the remaining time", async () => {
    const { clock, written, progress } = row(false);
    progress.begin();
    progress.show({ progress: 0.2, remainingMs: 8_000 });
    await clock.advance(2_000);
    progress.show({ progress: 0.4, remainingMs: 6_000 });
    progress.show({ progress: 0.4, remainingMs: 15_000 });
    await clock.advance(30_000);
    expect(written).toEqual([
      "creating 20% · about 8 s left",
      "creating 40% · about 6 s left",
      "creating 40% · about 15 s left",
      "creating · about 5 s left",
      "creating · 22 s elapsed",
      "creating · 32 s elapsed",
    ]);
  });

  test("the outermost of several waits, with an operation's percentage and remaining time", async () => {
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
      "deleting · waiting for the first · 50% · about 20 s left",
      "deleting · waiting for the first · 8 s elapsed",
    ]);
  });

  test("the pause before a retry at once, if it is long and a message is already shown", async () => {
    const { clock, written, progress } = row(false, "reading");
    progress.begin();
    await clock.advance(4_000);
    progress.pausing(nextTry(5_000));
    progress.pausing(nextTry(12_000));
    await clock.advance(9_000);
    progress.pausing(undefined);
    await clock.advance(5_000);
    expect(written).toEqual([
      "reading · 3 s elapsed",
      "reading · the service returned 503 · retrying in 8 s",
      "reading · 14 s elapsed",
    ]);
  });

  describe("within a few seconds, even in a long call, the end of", () => {
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
        "deleting 99% · about 2 s left",
        "deleting · waiting for something · 10 min elapsed",
      ]);
    });

    test("the work before a wait", async () => {
      const { clock, written, progress } = row(false, "deleting");
      progress.begin();
      await clock.advance(SO_FAR_MS);
      void progress.during("waiting for something", () => never);
      await clock.advance(3_000);
      expect(written.at(-1)).toBe("deleting · waiting for something · 10 min elapsed");
    });

    test("an outage", async () => {
      const { clock, written, progress } = row(false, "reading");
      progress.begin();
      await clock.advance(SO_FAR_MS);
      progress.pausing(nextTry(SO_FAR_MS + 9_000));
      progress.pausing(undefined);
      await clock.advance(3_000);
      expect(written.slice(-2)).toEqual([
        "reading · the service returned 503 · retrying in 9 s",
        "reading · 10 min elapsed",
      ]);
    });

    test("an outage during an operation without progress", async () => {
      const { clock, written, progress } = row(false);
      progress.begin();
      await clock.advance(SO_FAR_MS - 60_000);
      progress.show({ pause: nextTry(SO_FAR_MS) });
      await clock.advance(60_000);
      expect(written.at(-1)).toMatch(/^creating · the service returned 503/);
      progress.show({});
      await clock.advance(3_000);
      expect(written.at(-1)).toBe("creating · 10 min elapsed");
    });

    test("one operation after another, without delay", async () => {
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
    [nextTry(0), "the service returned 503 · retrying now"],
    [
      nextTry(9_000, new CloudInfraError("unreachable", "refused")),
      "the service can't be reached · retrying in 6 s",
    ],
    [
      nextTry(9_000, new CloudInfraError("bad_reply", "cut off", { status: 200 })),
      "the service returned an unreadable reply · retrying in 6 s",
    ],
    [turn(false), "queued behind other requests"],
    [turn(true), "rate limited by the service (429)"],
  ])("why no request is sent: %o", async (pause, words) => {
    const { clock, written, progress } = row(false, "reading");
    progress.begin().pausing(pause);
    await clock.advance(3_000);
    expect(written).toEqual([`reading · ${words}`]);
  });
});

describe("in CI, where each message is a line,", () => {
  test("an operation has four lines", () => {
    const { written, progress } = row(true);
    for (let percent = 0; percent <= 100; percent++) progress.show({ progress: percent / 100 });
    expect(written).toEqual(["creating 25%", "creating 50%", "creating 75%", "creating 100%"]);
  });

  test("each operation of a call has four lines", () => {
    const { written, progress } = row(true, "updating");
    for (const _operation of ["an earlier one", "its own"]) {
      for (let percent = 0; percent <= 100; percent++) progress.show({ progress: percent / 100 });
      progress.show(undefined);
    }
    const four = ["updating 25%", "updating 50%", "updating 75%", "updating 100%"];
    expect(written).toEqual([...four, ...four]);
  });

  test("a call without progress has a line after 1, 5 and 15 minutes, and then every hour", async () => {
    const { clock, written, progress } = row(true, "deleting");
    progress.begin();
    void progress.during("waiting for something", () => never);
    progress.pausing(nextTry(30_000));
    progress.pausing(undefined);
    await clock.advance(3 * 3_600_000);
    expect(written).toEqual(
      ["60 s", "5 min", "15 min", "60 min", "120 min", "180 min"].map(
        (time) => `deleting · waiting for something · ${time} elapsed`,
      ),
    );
  });

  test("an operation with progress has only the first of these lines", async () => {
    const { clock, written, progress } = row(true);
    progress.begin();
    for (let percent = 1; percent <= 100; percent++) {
      progress.show({ progress: percent / 100 });
      await clock.advance(11_000);
    }
    const percents = [6, 25, 50, 75, 100];
    expect(written).toEqual(percents.map((percent) => `creating ${percent}%`));
  });
});

describe("an engine that can't be reached", () => {
  test("delays no call: no address, no URN, or no server at the address", async () => {
    await new EngineLog(undefined).statusLogFor("urn:x").write("creating 1%");
    await new EngineLog("127.0.0.1:1").statusLogFor(undefined).write("creating 1%");
    await expect(
      new EngineLog("127.0.0.1:1").statusLogFor("urn:x").write("creating 1%"),
    ).resolves.toBeUndefined();
  });

  test.each([undefined, "127.0.0.1:1"])("makes warnings go to the console (address %s)", async (address) => {
    const said = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => said.mockRestore());
    await new EngineLog(address).warn("beware");
    expect(said.mock.calls).toEqual([["beware"]]);
  });
});
