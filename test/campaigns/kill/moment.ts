import { setTimeout as delay } from "node:timers/promises";
import type { Emulator, LoggedRequest } from "../../../src/emulator";
import { type Moment, SLOW_MS } from "./kills";

/** Notifies listeners of each request with a reply. */
export class Answers {
  readonly #listeners = new Set<(request: LoggedRequest) => void>();

  readonly tell = (request: LoggedRequest): void => {
    for (const listener of this.#listeners) listener(request);
  };

  listen(listener: (request: LoggedRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

const LOOK_MS = 3;

/** Waits for the moment. Resolves to `false` if `over` resolves first. */
export async function comes(
  { of, n, when, delayMs }: Moment,
  { emulator, answers, over }: { emulator: Emulator; answers: Answers; over: Promise<unknown> },
): Promise<boolean> {
  const before = emulator.requests.length;
  const ended = over.then(() => false);
  const stops: (() => void)[] = [];
  const reached = new Promise<boolean>((resolve) => {
    let seen = 0;
    const count = (request: LoggedRequest): void => {
      if (kindOf(request) === of && ++seen === n) resolve(true);
    };
    if (of === "start") resolve(true);
    else if (when === "answered") stops.push(answers.listen(count));
    else {
      for (const method of ["POST", "PUT", "DELETE"])
        stops.push(
          emulator.fail({ method, kind: "slow", delayMs: SLOW_MS, times: Number.POSITIVE_INFINITY }).off,
        );
      const look = setInterval(() => {
        const arrived = emulator.requests.slice(before).filter((request) => kindOf(request) === of);
        if (arrived.length >= n) resolve(true);
      }, LOOK_MS);
      stops.push(() => clearInterval(look));
    }
  });
  try {
    if (!(await Promise.race([reached, ended]))) return false;
    return delayMs === 0 || (await Promise.race([delay(delayMs, true), ended]));
  } finally {
    for (const stop of stops) stop();
  }
}

function kindOf({ method, path }: LoggedRequest): Moment["of"] {
  if (method !== "GET") return "change";
  return path.startsWith("/v1/operations/") ? "poll" : "read";
}
