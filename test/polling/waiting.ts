import { CloudInfraError, type ErrorCode } from "../../src/diagnostics/error";
import { deadlineIn } from "../../src/polling/clock";
import type { Operation, WaitOptions } from "../../src/polling/wait";
import { FakeClock } from "./fake-clock";

export const first: Operation = { id: "op-1", url: "/v1/operations/op-1", status: "pending", progress: 0 };
export const done: Operation = { ...first, status: "done", progress: 1, resource: "ins-1" };
export const running = (progress: number): Operation => ({ ...first, status: "running", progress });
export const failing =
  (code: ErrorCode, details = {}) =>
  () => {
    throw new CloudInfraError(code, `it is ${code}`, details);
  };

/** Creates a wait whose polls return these results in turn, and then the last one repeatedly. */
export function wait(
  polls: (Operation | (() => never))[],
  more: Partial<WaitOptions> & { minutes?: number } = {},
) {
  const clock = new FakeClock({ auto: true });
  const polledAt: number[] = [];
  const options: WaitOptions = {
    clock,
    deadline: deadlineIn((more.minutes ?? 30) * 60_000, clock),
    random: () => 1,
    poll: async () => {
      const answer = polls[Math.min(polledAt.length, polls.length - 1)] ?? done;
      polledAt.push(clock.now());
      return typeof answer === "function" ? answer() : answer;
    },
    ...more,
  };
  return { options, clock, polledAt };
}
