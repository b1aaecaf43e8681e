import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Page } from "../../../src/api/client";
import { instanceKind } from "../../../src/model/resource-fields";
import { deadlineIn } from "../../../src/polling/clock";
import { ObjectFinder } from "../../../src/provider/lookup/object-finder";
import { EngineLog, Progress, type StatusLog } from "../../../src/provider/progress";
import { FakeClock } from "../../polling/fake-clock";
import { FakeService } from "../fake-service";
import { OneInstance } from "../one-instance";
import { openProviders } from "../providers";
import { instanceNews } from "../samples";
import {
  changed,
  existingInstance,
  existingProject,
  failureOf,
  type Service,
  startService,
} from "../service";

/** What is written into rows. */
class Rows extends EngineLog {
  readonly written: string[] = [];
  /** Whose rows were asked for. */
  readonly urns: (string | undefined)[] = [];

  constructor() {
    super(undefined);
  }

  override statusLogFor(urn?: string): StatusLog {
    this.urns.push(urn);
    return { write: async (message) => void this.written.push(message) };
  }
}

/** A process of the provider whose rows are seen, in a terminal or in CI. */
async function process({ emulator, clock, journalDir }: Service, inCi: boolean) {
  const { endpoint, token } = emulator;
  const log = new Rows();
  const settings = { endpoint, token, journalDir };
  const providers = await openProviders(settings, { clock, warn: () => {}, log, inCi });
  return { ...providers, written: log.written, urns: log.urns };
}

describe("the status message of a deletion", () => {
  test("shows the operation's percentage, then the wait for confirmation, and is removed at the end", async () => {
    const service = await startService({ behaviour: { deleteObject: 202, operationMs: 60_000 } });
    const saved = await existingInstance(service);
    const { instances, written } = await process(service, false);
    service.emulator.fail({ path: "/v1/instances", kind: "status", status: 503, retryAfter: 9 });
    await instances.delete(saved.id, saved.state);
    expect(written[0]).toBe("deleting 0%");
    expect(written).toContainEqual(expect.stringMatching(/^deleting \d\d% · about \d+ s left$/));
    const confirming = "deleting · waiting for confirmation · the service returned 503";
    expect(written.at(-2)).toMatch(new RegExp(`^${confirming} · retrying in \\d s$`));
    expect(written.at(-1)).toBe("");
  });

  test.each([
    [false, /^deleting · waiting for confirmation · \d+ s elapsed$/, 20],
    [true, /^deleting · waiting for confirmation · 6\d s elapsed$/, 1],
  ])("says that the deletion awaits confirmation (CI: %s)", async (inCi, text, most) => {
    const service = await startService({ behaviour: { deleteObject: 202 } });
    const saved = await existingInstance(service, { __timeouts: { delete: "2m" } });
    service.emulator.fail({ method: "DELETE", kind: "status", status: 200, problem: { id: saved.id } });
    const { instances, written } = await process(service, inCi);
    await failureOf(instances.delete(saved.id, saved.state));
    expect(written.pop()).toBe("");
    expect(written.length).toBeGreaterThan(0);
    expect(written.length).toBeLessThanOrEqual(most);
    for (const line of written) expect(line).toMatch(text);
  });

  test("of a project mentions the cleanup of an interrupted creation", async () => {
    const service = await startService({ behaviour: { operationMs: 60_000 } });
    const project = await existingProject(service);
    const { id, state } = project;
    await new OneInstance(service, project).killedUp();
    const { projects, written } = await process(service, false);
    await projects.delete(id, state);
    expect(service.emulator.projects.size).toBe(0);
    const text = /^deleting · cleaning up unfinished instances · \d+%( · about \d+ s left)?$/;
    expect(written.filter((line) => text.test(line)).length).toBeGreaterThan(3);
    expect(written.at(-1)).toBe("");
  });

  test("is omitted if another resource has the recorded URN now", async () => {
    const service = await startService();
    const former = await existingInstance(service);
    const present = await existingInstance(service, { __key: randomUUID() });
    const { instances, urns } = await process(service, false);
    const { __urn: urn } = present.inputs;
    expect(former.state.__urn).toBe(urn);
    await instances.check(present.inputs, present.inputs);
    urns.length = 0;
    await instances.delete(former.id, former.state);
    expect(urns).toEqual([undefined]);
    await instances.delete(present.id, present.state);
    expect(urns).toEqual([undefined, urn]);
  });

  test("shows an outage of the service", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    const { instances, written } = await process(service, false);
    service.emulator.fail({ method: "DELETE", kind: "status", status: 503, retryAfter: 9, times: 3 });
    await instances.delete(saved.id, saved.state);
    expect(written[0]).toMatch(/^deleting · the service returned 503 · retrying in [67] s$/);
    expect(written.at(-1)).toBe("");
  });
});

