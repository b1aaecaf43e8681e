import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { expectConverged } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import { processEngines, processStack } from "../harness/process-stack";
import { withStack } from "../harness/scenario";
import { statesOf } from "../harness/state";
import { expectOnly, HELD_MS, programOf } from "./cut-off";

const program = programOf({ web: [] });

describeOnEngines("the first Ctrl-C during a creation", (engine) => {
  it("lets it end and saves it: the next up has nothing to make", async () => {
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

/** What a CI runner does to a job that is cancelled: to whom, and what is left for another machine. */
const ladders = {
  "everything it has started": { toAll: true, left: /^operation\/op-/, pending: 0 },
  "the command only": { toAll: false, left: undefined, pending: 1 },
} as const;

describe.each(processEngines)("a CI job that is cancelled during a creation, on %s", (engine) => {
  it.each(Object.entries(ladders))(
    "with SIGINT, SIGTERM and SIGKILL to %s loses nothing: recover and up on another machine end with one instance",
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
