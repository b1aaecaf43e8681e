/** One Ctrl-C can arrive twice: from the terminal, and from npm, which forwards it. */
const DUPLICATE_MS = 300;

/** Ctrl-C as abort signals. The first Ctrl-C requests an orderly end, and the second one an immediate end. */
export interface Interruption {
  readonly interrupted: AbortSignal;
  readonly forced: AbortSignal;
  /** Restores the former handling of signals. */
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
    } else if (performance.now() - firstAt > DUPLICATE_MS) second.abort();
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

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
