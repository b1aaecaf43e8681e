import type { Emulator, LoggedRequest } from "../../../src/emulator";
import {
  type Command,
  type RunOptions,
  type RunResult,
  type Shown,
  type Stack,
  type Step,
  UNKNOWN,
} from "../../harness/engine";
import { hidesSecret } from "../../harness/pulumi-events";

/** A step of ours with what it makes of the resource. */
export interface DoneStep extends Step {
  readonly shown: Shown;
}

/** A command, and all that it told and asked. */
export interface Played {
  readonly result: RunResult;
  /** Steps that came to their end, of our own resources; without those of a refresh. */
  readonly steps: readonly DoneStep[];
  /** What was asked of the service to change something, in order. */
  readonly writes: readonly LoggedRequest[];
}

const OURS = "pulumi-nodejs:dynamic/cloudinfra:";

export async function play(
  { stack, emulator }: { stack: Stack; emulator: Emulator },
  command: Command,
  options: RunOptions = {},
): Promise<Played> {
  const steps: DoneStep[] = [];
  const before = emulator.requests.length;
  const result = await stack.run(command, {
    ...options,
    onEvent: (event) => {
      if (event.kind !== "step-done" || event.op === "refresh" || !event.type.startsWith(OURS)) return;
      steps.push({ ...event, shown: event.shown ?? { inputs: {}, outputs: {} } });
    },
  });
  const writes = emulator.requests.slice(before).filter(({ method }) => method !== "GET");
  return { result, steps, writes };
}

/** Whether all of a value can be read: nothing of it is a secret or not known yet. */
export function isPlain(value: unknown): boolean {
  return !isUnknownIn(value) && !hidesSecret(value);
}

/** Whether a value, or a part of it, is not known yet. */
export function isUnknownIn(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(isUnknownIn);
}
