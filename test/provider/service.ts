import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { type Behaviour, type Emulator, type LoggedRequest, startEmulator } from "../../src/emulator";
import { confirm } from "../../src/journal/confirm";
import type { Properties } from "../../src/model/state";
import type { Clock } from "../../src/polling/clock";
import type { HostProvider } from "../../src/provider/host";
import { FakeClock } from "../polling/fake-clock";
import { openProviders, type Providers, Signals, type Surroundings } from "./providers";
import { instanceNews, projectNews } from "./samples";

export interface ServiceOptions {
  behaviour?: Partial<Behaviour>;
  /** Added to endpoint and token; without the namespace. */
  config?: Readonly<Record<string, string>>;
  /** Told of each request when the service has answered it: the place for what others do in the meantime. */
  onRequest?: (request: LoggedRequest) => void;
}

/** The provider as the host drives it, and the service behind it. Time passes only where somebody waits. */
export interface Service extends Providers {
  readonly emulator: Emulator;
  readonly clock: FakeClock;
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
    process?: Pick<Surroundings, "outside" | "env">,
  ): Promise<Providers>;
}

const START = Date.parse("2026-01-01T00:00:00Z");

/** A service for the time of a test. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { close, ...service } = await openService(options);
  onTestFinished(close);
  return service;
}

/** A service until it is closed. */
async function openService({
  behaviour,
  config,
  onRequest,
}: ServiceOptions = {}): Promise<Service & { close(): Promise<void> }> {
  const clock = new FakeClock({ auto: true });
  const signals = new Signals();
  const emulator = await startEmulator({
    behaviour: { operationMs: 2_000, ...behaviour },
    now: () => START + clock.now(),
    ...(onRequest && { onRequest }),
  });
  const journalDir = mkdtempSync(path.join(tmpdir(), "journal-"));
  const close = async (): Promise<void> => {
    await emulator.stop();
    rmSync(journalDir, { recursive: true });
  };
  const { endpoint, token } = emulator;
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const anew: Service["anew"] = (more = {}, itsClock = clock, process = {}) =>
    openProviders(
      { endpoint, token, journalDir, ...config, ...more },
      { clock: itsClock, warn, signals, ...process },
    );
  return { emulator, clock, signals, journalDir, warnings, anew, close, ...(await anew()) };
}

/** A resource as the engine's state has it. */
export interface Saved {
  readonly id: string;
  readonly inputs: Properties;
  readonly state: Properties;
}

/**
 * Checks and creates as the engine does, and confirms as the program does; the host adds `__provider` to what the provider
 * returns.
 */
async function made(provider: HostProvider, news: Properties, dir: string): Promise<Saved> {
  const { inputs, failures } = await provider.check({}, news);
  if (failures.length > 0) throw new Error(failures.map(({ reason }) => reason).join("\n"));
  const { id, outs } = await provider.create(inputs);
  await confirm(String(inputs.__key), id, { dir });
  return { id, inputs, state: { ...outs, __provider: news.__provider } };
}

/** An instance that an earlier run, in a process of its own, made in a project that somebody else made. */
export async function madeInstance(
  { emulator, anew, journalDir }: Service,
  more: Properties = {},
): Promise<Saved> {
  const [project = emulator.addProject().id] = emulator.projects.keys();
  const { instances } = await anew();
  return made(instances, instanceNews({ project, ...more }), journalDir);
}

/** A project that an earlier run made, in a process of its own. */
export async function madeProject({ anew, journalDir }: Service, more: Properties = {}): Promise<Saved> {
  const { projects } = await anew();
  return made(projects, projectNews(more), journalDir);
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