test("the status message of a creation shows an outage of the operation, however long it lasts", async () => {
  const service = await startService({ behaviour: { operationMs: 60_000 } });
  service.emulator.addProject();
  const { instances, written } = await process(service, false);
  const [project] = service.emulator.projects.keys();
  const { inputs } = await instances.check({}, instanceNews({ project }));
  service.emulator.fail({ kind: "status", path: "/v1/operations/", status: 503, retryAfter: 20, times: 10 });
  await instances.create(inputs);
  const told = written.filter((line) =>
    /^creating 0% · the service returned 503 · retrying (in \d+ s|now)$/.test(line),
  );
  expect(told.length).toBeGreaterThan(10);
  expect(written.at(-1)).toBe("");
});

describe("the status message of a read", () => {
  test("is omitted in a quick refresh", async () => {
    const service = await startService();
    const saved = await Promise.all(Array.from({ length: 8 }, () => existingInstance(service)));
    const { instances, written } = await process(service, false);
    await Promise.all(saved.map(({ id, state }) => instances.read(id, state)));
    expect(written).toEqual([]);
  });

  test("shows an outage of a shared list", async () => {
    const service = await startService();
    const saved = [await existingInstance(service), await existingInstance(service)];
    const { instances, written } = await process(service, false);
    service.emulator.fail({ method: "GET", kind: "status", status: 503, retryAfter: 9 });
    await Promise.all(saved.map(({ id, state }) => instances.read(id, state)));
    const text = /^reading · listing instances \(page 1\) · the service returned 503 · retrying in [67] s$/;
    expect(written.filter((line) => text.test(line))).toHaveLength(2);
    expect(written.filter((line) => line === "")).toHaveLength(2);
  });

  test("shows the page of a long list", async () => {
    const clock = new FakeClock();
    const client = new FakeService().client();
    async function* pages(): AsyncGenerator<Page> {
      for (let page = 1; ; page++) {
        await clock.sleep(1_000);
        yield { objects: [{ id: `ins-${page}`, fields: {}, revision: undefined }], isLast: page === 15 };
      }
    }
    const slow = { ...client, instances: { ...client.instances, pages } };
    const log = new Rows();
    const progress = new Progress(log.statusLogFor(), "reading", { clock, inCi: false }).begin();
    const look = new ObjectFinder(slow, clock, 600_000).findInList(
      { kind: instanceKind, id: "ins-15", project: "prj-1" },
      { deadline: deadlineIn(60_000, clock), progress },
    );
    await clock.advance(15_000);
    expect(await look).toMatchObject({ found: { id: "ins-15" } });
    await progress.clear();
    expect(log.written).toEqual([
      "reading · listing instances (page 3) · 3 s elapsed",
      "reading · listing instances (page 13) · 13 s elapsed",
      "",
    ]);
  });
});

test("the status message of an update says that the change awaits confirmation", async () => {
  const service = await startService();
  const saved = await existingInstance(service);
  const { instances, written } = await process(service, false);
  service.emulator.ignoreUpdatesOf("flavor");
  await failureOf(instances.update(saved.id, saved.state, changed(saved, { flavor: "m1.large" })));
  expect(written[0]).toBe("updating · waiting for confirmation · 3 s elapsed");
  expect(written.at(-1)).toBe("");
});
