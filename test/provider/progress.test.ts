import { describe, expect, onTestFinished, test, vi } from "vitest";
import { EngineLog } from "../../src/provider/engine-log";
import { Progress } from "../../src/provider/progress";

function row(inCi: boolean) {
  const written: string[] = [];
  const write = async (message: string) => void written.push(message);
  return { written, progress: new Progress({ write }, "creating", inCi) };
}

describe("in a terminal the row shows", () => {
  test.each([
    [{ progress: 0.42, elapsedMs: 9_000, remainingMs: 18_200 }, "creating 42 % · about 18 s left"],
    [{ progress: 0.5, elapsedMs: 9_000 }, "creating 50 %"],
    [{ progress: 0.1, elapsedMs: 9_000, remainingMs: 600_000 }, "creating 10 % · about 10 min left"],
    [{ progress: 0.999, elapsedMs: 9_000, remainingMs: 3 }, "creating 100 % · about 1 s left"],
    [{ elapsedMs: 42_000 }, "creating · 42 s so far"],
    [{ progress: -3, elapsedMs: 1 }, "creating 0 %"],
    [{ progress: 7, elapsedMs: 1 }, "creating 100 %"],
  ])("%j as %s", (step, text) => {
    const { written, progress } = row(false);
    progress.show(step);
    expect(written).toEqual([text]);
  });

  test("nothing twice, and is emptied at the end", async () => {
    const { written, progress } = row(false);
    for (const part of [0.1, 0.1, 0.101, 0.2]) progress.show({ progress: part, elapsedMs: 1 });
    await progress.clear();
    await progress.clear();
    expect(written).toEqual(["creating 10 %", "creating 20 %", ""]);
  });

  test("nothing at all where nothing was shown", async () => {
    const { written, progress } = row(false);
    await progress.clear();
    expect(written).toEqual([]);
  });
});

test("in CI, where each message is a line, there are at most four of them", () => {
  const { written, progress } = row(true);
  for (let percent = 0; percent <= 100; percent++)
    progress.show({ progress: percent / 100, elapsedMs: percent });
  expect(written).toEqual(["creating 25 %", "creating 50 %", "creating 75 %", "creating 100 %"]);
});

describe("an engine that can't be told", () => {
  test("holds nothing up: no address, no URN, nobody at the address", async () => {
    await new EngineLog(undefined).row("urn:x").write("creating 1 %");
    await new EngineLog("127.0.0.1:1").row(undefined).write("creating 1 %");
    await expect(new EngineLog("127.0.0.1:1").row("urn:x").write("creating 1 %")).resolves.toBeUndefined();
  });

  test.each([undefined, "127.0.0.1:1"])("warns on the console instead (address %s)", async (address) => {
    const said = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => said.mockRestore());
    await new EngineLog(address).warn("beware");
    expect(said.mock.calls).toEqual([["beware"]]);
  });
});
