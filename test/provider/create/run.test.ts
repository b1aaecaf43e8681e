import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Accepted } from "../../../src/api/client";
import { CloudInfraError } from "../../../src/diagnostics/error";
import type { Behaviour } from "../../../src/emulator";
import { nextKey } from "../../../src/model/idempotency-key";
import { instanceKind, projectKind } from "../../../src/model/resource-fields";
import { type Properties, parseDesired } from "../../../src/model/state";
import { deadlineIn } from "../../../src/polling/clock";
import type { Context } from "../../../src/provider/context";
import { create } from "../../../src/provider/create";
import { InitializationError } from "../../../src/provider/host";
import { callTo } from "../fake-call";
import { FakeService } from "../fake-service";
import { oneInstance } from "../one-instance";
import { instanceNews, KEY, projectNews } from "../samples";
import { existingInstance, existingProject, failureOf, type Service, startService } from "../service";
import { check } from "../typed";

/** A service whose operations name their object and have no link to it; it waits for nobody. */
function finished(call: Context): Context {
  const { client } = call.session;
  const done = { id: "op-1", url: `${client.endpoint}/operations/op-1`, status: "done", resource: "ins-1" };
  const session: Context["session"] = {
    ...call.session,
    client: {
      ...client,
      instances: { ...client.instances, create: async () => ({ kind: "operation", operation: done }) },
      operations: { ...client.operations, poll: async () => done },
      resultId: (operation) => operation.resource,
      readResult: async () => {
        throw new CloudInfraError("no_result", "operation op-1 has no link to its result");
      },
    },
  };
  return { ...call, session };
}

test("the object of an operation that names it without a link is looked up", async () => {
  const fake = new FakeService();
  fake.addProject("prj-1");
  fake.addInstance("ins-1", "prj-1");
  expect(await create(finished(callTo(fake, instanceKind)), parseDesired(instanceNews()))).toMatchObject({
    id: "ins-1",
  });
});

describe("the object of a resumed creation that the list doesn't show yet", () => {
  const resumed = async (ms: number): Promise<{ failure: Error; begun: string[] }> => {
    const fake = new FakeService();
    fake.getAnswer = "405";
    fake.addProject("prj-1");
    fake.addInstance("ins-1", "prj-1");
    fake.unlisted.add("ins-1");
    const begun: string[] = [];
    const { session, ...call } = finished(callTo(fake, instanceKind));
    const begin = vi.spyOn(session.journal, "begin");
    begin.mockImplementation(async ({ key }) => void begun.push(key));
    onTestFinished(() => begin.mockRestore());
    const news = parseDesired(instanceNews());
    const pending = {
      key: KEY,
      body: "{}",
      at: Date.now(),
      operation: { id: "op-1", url: "/v1/operations/op-1" },
    };
    const placeholder = {
      endpoint: session.client.endpoint,
      kind: "instance",
      id: "operation/op-1",
    } as const;
    session.tracker.recordDiff(news.urn, placeholder, { pending }, true);
    const late = { ...call, session, deadline: deadlineIn(ms, session.clock) };
    return { failure: await failureOf(create(late, news)), begun };
  };

  test("is not created twice at the deadline, and its creation is in the state", async () => {
    const { failure, begun } = await resumed(3_000);
    expect(failure).toMatchObject({ code: "timeout", resultId: "ins-1", outs: { pending: { key: KEY } } });
    expect(failure.message).toContain("did not return it before the deadline");
    expect(begun).toEqual([]);
  });

  test.each([0, 1])(
    "is not created twice if the service limits the rate of list number %i",
    async (after) => {
      const timeouts = { __timeouts: { create: "1m" } };
      const behaviour = { operationMs: 75_000, getObject: 405, lagMs: 25_000, lagIn: "lists" } as const;
      const { service, web } = await oneInstance({ behaviour });
      expect(await web.up(timeouts)).toContain("operation_timeout");
      service.emulator.fail({
        ...{ kind: "status", status: 429, retryAfter: 16, method: "GET", path: "/v1/instances", after },
      });
      await web.up(timeouts);
      await service.clock.sleep(60_000);
      await web.up({ __timeouts: { create: "10m" } });
      expect([...service.emulator.instances.keys()]).toEqual([web.inState().id]);
      expect(web.keys()).toBe(1);
    },
  );

  test("is recreated if the list doesn't show it for 30 s", async () => {
    expect((await resumed(300_000)).begun).toEqual([nextKey(KEY)]);
  });
});

/** Runs `up` of a project in its own process. */
async function upProject({ newProviders }: Service): Promise<{ id: string }> {
  const { projects } = await newProviders();
  const { inputs } = await projects.check({}, projectNews());
  return projects.create(inputs);
}

/** Creates a project whose reply is lost. */
async function unansweredProject(behaviour: Partial<Behaviour> = {}) {
  const service = await startService({ behaviour });
  const lost = service.emulator.fail({ method: "POST", kind: "lost-reply", times: 99 });
  await failureOf(upProject(service));
  lost.off();
  const [id = ""] = service.emulator.projects.keys();
  return { service, id };
}

