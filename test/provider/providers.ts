import { EventEmitter } from "node:events";
import { instanceKind, type Kind, projectKind } from "../../src/model/kinds";
import type { Properties } from "../../src/model/state";
import type { Clock } from "../../src/polling/clock";
import { type HostProvider, providerOf } from "../../src/provider/host";
import { EngineLog } from "../../src/provider/progress/engine-log";
import { type SessionOverrides, Sessions } from "../../src/provider/session";
import { Shutdown, type SignalTarget } from "../../src/provider/shutdown";

/** What one process of the provider offers to the host. */
export interface Providers {
  readonly instances: HostProvider;
  readonly projects: HostProvider;
}

/** A process that hears no signal but those of a test, and does not end. */
export class Signals extends EventEmitter implements SignalTarget {
  readonly pid = 1;
  readonly endedBy: string[] = [];

  kill(_pid: number, signal: string): void {
    this.endedBy.push(signal);
  }

  /** How many listeners keep a signal from what it does by itself. */
  get heard(): number {
    return this.eventNames().reduce((sum, name) => sum + this.listenerCount(name), 0);
  }
}

export interface Surroundings {
  readonly clock: Clock;
  /** Where warnings go. */
  readonly warn: (message: string) => void;
  /** @default none that anybody could send */
  readonly signals?: Signals;
  /** Where progress goes. @default nowhere */
  readonly log?: EngineLog;
  /** Whether the messages are lines in somebody's log. @default true */
  readonly inCi?: boolean;
  /** @default this machine's network and disk */
  readonly outside?: SessionOverrides | undefined;
  /** The environment of the process. @default empty */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** A new process of the provider, as it is once the host has configured it; settings without the namespace. */
export async function openProviders(
  settings: Readonly<Record<string, string>>,
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
    return givenInClear(provider);
  };
  return { instances: await configured(instanceKind), projects: await configured(projectKind) };
}

/** The provider as the engine calls it: what it has returned as a secret, it gets back in plaintext. */
function givenInClear(provider: HostProvider): HostProvider {
  return {
    ...provider,
    diff: (id, olds, news) => provider.diff(id, inClear(olds), news),
    read: (id, state) => provider.read(id, inClear(state)),
    update: (id, olds, news) => provider.update(id, inClear(olds), news),
    delete: (id, state) => provider.delete(id, inClear(state)),
  };
}

function inClear(state: Properties): Properties {
  return Object.fromEntries(
    Object.entries(state).map(([name, value]) => [name, isSecret(value) ? value.value : value]),
  );
}

function isSecret(value: unknown): value is { readonly value: unknown } {
  return typeof value === "object" && value !== null && "4dabf18193072939515e22adb298388d" in value;
}
