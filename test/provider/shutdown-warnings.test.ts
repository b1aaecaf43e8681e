import { randomUUID } from "node:crypto";
import { expect, test, vi } from "vitest";
import { openJournal } from "../../src/journal/journal";
import { OneInstance, URN } from "./one-instance";
import { KEY } from "./samples";
import { errorOf, existingProject, type Saved, type Service, startService } from "./service";

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
