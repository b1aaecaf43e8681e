import { parseArgs } from "node:util";
import { DURATIONS } from "./cells";

export const USAGE = `usage: npm run bench:waiting -- [options]
  --samples N        operations of each kind and length (200)
  --seed N           repeats what is drawn (1)
  --durations LIST   seconds, each ± 20 % (${DURATIONS.join(",")})
  --plot FILE        draws polls against overshoot as SVG
  --real             against the emulator in real time instead, beside the same in simulated time`;

export interface Args {
  readonly samples: number;
  readonly seed: number;
  readonly durations: readonly number[];
  readonly plot: string | undefined;
  readonly real: boolean;
}

/** The command line; undefined where it is none of ours. */
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
