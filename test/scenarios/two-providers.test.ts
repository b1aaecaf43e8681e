import { describe, expect, it, vi } from "vitest";
import { processEngines, processStack } from "../harness/process-stack";
import { expectOnly, HELD_MS, postsOf, programOf } from "./interruption";

const SOON = { timeout: 60_000, interval: 20 };

describe.each(processEngines)("a command that is killed without its provider process, on %s", (engine) => {
  it.each(["before", "after"])(
    "ends that process, and leaves a creation that the next up resumes if it is killed %s the reply",
    async (when) => {
      const stack = await processStack(engine, programOf({ web: [] }));
      const { emulator } = stack;
      emulator.behaviour.operationMs = HELD_MS;
      if (when === "before")
        emulator.fail({ method: "POST", path: "/v1/instances", kind: "slow", delayMs: 8_000 });
      const accepted = stack.answered("POST", "/v1/instances");
      const up = stack.start("up");
      const sent = vi.waitFor(() => expect(postsOf(emulator).length).toBeGreaterThan(0), SOON);
      await (when === "before" ? sent : accepted);
      up.signal("SIGKILL");
      await up.ended;
      await vi.waitFor(async () => expect(await stack.providers()).toBe(0), SOON);
      await stack.unlock();

      const again = stack.start("up");
      await vi.waitFor(() => expect(emulator.operations.size).toBe(1), SOON);
      await stack.answered("GET", `/v1/operations/${[...emulator.operations.keys()]}`);
      emulator.finishOperations();
      const { code, output } = await again.ended;
      expect(code, output).toBe(0);
      expectOnly(stack);
    },
  );
});
