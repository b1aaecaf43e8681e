import { AsyncLocalStorage } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import type { FoundInstance, FoundProject, InstanceFilter } from "../provider/functions";

/**
 * The memory of this package during one run of one program. With the Automation API, a process runs several programs, also at the same time.
 * If a library brings a copy of this package, both copies share the memory.
 */
export interface Run {
  hasWarnedOfToken: boolean;
  /** The URNs of the resources that the engine has registered, and their objects. */
  readonly registered: Set<string>;
  /** In unit tests, the objects that functions find instead of sending requests. */
  found?: {
    readonly instances: (filter: InstanceFilter) => readonly FoundInstance[];
    readonly projects: readonly FoundProject[];
  };
  /** The environment to read settings from. The testing kit sets it for inline programs. @default that of this process */
  environment?: NodeJS.ProcessEnv;
}

const RUN = Symbol.for("pulumi-cloudinfra.run");

const newRun = (): Run => ({ hasWarnedOfToken: false, registered: new Set() });

/** The run of a program without an engine. */
const alone = newRun();

/** Returns the run that the caller belongs to. */
export function currentRun(): Run {
  const owner: object | undefined = pulumi.runtime.getStackResource() ?? pulumi.runtime.getMonitor();
  if (owner === undefined) return alone;
  const known: unknown = Reflect.get(owner, RUN);
  if (isRun(known)) return known;
  const run = newRun();
  Reflect.set(owner, RUN, run);
  return run;
}

function isRun(value: unknown): value is Run {
  return (
    typeof value === "object" && value !== null && "registered" in value && value.registered instanceof Set
  );
}

/** Returns the environment that the settings of the current run come from. */
export function environmentOfRun(): NodeJS.ProcessEnv {
  return currentRun().environment ?? process.env;
}

const AFTER_RUN = Symbol.for("pulumi-cloudinfra.afterRun");
const MAX_WORK_MS = 10_000;

/**
 * Runs some work after the engine has done all its work, deletions included, and before the program ends. Skips it if the program or the
 * engine fails. Only the first call in a run counts, even if there are several copies of this package.
 *
 * It wraps the last request of the SDK, which programs of the CLI and inline programs both send at that point.
 */
export function afterRun(work: () => Promise<void>): void {
  const monitor: object | undefined = pulumi.runtime.getMonitor();
  if (monitor === undefined || AFTER_RUN in monitor) return;
  const signal: unknown = Reflect.get(monitor, "signalAndWaitForShutdown");
  if (typeof signal !== "function") return;
  const signalAndWaitForShutdown = (request: unknown, callback: (error: unknown, reply: unknown) => void) => {
    const answered = async (error: unknown, reply: unknown): Promise<void> => {
      if (!error) await atMost(MAX_WORK_MS, work());
      callback(error, reply);
    };
    Reflect.apply(signal, monitor, [request, AsyncLocalStorage.bind(answered)]);
  };
  Object.assign(monitor, { [AFTER_RUN]: true, signalAndWaitForShutdown });
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, timeout]);
  } catch (error) {
    void pulumi.log.debug(`cloudinfra: ${error instanceof Error ? error.message : error}`); // the program has succeeded
  } finally {
    clearTimeout(timer);
  }
}
