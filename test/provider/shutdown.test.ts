import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { LoggedRequest } from "../../src/emulator";
import { openJournal } from "../../src/journal/journal";
import type { Properties } from "../../src/model/state";
import { InitializationError } from "../../src/provider/host";
import { exitWithEngine } from "../../src/provider/shutdown";
import { FakeClock } from "../polling/fake-clock";
import { OneInstance, URN } from "./one-instance";
import { instanceNews, KEY } from "./samples";
import {
  changed,
  errorOf,
  existingInstance,
  existingProject,
  failureOf,
  type Saved,
  type Service,
  startService,
} from "./service";

/** A service, and what tells its processes to end in the middle of their next wait for an operation. */
async function startInterrupted(): Promise<Service & { interruptNext(signal?: string): void }> {
  let due: string | undefined;
  const onRequest = ({ path }: LoggedRequest): void => {
    if (due === undefined || !path.startsWith("/v1/operations/")) return;
    service.signals.emit(due, due);
    due = undefined;
  };
  const service = await startService({ onRequest });
  const interruptNext = (signal = "SIGTERM"): void => {
    due = signal;
  };
  return { ...service, interruptNext };
}

/** The checked inputs of an instance, as the engine then creates it. */
async function checked({ emulator, instances }: Service): Promise<Properties> {
  const news = instanceNews({ project: emulator.addProject().id });
  return (await instances.check({}, news)).inputs;
}

const posts = (requests: readonly LoggedRequest[]) => requests.filter(({ method }) => method === "POST");

test.each(["SIGINT", "SIGTERM"])(
  "at a %s, a running creation returns its operation at once, and the next `up` on any machine resumes it",
  async (signal) => {
    const service = await startInterrupted();
    service.interruptNext(signal);
    const error = await failureOf(service.instances.create(await checked(service)));
    const [headline, because, ...more] = error.message.split("\n");
    const [, operation] = /interrupted while waiting for operation (op-\w+)/.exec(headline ?? "") ?? [];
    expect(because).toBe(`  cause: the command was interrupted by ${signal}`);
    expect(more.join("\n")).toContain(
      `The service started operation ${operation}. The state records the unfinished creation, so nothing is created twice`,
    );
    if (!(error instanceof InitializationError)) throw error;
    expect(error.id).toMatch(/^operation\/op-/);

    const journalDir = mkdtempSync(path.join(tmpdir(), "another-machine-"));
    onTestFinished(() => rmSync(journalDir, { recursive: true }));
    const { instances } = await service.newProviders({ journalDir });
    const state = { ...error.properties };
    await instances.check(state, state);
    await instances.diff(error.id, state, state);
    const made = await instances.create((await instances.check({}, state)).inputs);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
    expect(posts(service.emulator.requests)).toHaveLength(1);
  },
);

test("at a signal, a creation without a reply is kept in the state with its key", async () => {
  const service = await startService();
  const unanswered = service.emulator.fail({ method: "POST", kind: "hang" });
  const failure = failureOf(service.instances.create(await checked(service)));
  await vi.waitFor(() => expect(unanswered.used).toBe(1));
  service.signals.emit("SIGINT", "SIGINT");
  expect(await failure).toMatchObject({ id: `operation/key-${KEY}` });
});

test("at a signal, an update is kept in the state and resumed, and a deletion is an error", async () => {
  const service = await startInterrupted();
  const saved = await existingInstance(service);
  const { state, id } = saved;
  service.emulator.behaviour.putReply = 202;
  service.interruptNext();
  const large = changed(saved, { flavor: "m1.large" });
  const error = await failureOf(service.instances.update(id, state, large));
  expect(error).toMatchObject({ id, properties: { __pending: { operation: expect.anything() } } });
  const next = await service.newProviders();
  await next.instances.update(id, Object(error).properties, large);
  expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");

  service.emulator.behaviour.deleteObject = 202;
  service.interruptNext();
  expect((await failureOf(next.instances.delete(id, state))).message).toMatch(/interrupted by SIGTERM/);
});

test("after a signal, the process sends no requests, and exits once the engine has received the replies", async () => {
  const service = await startInterrupted();
  const { clock, signals, emulator, instances } = service;
  const inputs = await checked(service);
  service.interruptNext();
  await failureOf(instances.create(inputs));
  const asked = emulator.requests.length;
  expect((await failureOf(instances.create(inputs))).message).toMatch(/interrupted/);
  expect(emulator.requests.length).toBe(asked);
  expect(signals.heard, "listeners that would keep a second signal from ending it").toBe(0);
  expect(signals.endedBy).toEqual([]);
  await clock.advance(1_000);
  expect(signals.endedBy).toContain("SIGTERM");
});

test("a process without running calls exits at a signal, as any other process", async () => {
  const service = await startService();
  expect(service.signals.heard).toBe(0);
  await existingProject(service);
  expect(service.signals.heard).toBe(0);
});

