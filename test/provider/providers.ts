import { EventEmitter } from "node:events";
import { instanceKind, type Kind, projectKind } from "../../src/model/resource-fields";
import type { Clock } from "../../src/polling/clock";
import { type SessionOverrides, Sessions } from "../../src/provider/context";
import { type HostProvider, providerOf } from "../../src/provider/host";
import { EngineLog } from "../../src/provider/progress";
import { Shutdown, type SignalTarget } from "../../src/provider/shutdown";
import { unmarked } from "./marked";

/** The providers that one process offers to the host. */
export interface Providers {
  readonly instances: HostProvider;
  readonly projects: HostProvider;
}

/** A process that receives only the signals that a test sends, and doesn't end. */
export class Signals extends EventEmitter implements SignalTarget {
  readonly pid = 1;
  readonly endedBy: string[] = [];

  kill(_pid: number, signal: string): void {
    this.endedBy.push(signal);
  }

  /** The number of listeners, which replace the default handling of signals. */
  get heard(): number {
    return this.eventNames().reduce((sum, name) => sum + this.listenerCount(name), 0);
  }
}

export interface Surroundings {
  readonly clock: Clock;
  /** Receives the warnings. */
  readonly warn: (message: string) => void;
  /** @default no signals */
  readonly signals?: Signals;
  /** Receives the status messages. @default nothing does */
  readonly log?: EngineLog;
  /** Whether the provider runs in CI, where each message is a line of a log. @default true */
  readonly inCi?: boolean;
  /** Replacements for the network and the disk. @default none */
  readonly outside?: SessionOverrides | undefined;
  /** The environment of the process. @default empty */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** Starts a process of the provider, and configures it as the host does. The settings have no namespace. */
export async function openProviders(
  settings: Readonly<Record<string, string | undefined>>,
  {
    clock,
    warn,
    signals = new Signals(),
    log = new EngineLog(undefined),
    inCi = true,
    outside,
    env = {},
  }: Surroundings,
): Promise<Providers> {
  const get = (key: string): string | undefined => settings[key.replace("cloudinfra:", "")];
  const surroundings = {
    sessions: new Sessions(env, clock, warn, outside),
    log,
    interruption: new Shutdown(signals, clock),
    inCi,
    layOut: (message: string) => message,
  };
  const configured = async (kind: Kind): Promise<HostProvider> => {
    const provider = providerOf(kind, surroundings);
    await provider.configure({ config: { get } });
    return withPlaintextStates(provider);
  };
  return { instances: await configured(instanceKind), projects: await configured(projectKind) };
}

/** Returns the provider as the engine calls it, which passes secret values in plaintext. */
function withPlaintextStates(provider: HostProvider): HostProvider {
  return {
    ...provider,
    diff: (id, olds, news) => provider.diff(id, unmarked(olds), news),
    read: (id, state) => provider.read(id, unmarked(state)),
    update: (id, olds, news) => provider.update(id, unmarked(olds), news),
    delete: (id, state) => provider.delete(id, unmarked(state)),
  };
}
