import { parseArgs } from "node:util";
import { DURATIONS } from "./cells";

export const USAGE = `usage: npm run bench:waiting -- [options]
  --samples N        operations of each kind and duration (200)
  --seed N           seed for the random numbers (1)
  --durations LIST   seconds, each ± 20 % (${DURATIONS.join(",")})
  --plot FILE        plots polls against overshoot as SVG
  --real             compares the simulation with real time, against the emulator`;

export interface Args {
  readonly samples: number;
  readonly seed: number;
  readonly durations: readonly number[];
  readonly plot: string | undefined;
  readonly real: boolean;
}

/** Parses the command line. Returns undefined for a usage error. */
export function readArgs(args: readonly string[]): Args | undefined {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        samples: { type: "string", default: "200" },
        seed: { type: "string", default: "1" },
        durations: { type: "string", default: DURATIONS.join(",") },
        plot: { type: "string" },
        real: { type: "boolean", default: false },
      },
    });
    const { plot, real } = values;
    const [samples, seed] = [Number(values.samples), Number(values.seed)];
    const durations = values.durations.split(",").map(Number);
    const isRight = Number.isSafeInteger(samples) && samples > 0 && Number.isSafeInteger(seed);
    return isRight && durations.every((seconds) => seconds > 0 && seconds <= 3_600)
      ? { samples, seed, durations, plot, real }
      : undefined;
  } catch {
    return undefined;
  }
}