describe("a reply that the service repeats for the key of an earlier request", () => {
  test("is the result of the creation if the project exists", async () => {
    const { service, id } = await unansweredProject();
    expect(await upProject(service)).toMatchObject({ id });
    expect(service.emulator.projects.size).toBe(1);
  });

  test.each(["hidden", "deleted"])(
    "causes an error if the project is %s, which may be the same",
    async (why) => {
      const { service, id } = await unansweredProject();
      const { emulator } = service;
      const other = emulator.addProject();
      if (why === "deleted") emulator.remove(id);
      else Object.assign(emulator.behaviour, { hiddenProjects: [id], forbiddenStatus: 404 });
      expect((await failureOf(upProject(service))).message).toContain("recover --forget <urn>");
      expect([...emulator.projects.keys()].filter((one) => one !== id)).toEqual([other.id]);
    },
  );

  test("is ignored if another project has the id since, and a warning mentions that project", async () => {
    const { service, id } = await unansweredProject({ ids: "slug", idReuse: true });
    const { emulator, clock, warnings } = service;
    const name = emulator.projects.get(id)?.fields.name;
    emulator.remove(id);
    await clock.sleep(3 * 3_600_000);
    const theirs = emulator.addProject({ name });
    expect(theirs.id).toBe(id);
    const made = await upProject(service);
    expect(made.id).not.toBe(id);
    expect([...emulator.projects.keys()]).toEqual([id, made.id]);
    expect(warnings).toEqual([expect.stringContaining(`created project ${id}, which no longer exists`)]);
  });
});

test.each([200, 404, 405] as const)(
  "the object of a failed creation is in the state, even if only lists show it (GET returns %d)",
  async (getObject) => {
    const { service, web } = await oneInstance({ behaviour: { getObject } });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    expect(await web.up()).toContain('ended with status "failed"');
    const [id] = service.emulator.instances.keys();
    expect(web.saved?.id).toBe(id);
  },
);