/** A stack with a project, and a creation of it that was killed in a project that isn't in the stack. */
async function killed(more: Record<string, unknown> = {}) {
  const service = await startService();
  const web = new OneInstance(service);
  await web.killedUp(more);
  return { service, web, saved: await existingProject(service) };
}

/** `pulumi destroy`: the engine ends the process with SIGINT when it has no more calls. */
async function destroyed(service: Service, { id, state }: Saved): Promise<void> {
  const { projects } = await service.newProviders();
  await projects.delete(id, state);
  service.signals.emit("SIGINT", "SIGINT");
  await vi.waitFor(() => expect(service.signals.endedBy).toEqual(["SIGINT"]));
  expect(service.signals.heard).toBe(0);
}

test("`destroy` warns once about an interrupted creation that it leaves unfinished", async () => {
  const { service, web, saved } = await killed();
  await destroyed(service, saved);
  const { operation } = await web.journalEntry();
  expect(service.warnings).toEqual([
    expect.stringContaining(
      "an interrupted creation of the stack dev is unfinished, and the object may still exist",
    ),
  ]);
  expect(service.warnings[0]).toContain(`instance "web" with the operation ${operation?.id}, started 20`);
  expect(service.warnings[0]).toContain(URN);
  expect(service.warnings[0]).toContain("recover --forget <urn>");
});

test("`destroy` warns about an interrupted creation at an endpoint that it doesn't use", async () => {
  const { service, web, saved } = await killed();
  const entry = await web.journalEntry();
  await web.removeEntry();
  const elsewhere = openJournal({
    ...{ endpoint: "https://old.example.com/v1", dir: service.journalDir },
    warn: expect.fail,
  });
  await elsewhere.begin(entry);
  await destroyed(service, saved);
  expect(service.warnings).toEqual([expect.stringContaining(URN)]);
});

test("a process that only deletes in a run with a program doesn't warn, because the program does", async () => {
  const { service, saved } = await killed();
  const run = { outside: { run: `127.0.0.1:${randomUUID()}` } };
  const withProgram = await service.newProviders({}, undefined, run);
  await withProgram.projects.check(
    {},
    { region: "eu-1", __urn: URN.replace("Instance::web", "Project::shop"), __key: KEY },
  );
  const { projects } = await service.newProviders({}, undefined, run);
  await projects.delete(saved.id, saved.state);
  service.signals.emit("SIGINT", "SIGINT");
  await vi.waitFor(() => expect(service.signals.endedBy).toEqual(["SIGINT"]));
  expect(service.warnings).toEqual([]);
});

test("`destroy` doesn't warn about an interrupted creation that it finishes", async () => {
  const service = await startService();
  const saved = await existingProject(service);
  await new OneInstance(service, saved).killedUp();
  await destroyed(service, saved);
  expect(service.warnings).toEqual([]);
});

test.each([
  ["stack", { __urn: URN.replace("pulumi:dev", "pulumi:prod") }],
  ["organization", { __organization: "beta" }],
])("a destroy doesn't warn of an interrupted creation of another %s", async (_, more) => {
  const { service, saved } = await killed(more);
  await destroyed(service, saved).catch(() => undefined);
  expect(service.warnings).toEqual([]);
});

test("an `up` leaves the warning to the program", async () => {
  const { service, saved } = await killed();
  const { projects } = await service.newProviders();
  const { heard } = service.signals;
  await projects.check(saved.inputs, saved.inputs);
  await projects.delete(saved.id, saved.state);
  expect(service.signals.heard).toBe(heard);
});

test("a deletion that a signal interrupts is an error, and a second signal ends the process at once", async () => {
  const { service, saved } = await killed();
  const { projects } = await service.newProviders();
  const unanswered = service.emulator.fail({ method: "DELETE", kind: "hang" });
  const said = errorOf(projects.delete(saved.id, saved.state));
  await vi.waitFor(() => expect(unanswered.used).toBe(1));
  service.signals.emit("SIGINT", "SIGINT");
  expect(service.signals.heard).toBe(0);
  expect(await said).toContain("interrupted by SIGINT");
  expect(service.warnings).toEqual([]);
});

test("a process exits as soon as its engine no longer runs", async () => {
  const engine = createServer().listen(0, "127.0.0.1");
  await once(engine, "listening");
  const address = Object(engine.address());
  const clock = new FakeClock();
  const exit = vi.fn();
  const ended = exitWithEngine(`127.0.0.1:${address.port}`, exit, clock);
  for (const checks of [1, 2, 3]) {
    await vi.waitFor(() => expect(clock.sleeps).toHaveLength(checks));
    await clock.advance(1_000);
  }
  expect(exit).not.toHaveBeenCalled();
  engine.close();
  await vi.waitFor(() => expect(clock.sleeping).toBe(1));
  await clock.advance(1_000);
  await ended;
  expect(exit).toHaveBeenCalledOnce();
});

test("a process without an engine doesn't exit", async () => {
  const exit = vi.fn();
  await exitWithEngine("/path/of/a/script.js", exit, new FakeClock());
  await exitWithEngine(undefined, exit, new FakeClock());
  expect(exit).not.toHaveBeenCalled();
});
