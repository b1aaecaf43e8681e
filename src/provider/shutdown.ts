import { once } from "node:events";
import { connect } from "node:net";
import { CloudInfraError, codeOf } from "../diagnostics/error";
import { unfinishedWarning } from "../journal/entry";
import { stackOf } from "../journal/location";
import type { Recorded } from "../model/state";
import type { Clock } from "../polling/clock";
import type { Sessions } from "./context";

type Listener = (signal: NodeJS.Signals) => void;

export interface SignalTarget {
  readonly pid: number;
  on(signal: NodeJS.Signals, listener: Listener): unknown;
  off(signal: NodeJS.Signals, listener: Listener): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The time between the last reply and the exit of the process, in milliseconds, so that the engine receives the reply. */
const LAST_REPLY_MS = 1_000;

/**
 * Handles SIGINT and SIGTERM while calls are running, for example after a CI job was cancelled. If the process exited immediately, the
 * engine would lose the idempotency keys of running creations. Instead, each call stops waiting and returns a partial state, which the
 * engine saves. A second signal, or a signal while no call is running, ends the process immediately.
 */
export class Shutdown {
  private readonly calls = new Set<AbortController>();
  private signal: NodeJS.Signals | undefined;
  private lastWork: (() => Promise<void>) | undefined;

  constructor(
    private readonly process: SignalTarget,
    private readonly clock: Clock,
  ) {}

  /** Runs a call. If the process receives a signal, the `AbortSignal` of the call is aborted with a `CloudInfraError`. */
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
   * Registers a function that runs before the process exits. After the last call, the engine sends SIGINT and waits up to five seconds.
   * Only the first registered function runs. If a signal interrupts a call, the function doesn't run.
   */
  beforeExit(work: () => Promise<void>): void {
    if (this.signal === undefined && this.lastWork === undefined) this.process.on("SIGINT", this.end);
    this.lastWork ??= work;
  }

  private readonly end: Listener = (signal) => {
    if (this.calls.size > 0) return; // `interrupt` handles the signal
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

  private ignore(): void {
    for (const name of SIGNALS) this.process.off(name, this.interrupt);
  }
}

function interrupted(signal: NodeJS.Signals): CloudInfraError {
  return new CloudInfraError("aborted", `the command was interrupted by ${signal}`);
}

/** The time between two checks of the engine, in milliseconds. A later `up` takes longer to start. */
const ENGINE_CHECK_MS = 1_000;

/**
 * Calls `exit` as soon as the engine no longer runs, for example after a `kill -9`. Otherwise, this process might later change an object that
 * another `up` manages. The parent's process id isn't sufficient, because the parent may be a shell.
 */
export async function exitWithEngine(address: string | undefined, exit: () => void, clock: Clock) {
  const { hostname = "", port = "" } = URL.parse(`tcp://${address}`) ?? {};
  if (port === "") return; // there is no engine
  while (await isListening(hostname, Number(port))) await clock.sleep(ENGINE_CHECK_MS);
  exit();
}

/** Reports whether a port accepts connections. An error of this machine, such as too many open files, proves nothing about the port. */
async function isListening(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  const result: unknown = await once(socket, "connect").catch((error: unknown) => error);
  socket.destroy();
  return codeOf(result) !== "ECONNREFUSED";
}

/**
 * Records the start of a delete. In a run without checks, such as `destroy`, the organization and the folder come from the state. This
 * process then warns about unfinished creations when it exits, because there is no program that warns about them.
 */
export function recordDeletion(sessions: Sessions, interruption: Shutdown, state: Recorded): void {
  const { tracker } = sessions;
  if (tracker.urn !== undefined) return;
  const { urn, organization, projectFolder } = state;
  tracker.organization ??= organization;
  tracker.projectFolder ??= projectFolder;
  if (urn !== undefined) interruption.beforeExit(() => warnOfUnfinished(sessions, stackOf(urn)));
}

async function warnOfUnfinished({ tracker, printWarning, journal }: Sessions, stack: string): Promise<void> {
  if (tracker.urn !== undefined) return;
  if (journal === undefined || (await journal.run.hasOther({ hasProgram: true }))) return;
  const entries = await journal.listEverywhere();
  const ours = entries.filter(({ urn }) => stackOf(urn) === stack);
  if (ours.length === 0) return;
  const hints = [
    "Run `npx pulumi-cloudinfra recover` to list the objects that the stack manages, and keep those. If other objects exist, delete them in the service. Then run `npx pulumi-cloudinfra recover --forget <urn>`.",
    "After an interruption, run `pulumi up` before `pulumi destroy`, because `destroy` deletes only what the state contains.",
  ];
  const words = { one: "the object may still exist", several: "the objects may still exist", hints };
  await printWarning(unfinishedWarning(ours, words));
}
