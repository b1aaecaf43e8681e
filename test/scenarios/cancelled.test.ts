import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { expectConverged } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import { processEngines, processStack } from "../harness/process-stack";
import { withStack } from "../harness/scenario";
import { statesOf } from "../harness/state";
import { expectOnly, HELD_MS, programOf } from "./interruption";

const program = programOf({ web: [] });

describeOnEngines("the first Ctrl-C during a creation", (engine) => {
  it("waits for the creation and saves it, so that the next up changes nothing", async () => {
    await withStack(engine, { program, behaviour: { operationMs: HELD_MS } }, async (scenario) => {
      const { stack, emulator } = scenario;
      const ctrlC = new AbortController();
      const result = await stack.run("up", {
        signal: ctrlC.signal,
        onEvent: (event) => {
          if (event.kind !== "diagnostic" || !event.message.startsWith("creating")) return;
          ctrlC.abort();
          emulator.finishOperations();
        },
      });
      expect(result.ok, result.output).toBe(false);
      const deployment = await stack.deployment();
      expect(statesOf(deployment, "web").map(({ id }) => id)).toEqual([...emulator.instances.keys()]);
      expect(deployment.pending_operations ?? []).toEqual([]);
      await expectConverged(scenario);
    });
  });
});

/** To which processes a CI runner sends SIGINT and SIGTERM, and what the state then contains. */
const signalTargets = {
  "all processes": { toAll: true, left: /^operation\/op-/, pending: 0 },
  "the command only": { toAll: false, left: undefined, pending: 1 },
} as const;

describe.each(processEngines)("a CI job that is canceled during a creation, on %s", (engine) => {
  it.each(Object.entries(signalTargets))(
    "ends with one instance after recover and up on another machine, if the signals go to %s",
    async (_whom, { toAll, left, pending }) => {
      const stack = await processStack(engine, program);
      const { emulator, state } = stack;
      emulator.behaviour.operationMs = HELD_MS;
      const accepted = stack.answered("POST", "/v1/instances");
      const up = stack.start("up");
      await accepted;
      const send = (signal: NodeJS.Signals) => (toAll ? up.signalAll(signal) : up.signal(signal));
      await send("SIGINT");
      await Promise.race([up.ended, pause(750)]);
      await send("SIGTERM");
      await Promise.race([up.ended, pause(250)]);
      await up.signalAll("SIGKILL");
      await up.ended;
      await stack.unlock();
      expect(statesOf(state(), "web").map(({ id }) => id)).toEqual(left ? [expect.stringMatching(left)] : []);
      expect(state().pending_operations ?? []).toHaveLength(pending);

      emulator.finishOperations();
      const recovered = await stack.recover("second");
      expect(recovered.code, recovered.output).toBe(0);
      const next = await stack.start("up", "second").ended;
      expect(next.code, next.output).toBe(0);
      expectOnly(stack, "second");
    },
  );
});
