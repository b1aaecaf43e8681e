import { CloudInfraError } from "../diagnostics/error";
import { stackOf } from "../journal/location";
import { summarizeEntry, unsettledWarning } from "../journal/unsettled";
import type { Recorded } from "../model/state";
import type { Clock } from "../polling/clock";
import type { Sessions } from "./session";

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

/**
 * Records that a delete begins. A run without checks, such as `destroy`, learns its organization and folder from the state. It has no program that warns
 * of unsettled creations, so this process does at its end: until then, a later delete may settle them.
 */
export function recordDeletion(sessions: Sessions, interruption: Shutdown, state: Recorded): void {
  const { tracker } = sessions;
  if (tracker.urn !== undefined) return;
  const { urn, organization, projectFolder } = state;
  tracker.organization ??= organization;
  tracker.projectFolder ??= projectFolder;
  if (urn !== undefined) interruption.beforeExit(() => warnOfUnsettled(sessions, stackOf(urn)));
}

async function warnOfUnsettled({ tracker, warn, opened }: Sessions, stack: string): Promise<void> {
  if (tracker.urn !== undefined) return;
  if (opened === undefined || (await opened.journal.run.hasOther({ hasProgram: true }))) return;
  const entries = await opened.journal.listEverywhere();
  const ours = entries.filter(({ urn }) => stackOf(urn) === stack);
  if (ours.length > 0) await warn(unsettledWarning(ours.map(summarizeEntry), WORDS));
}

const WORDS = {
  one: "its object may still exist",
  several: "their objects may still exist",
  hints: [
    "Run `npx pulumi-cloudinfra recover`, which tells which objects the stack has: keep those. Delete the others at the service if they exist. Then run `npx pulumi-cloudinfra recover --forget <urn>`.",
    "After an interruption, run `pulumi up` before `pulumi destroy`, which finds only what the state holds.",
  ],
};
