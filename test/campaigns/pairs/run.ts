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

/** A step for a resource of this package, with the resource's new state. */
export interface DoneStep extends Step {
  readonly shown: Shown;
}

/** A command with its result and its requests. */
export interface Played {
  readonly result: RunResult;
  /** The finished steps of this package's resources, without those of a refresh. */
  readonly steps: readonly DoneStep[];
  /** The requests that change something at the service, in order. */
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

/** Returns whether a value contains neither secrets nor unknown parts. */
export function isPlain(value: unknown): boolean {
  return !isUnknownIn(value) && !hidesSecret(value);
}

/** Returns whether a value is unknown, or contains an unknown part. */
export function isUnknownIn(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(isUnknownIn);
}
