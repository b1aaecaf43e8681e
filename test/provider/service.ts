import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { type Behaviour, type Emulator, type LoggedRequest, startEmulator } from "../../src/emulator";
import { confirm } from "../../src/journal/entry";
import type { Properties } from "../../src/model/state";
import type { Clock } from "../../src/polling/clock";
import type { HostProvider } from "../../src/provider/host";
import { FakeClock } from "../polling/fake-clock";
import { openProviders, type Providers, Signals, type Surroundings } from "./providers";
import { instanceNews, projectNews } from "./samples";

export interface ServiceOptions {
  behaviour?: Partial<Behaviour>;
  /** Settings beside endpoint and token, without the namespace. */
  config?: Readonly<Record<string, string>>;
  /** Whether the emulator serves its page. @default false */
  page?: boolean;
  /** Called after the service has answered a request, for example to change an object as a colleague would. */
  onRequest?: (request: LoggedRequest) => void;
}

/** An emulated service and a process of its provider. Time passes only while something waits. */
export interface Service extends Providers {
  readonly emulator: Emulator;
  readonly clock: FakeClock;
  /** Sends signals to the processes, and records how they end. */
  readonly signals: Signals;
  /** Folder of this machine's journal. */
  readonly journalDir: string;
  /** The warnings so far. */
  readonly warnings: readonly string[];
  /** Starts another process of the provider. @default the settings and the clock of the service */
  newProviders(
    config?: Readonly<Record<string, string | undefined>>,
    clock?: Clock,
    process?: Pick<Surroundings, "outside" | "env">,
  ): Promise<Providers>;
}

/** The service and this machine have about the same time, because the provider compares dates of the service with its own. */
export const START = Math.floor(Date.now() / 1_000) * 1_000;

/** Starts a service that stops at the end of the test. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { close, ...service } = await openService(options);
  onTestFinished(close);
  return service;
}

async function openService({
  behaviour,
  config,
  page = false,
  onRequest,
}: ServiceOptions = {}): Promise<Service & { close(): Promise<void> }> {
  const clock = new FakeClock({ auto: true });
  const signals = new Signals();
  const emulator = await startEmulator({
    behaviour: { operationMs: 2_000, ...behaviour },
    now: () => START + clock.now(),
    page,
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
  const newProviders: Service["newProviders"] = (more = {}, ownClock = clock, process = {}) =>
    openProviders(
      { endpoint, token, journalDir, ...config, ...more },
      { clock: ownClock, warn, signals, ...process },
    );
  return { emulator, clock, signals, journalDir, warnings, newProviders, close, ...(await newProviders()) };
}

/** A resource in the state. */
export interface Saved {
  readonly id: string;
  readonly inputs: Properties;
  readonly state: Properties;
}

/** Checks and creates a resource as the engine does, and removes its journal entry as the program does. */
async function createAndConfirm(provider: HostProvider, news: Properties, dir: string): Promise<Saved> {
  const { inputs, failures } = await provider.check({}, news);
  if (failures.length > 0) throw new Error(failures.map(({ reason }) => reason).join("\n"));
  const { id, outs } = await provider.create(inputs);
  await confirm(String(inputs.__key), id, { dir });
  return { id, inputs, state: { ...outs, __provider: news.__provider } };
}

/** Creates an instance with another process of the provider, in the service's first project. */
export async function existingInstance(
  { emulator, newProviders, journalDir }: Service,
  more: Properties = {},
): Promise<Saved> {
  const [project = emulator.addProject().id] = emulator.projects.keys();
  const { instances } = await newProviders();
  return createAndConfirm(instances, instanceNews({ project, ...more }), journalDir);
}

/** Creates a project with another process of the provider. */
export async function existingProject(
  { newProviders, journalDir }: Service,
  more: Properties = {},
): Promise<Saved> {
  const { projects } = await newProviders();
  return createAndConfirm(projects, projectNews(more), journalDir);
}

/** Returns the inputs of the next `up`, with other values for some arguments. `undefined` removes an argument. */
export function changed({ inputs }: Saved, more: Properties): Properties {
  return Object.fromEntries(
    Object.entries({ ...inputs, ...more }).filter(([, value]) => value !== undefined),
  );
}

/** Returns the error with which a call fails. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  const error: unknown = await work.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error(String(error));
}

/** Returns the message with which a call fails, or `undefined` if it succeeds. */
export function errorOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof Error) return error.message;
      throw error;
    },
  );
}
