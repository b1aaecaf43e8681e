import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { type Behaviour, type Emulator, type LoggedRequest, startEmulator } from "../../src/emulator";
import type { Clock } from "../../src/operations/clock";
import { EngineLog } from "../../src/provider/engine-log";
import type { HostProvider, Properties } from "../../src/provider/host";
import { Interruption, type Signalled } from "../../src/provider/interruption";
import { instanceKind, type Kind, projectKind } from "../../src/provider/kind";
import { providerOf } from "../../src/provider/provider";
import { Sessions } from "../../src/provider/session";
import { FakeClock } from "../operations/fake-clock";
import { instanceNews, projectNews } from "./samples";

export interface ServiceOptions {
  behaviour?: Partial<Behaviour>;
  /** Added to endpoint and token; without the namespace. */
  config?: Readonly<Record<string, string>>;
  /** Told of each request when the service has answered it: the place for what others do in the meantime. */
  onRequest?: (request: LoggedRequest) => void;
}

/** The provider as the host drives it, and the service behind it. Time passes only where somebody waits. */
export interface Service {
  readonly emulator: Emulator;
  readonly clock: FakeClock;
  readonly instances: HostProvider;
  readonly projects: HostProvider;
  /** Where its processes get their signals, and what they then end with. */
  readonly signals: Signals;
  /** The journal of this machine. */
  readonly journalDir: string;
  /** What the user was warned of. */
  readonly warnings: readonly string[];
  /** What a new process of the provider would be, with other settings; its time is the service's where no other is given. */
  anew(
    config?: Readonly<Record<string, string>>,
    clock?: Clock,
  ): Promise<Pick<Service, "instances" | "projects">>;
}

/** A process that hears no signal but those of a test, and does not end. */
class Signals extends EventEmitter implements Signalled {
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

const START = Date.parse("2026-01-01T00:00:00Z");

export async function startService({ behaviour, config, onRequest }: ServiceOptions = {}): Promise<Service> {
  const clock = new FakeClock({ auto: true });
  const signals = new Signals();
  const emulator = await startEmulator({
    behaviour: { operationMs: 2_000, ...behaviour },
    now: () => START + clock.now(),
    ...(onRequest && { onRequest }),
  });
  onTestFinished(() => emulator.stop());
  const journalDir = mkdtempSync(path.join(tmpdir(), "journal-"));
  onTestFinished(() => rmSync(journalDir, { recursive: true }));
  const warnings: string[] = [];
  const anew: Service["anew"] = async (more = {}, itsClock = clock) => {
    const settings: Readonly<Record<string, string>> = {
      endpoint: emulator.endpoint,
      token: emulator.token,
      journalDir,
      ...config,
      ...more,
    };
    const get = (key: string) => settings[key.replace("cloudinfra:", "")];
    const surroundings = {
      sessions: new Sessions({}, itsClock, (message) => void warnings.push(message)),
      log: new EngineLog(undefined),
      interruption: new Interruption(signals, itsClock),
      inCi: true,
    };
    const configured = async (kind: Kind): Promise<HostProvider> => {
      const provider = providerOf(kind, surroundings);
      await provider.configure({ config: { get } });
      return provider;
    };
    return { instances: await configured(instanceKind), projects: await configured(projectKind) };
  };
  return { emulator, clock, signals, journalDir, warnings, anew, ...(await anew()) };
}

/** A resource as the engine's state has it. */
export interface Saved {
  readonly id: string;
  readonly inputs: Properties;
  readonly state: Properties;
}

/** Checks and creates as the engine does; the host adds `__provider` to what the provider returns. */
async function made(provider: HostProvider, news: Properties): Promise<Saved> {
  const { inputs, failures } = await provider.check({}, news);
  if (failures.length > 0) throw new Error(failures.map(({ reason }) => reason).join("\n"));
  const { id, outs } = await provider.create(inputs);
  return { id, inputs, state: { ...outs, __provider: news.__provider } };
}

/** An instance that an earlier run, in a process of its own, made in a project that somebody else made. */
export async function madeInstance({ emulator, anew }: Service, more: Properties = {}): Promise<Saved> {
  const [project = emulator.addProject().id] = emulator.projects.keys();
  const { instances } = await anew();
  return made(instances, instanceNews({ project, ...more }));
}

/** A project that an earlier run made, in a process of its own. */
export async function madeProject({ anew }: Service, more: Properties = {}): Promise<Saved> {
  const { projects } = await anew();
  return made(projects, projectNews(more));
}

/** The inputs of a next `up` that sets some arguments anew; `undefined` takes one back. */
export function changed({ inputs }: Saved, more: Properties): Properties {
  return Object.fromEntries(
    Object.entries({ ...inputs, ...more }).filter(([, value]) => value !== undefined),
  );
}

/** What the host would get in place of an answer. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  const error: unknown = await work.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error(String(error));
}

/** What the user is told where a call fails; `undefined` where it does not. */
export function saidBy(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof Error) return error.message;
      throw error;
    },
  );
}
