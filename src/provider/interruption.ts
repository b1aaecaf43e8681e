import { CloudInfraError } from "../diagnostics/error";
import type { Clock } from "../operations/clock";

type Listener = (signal: NodeJS.Signals) => void;

/** What is asked of Node's `process`. */
export interface SignalTarget {
  readonly pid: number;
  on(signal: NodeJS.Signals, listener: Listener): unknown;
  off(signal: NodeJS.Signals, listener: Listener): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** How long the engine has to take the last answers before the process ends. Milliseconds. */
const LAST_REPLY_MS = 1_000;

/**
 * What a signal to end does while this process works: a cancelled CI job sends one to everything that it has started. Died at
 * once, as Node would, a creation is a failed one for the engine, which then drops the key that it has of it. Instead each call
 * gives up its waiting and says what it leaves behind, which the engine saves; then the process ends as it would have. A second
 * signal ends it at once. While there is no work, signals do what they always do.
 */
export class Shutdown {
  private readonly calls = new Set<AbortController>();
  private signal: NodeJS.Signals | undefined;
  private lastWork: (() => Promise<void>) | undefined;

  constructor(
    private readonly process: SignalTarget,
    private readonly clock: Clock,
  ) {}

  /** Does the work of one call; its signal is aborted, with a `CloudInfraError` for a reason, when the process is to end. */
  async during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const context = new AbortController();
    if (this.signal !== undefined) context.abort(interrupted(this.signal));
    else if (this.calls.size === 0) for (const name of SIGNALS) this.process.on(name, this.interrupt);
    this.calls.add(context);
    try {
      return await work(context.signal);
    } finally {
      this.calls.delete(context);
      if (this.calls.size === 0) this.idle();
    }
  }

  /**
   * Does some work before the process ends. The engine sends SIGINT to a process that it has no more calls for, and waits for up to five
   * seconds until it has ended. Only the first work counts. It is left out if a signal interrupts a call.
   */
  beforeExit(work: () => Promise<void>): void {
    if (this.signal === undefined && this.lastWork === undefined) this.process.on("SIGINT", this.end);
    this.lastWork ??= work;
  }

  private readonly end: Listener = (signal) => {
    if (this.calls.size > 0) return; // `interrupt` hears the signal, too
    this.process.off("SIGINT", this.end);
    const kill = (): unknown => this.process.kill(this.process.pid, signal);
    void this.lastWork?.().then(kill, kill);
  };

  private readonly interrupt: Listener = (signal) => {
    this.signal = signal;
    this.ignore();
    this.process.off("SIGINT", this.end);
    for (const context of this.calls) context.abort(interrupted(signal));
  };

  private idle(): void {
    const { signal } = this;
    this.ignore();
    if (signal !== undefined)
      this.clock.alarm(LAST_REPLY_MS, () => this.process.kill(this.process.pid, signal));
  }

  /** From here on signals do what they do by themselves. */
  private ignore(): void {
    for (const name of SIGNALS) this.process.off(name, this.interrupt);
  }
}

function interrupted(signal: NodeJS.Signals): CloudInfraError {
  return new CloudInfraError("aborted", `it was interrupted by ${signal}`);
}
