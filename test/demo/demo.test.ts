import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isAllWithCli } from "../harness/describe-on-engines";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { type DemoPlace, demoPlace } from "./run-demo";

const ENGINES = pulumiOnPath() ? ["fake", "pulumi"] : ["fake"];

let place: DemoPlace;
beforeEach(() => {
  place = demoPlace();
});
afterEach(() => place.remove());

/** Processes may take a moment to end after the process that started them. */
async function expectNothingLeft(): Promise<void> {
  await vi.waitFor(() => expect(place.processes()).toEqual([]), { timeout: 10_000 });
  expect(place.leftFiles()).toEqual([]);
}

describe.each(ENGINES)("npm start on %s, without a terminal", (engine) => {
  it("runs the quickstart from preview to destroy, prints plain lines, and removes all files and processes", async () => {
    const { code, output } = await place.start("--engine", engine).end;
    expect(code, output).toBe(0);
    expect(output).toContain(engine === "fake" ? "It is NOT Pulumi" : "Engine:  pulumi v3");
    expect(output).not.toContain("\u001b");
    const headings = output.match(/── \d of 5 · .*\(\w+\)/g) ?? [];
    expect(headings.map((heading) => heading.match(/\((\w+)\)/)?.[1])).toEqual([
      "preview",
      "up",
      "preview",
      "up",
      "destroy",
    ]);
    expect(output).toMatch(/- flavor: "small",\n\s+\+ flavor: "large",/);
    expect(output).toMatch(/creating \d+%/);
    const requests = [...output.matchAll(/requests to the service: (\d+)/g)].map(([, count]) =>
      Number(count),
    );
    expect(requests).toEqual([0, expect.any(Number), 0, expect.any(Number), expect.any(Number)]);
    expect(Math.min(...requests.filter((_, index) => index !== 0 && index !== 2))).toBeGreaterThan(0);
    await expectNothingLeft();
  });

  it.skipIf(engine === "pulumi" && !isAllWithCli)(
    "keeps the service running until Ctrl-C with --keep, and prints commands for another terminal",
    async () => {
      const demo = place.start("--keep", "--engine", engine);
      await demo.wrote(engine === "fake" ? "# With `pulumi`" : "pulumi destroy ");
      expect(demo.output()).not.toContain("of 5");
      const { stdout } = await typed(demo.output());
      expect(stdout).toContain(engine === "fake" ? '"name":"web-' : "5 unchanged");
      demo.interrupt();
      const { code, output } = await demo.end;
      expect(code, output).toBe(0);
      await expectNothingLeft();
    },
  );

  it("cleans up after Ctrl-C during `up`", async () => {
    const demo = place.start("--engine", engine);
    await demo.wrote("about");
    demo.interrupt();
    const { code, output } = await demo.end;
    expect(code, output).toBe(130);
    expect(output).toMatch(/error: .*cancel/); // the engine was interrupted, and ended by itself
    expect(output).toContain("Interrupted. All objects and files were removed.");
    expect(output).not.toContain("3 of 5");
    await expectNothingLeft();
  });
});

it("fails with --engine pulumi if `pulumi` isn't on the PATH", async () => {
  place.remove();
  place = demoPlace({ PATH: "/nowhere" });
  const { code, output } = await place.start("--engine", "pulumi").end;
  expect(code).toBe(1);
  expect(output).toContain("`pulumi` is not on the PATH");
  await expectNothingLeft();
});

it("prints its options after a usage error", async () => {
  const { code, output } = await place.start("--engine", "terraform").end;
  expect(code).toBe(2);
  expect(output).toContain('Unknown engine "terraform".');
  expect(output).toContain("--keep");
});

/** Runs the printed commands in a shell, up to the first one that uses the service or the stack. */
async function typed(output: string): Promise<{ stdout: string }> {
  const lines = output.slice(output.indexOf("another terminal:")).split("\n").slice(1);
  const last = lines.findIndex((line) => line.includes("/instances") || line.startsWith("pulumi preview"));
  expect(last).toBeGreaterThan(0);
  return promisify(execFile)("sh", ["-ec", lines.slice(0, last + 1).join("\n")]);
}