describe("the object of a failed creation whose operation has no link to it", () => {
  async function failed(args: Properties = {}, behaviour: Partial<Behaviour> = {}) {
    const { service, web } = await oneInstance({ behaviour: { resultLink: "missing", ...behaviour } });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    const said = await web.up(args);
    const [id = ""] = service.emulator.instances.keys();
    return { service, web, said, id };
  }
  const listing = (id: string) => expect.stringContaining(`the service lists ${id} with the same name`);

  test("is mentioned in a warning, and is never adopted or deleted", async () => {
    const { service, web, said, id } = await failed();
    expect(said).toContain('ended with status "failed"');
    expect(service.warnings).toEqual([listing(id)]);
    service.emulator.behaviour.resultLink = "absolute";
    expect(await web.up({}, { onAnotherMachine: true })).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([id, web.inState().id]);
  });

  test.each(["up", "refresh", "destroy"] as const)(
    "is mentioned by `%s` if the creation was interrupted",
    async (command) => {
      const { service, web, id } = await failed({ __timeouts: { create: "5s" } }, { operationMs: 3_600_000 });
      expect(web.inState().id).toMatch(/^operation\//);
      expect(service.warnings).toEqual([]);
      service.emulator.finishOperations();
      service.emulator.behaviour.operationMs = 100;
      await web[command]();
      expect(service.warnings).toEqual([listing(id)]);
      expect(service.emulator.instances.has(id)).toBe(true);
      expect(web.saved?.id).not.toBe(id);
    },
  );

  test("is the only object in the warning if the failed creation was a replacement with the same name", async () => {
    const { service, web } = await oneInstance();
    await web.up({ name: "web" });
    const former = web.inState().id;
    service.emulator.behaviour.resultLink = "missing";
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    await web.up({ name: "web", image: "debian-14" }, { deleteBeforeReplace: false });
    const [, left = ""] = service.emulator.instances.keys();
    expect(service.warnings).toEqual([listing(left)]);
    expect(service.warnings.join()).not.toContain(former);
  });

  test("causes no warning if the creation left no object", async () => {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create" });
    expect(await web.up()).toContain('ended with status "failed"');
    expect(service.warnings).toEqual([]);
  });
});

test.each(["instance", "project"] as const)(
  "the %s of a failed creation is in the state even if replies lag behind",
  async (kind) => {
    const behaviour = { operationMs: 100, projectPost: 202, lagMs: 2_000, lagIn: "both" } as const;
    const service = await startService({ behaviour });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    const made = kind === "project" ? existingProject(service) : existingInstance(service);
    const error = await failureOf(made);
    if (!(error instanceof InitializationError)) throw error;
    const { instances, projects } = await service.newProviders();
    const provider = kind === "project" ? projects : instances;
    expect(await provider.read(error.id, error.properties)).toMatchObject({ id: error.id });
    expect(service.emulator[`${kind}s`].has(error.id)).toBe(true);
  },
);

test("a creation that an error hook repeats gets another key after each definite failure", async () => {
  const { service, web } = await oneInstance();
  service.emulator.failNextOperation({ kind: "create" });
  service.emulator.fail({
    method: "POST",
    kind: "status",
    status: 403,
    when: () => web.keys() === 2,
    times: 1,
  });
  const process = await web.process();
  const { inputs } = await process.check({}, web.news());
  for (const failure of ["capacity_exhausted", "(403)"])
    expect((await failureOf(process.create(inputs))).message).toContain(failure);
  await process.create(inputs);
  expect(service.emulator.instances.size).toBe(1);
  expect(web.keys()).toBe(3);
});

describe("an older object that the service returns for a new creation", () => {
  /** Starts a service that returns an older object of another user for each creation. `hoursAgo` is the age of that object. */
  async function older(hoursAgo: number, fields: Properties, behaviour: Partial<Behaviour> = {}) {
    let change = (): void => {};
    const { service, web } = await oneInstance({
      behaviour: { operationMs: 0, ...behaviour },
      onRequest: () => change(),
    });
    const { emulator } = service;
    const added = emulator.addInstance({ project: web.project, image: "debian-13", ...fields });
    // The request has the time of the machine.
    const theirs = Object.assign(added, { createdAt: Date.now() - hoursAgo * 3_600_000 });
    change = () => {
      for (const operation of emulator.operations.values())
        Object.assign(operation, { resultPath: `/v1/instances/${theirs.id}` });
      for (const { id } of emulator.instances.values()) if (id !== theirs.id) emulator.remove(id, "instance");
    };
    return { service, web, theirs };
  }

  test.each(["web", "db"])("is not adopted, and the error lists the next steps (%s)", async (name) => {
    const { service, web, theirs } = await older(24, { name });
    const said = await web.up({ name: "web" });
    expect(said).toContain(`another instance "${name}"`);
    expect(said).toContain(`with the id ${theirs.id}`);
    expect(said).toContain("set the `import` option to its id");
    expect(said).toContain("recover --forget <urn>");
    expect(web.inState().id).toMatch(/^operation\//);
    await web.up({ name: "web", flavor: "m1.large" });
    await web.up({ name: "web", image: "debian-14" });
    await web.destroy();
    expect(service.emulator.instances.get(theirs.id)).toBe(theirs);
    expect(theirs.fields).toMatchObject({ image: "debian-13", flavor: "m1.small" });
  });

  test("is adopted with the `import` option after the creation was given up", async () => {
    const { web, theirs } = await older(24, { name: "web" });
    expect(await web.up({ name: "web" })).toContain("another instance");
    await web.giveUp();
    expect(await web.up({ name: "web", __import: theirs.id })).toBeUndefined();
    expect(web.inState().id).toBe(theirs.id);
  });

  test("is the result if it is at most an hour older, because clocks may differ", async () => {
    const { web, theirs } = await older(0.9, { name: "web" });
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(web.inState().id).toBe(theirs.id);
  });

  test("is the result if the service returns no creation date", async () => {
    const spelling = (shown: object) => ({ ...shown, created_at: undefined });
    const { web, theirs } = await older(24, { name: "web" }, { spelling });
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(web.inState().id).toBe(theirs.id);
  });

  describe("in the reply to the request", () => {
    /** Creates a project with a service that returns this object in its reply. */
    async function created(object: Properties, name: string | undefined): Promise<string> {
      const call = callTo(new FakeService(), projectKind);
      const { client } = call.session;
      const reply = async (): Promise<Exclude<Accepted, { kind: "none" }>> => ({
        kind: "object",
        object: { id: "prj-1", fields: { id: "prj-1", region: "eu-1", ...object } },
      });
      const session = {
        ...call.session,
        client: { ...client, projects: { ...client.projects, create: reply } },
      };
      const { inputs } = check(projectKind, {}, projectNews({ name }));
      return create({ ...call, session }, parseDesired(inputs)).then(
        ({ id }) => id,
        (error: Error) => error.message,
      );
    }
    const ago = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

    test.each(["shop", "store"])("is not adopted (%s)", async (name) => {
      const said = await created({ name, created_at: ago(2) }, "shop");
      expect(said).toContain(`another project "${name}"`);
      expect(said).toContain("with the id prj-1");
    });

    test.each([
      ["is at most an hour older", { name: "shop", created_at: ago(0.9) }],
      ["has no creation date", { name: "store" }],
      ["has a creation date without a time zone", { name: "shop", created_at: "2020-01-01T00:00:00" }],
    ])("is adopted if it %s", async (_, object) => {
      expect(await created(object, "shop")).toBe("prj-1");
    });

    test("is adopted if it has the generated name", async () => {
      const name = `shop-${KEY.slice(0, 7)}`;
      expect(await created({ name, created_at: ago(2) }, name)).toBe("prj-1");
    });
  });
});
