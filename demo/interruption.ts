/** One press can arrive twice, from the terminal and from the package manager that passes it on. */
const ONE_PRESS_MS = 300;

/** Ctrl-C as signals: the first asks everything to end, the second demands it. */
export interface Interruption {
  readonly interrupted: AbortSignal;
  readonly forced: AbortSignal;
  /** Lets the process take signals as it did before. */
  release(): void;
}

export function watchInterruption(): Interruption {
  const first = new AbortController();
  const second = new AbortController();
  let firstAt = 0;
  const onSignal = (): void => {
    if (!first.signal.aborted) {
      firstAt = performance.now();
      first.abort();
    } else if (performance.now() - firstAt > ONE_PRESS_MS) second.abort();
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return {
    interrupted: first.signal,
    forced: second.signal,
    release: () => {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}

/** Resolves when the signal aborts; at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
