import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { processEngines, processStack } from "../harness/process-stack";
import { expectOnly, HELD_MS, postsOf, programOf } from "./interruption";

const SOON = { timeout: 60_000, interval: 20 };

describe.each(processEngines)(
  "a command that is killed while its provider keeps running, on %s",
  (engine) => {
    it.each(["before", "after"])(
      "leaves a creation that the next up resumes immediately if it is killed %s the reply",
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
        await stack.unlock();

        const again = stack.start("up");
        await vi.waitFor(async () => expect(await stack.providers()).toBe(2), SOON);
        await vi.waitFor(() => expect(emulator.operations.size).toBe(1), SOON);
        await stack.answered("GET", `/v1/operations/${[...emulator.operations.keys()]}`);
        emulator.finishOperations();
        const { code, output } = await again.ended;
        expect(code, output).toBe(0);

        // The first provider also observes the end, but its engine no longer runs.
        const [id] = emulator.instances.keys();
        const reads = () => emulator.requests.filter(({ path }) => path === `/v1/instances/${id}`);
        await vi.waitFor(() => expect(reads()).toHaveLength(2), SOON);
        await pause(200);
        expectOnly(stack);
      },
    );
  },
);
