import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RunFacts } from "../../../src/journal/run-facts";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import { ResourceTracker } from "../../../src/provider/resource-tracker";
import { LastMoment } from "../../polling/last-moment";
import { OneInstance, oneInstance, URN } from "../one-instance";
import { instanceNews, projectNews } from "../samples";
import { existingProject, failureOf, type Service, startService } from "../service";

const OLD = URN.replace("::web", "::old");

async function checked(provider: HostProvider, olds: Properties, news: Properties): Promise<Properties> {
  const { inputs, failures } = await provider.check(olds, news);
  expect(failures).toEqual([]);
  return inputs;
}

const deletions = ({ emulator }: Service): string[] =>
  emulator.requests.filter(({ method }) => method === "DELETE").map(({ path }) => path);

describe("after a rename by alias,", () => {
  /** `web` is created and saved, but the program is interrupted before it removes the journal entry. */
  async function unconfirmed() {
    const { service, web } = await oneInstance();
    await web.up({}, { unconfirmed: true });
    return { service, web, saved: web.inState() };
  }

  test("a new resource with the former name gets its own instance", async () => {
    const { service, web, saved } = await unconfirmed();
    const process = await web.process();
    const renamed = await checked(process, saved.inputs, web.news({ __urn: OLD }));
    expect(await process.diff(saved.id, saved.state, renamed)).toMatchObject({ changes: false });
    const made = await process.create(await checked(process, {}, web.news()));
    expect(made.id).not.toBe(saved.id);
    expect(service.emulator.instances.size).toBe(2);
  });

  test("the check of the renamed resource fails if the new one has adopted the instance", async () => {
    const { service, web, saved } = await unconfirmed();
    const process = await web.process();
    const made = await process.create(await checked(process, {}, web.news()));
    expect(made.id).toBe(saved.id);
    const { failures } = await process.check(saved.inputs, web.news({ __urn: OLD }));
    expect(failures.map(({ reason }) => reason).join()).toContain(
      `"web" and this resource manage the same instance`,
    );
    expect(service.emulator.instances.size).toBe(1);
  });

  test("a new resource with the former name that needs another image gets its own key", async () => {
    const { service, web, saved } = await unconfirmed();
    const process = await web.process();
    const other = { image: "debian-14" };
    const inputs = await checked(process, {}, web.news(other));
    const made = await process.create(inputs);
    await checked(process, saved.inputs, web.news({ __urn: OLD }));
    expect([...service.emulator.instances.keys()]).toEqual([saved.id, made.id]);
    const later = await web.process();
    const unchanged = await checked(later, inputs, web.news(other));
    expect(await later.diff(made.id, made.outs, unchanged)).toMatchObject({ changes: false });
    const renamed = await checked(later, saved.inputs, web.news({ __urn: OLD }));
    expect(await later.diff(saved.id, saved.state, renamed)).toMatchObject({ changes: false });
  });

  test("a creation fails if another resource holds its key now", async () => {
    const { service, web, saved } = await unconfirmed();
    const process = await web.process();
    const inputs = await checked(process, {}, web.news());
    await checked(process, saved.inputs, web.news({ __urn: OLD }));
    expect((await failureOf(process.create(inputs))).message).toContain("Run `pulumi up` again");
    expect(service.emulator.instances.size).toBe(1);
  });

  test("deleting the renamed resource doesn't affect the new resource with the former name", async () => {
    const { service, web, saved } = await unconfirmed();
    const process = await web.process();
    await checked(process, saved.inputs, web.news({ __urn: OLD }));
    const made = await process.create(await checked(process, {}, web.news()));
    await (await web.process()).delete(saved.id, saved.state);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
    expect(deletions(service)).toEqual([`/v1/instances/${saved.id}`]);
  });

  test("deleting the renamed resource doesn't affect the interrupted creation of the new resource with the former name", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const { id: renamed, state } = web.inState();
    const fresh = new OneInstance(service);
    await fresh.killedUp();
    const [, id] = service.emulator.instances.keys();
    await (await web.process()).delete(renamed, state); // the state still contains the former name
    expect(await fresh.up()).toBeUndefined();
    expect(await fresh.expectOne()).toBe(id);
  });

  test("an interrupted creation is resumed under the new name", async () => {
    const { service, web } = await oneInstance();
    await web.killedUp();
    const [id] = service.emulator.instances.keys();
    const process = await web.process();
    const inputs = await checked(process, {}, web.news({ __urn: OLD, __aliasUrns: [URN] }));
    expect(inputs).not.toHaveProperty("__aliasUrns");
    expect((await process.create(inputs)).id).toBe(id);
    expect(service.emulator.instances.size).toBe(1);
  });

  test("an interrupted creation is not settled by the resource that has taken its name while another one resumes it", async () => {
    const { service, web } = await oneInstance();
    await web.up({ name: "old", __urn: OLD });
    const old = web.inState();
    await new OneInstance(service).killedUp();
    const [, id] = service.emulator.instances.keys();
    const process = await web.process();
    const renamed = await checked(process, old.inputs, web.news({ name: "old", __aliasUrns: [OLD] }));
    const api = URN.replace("::web", "::api");
    const inputs = await checked(process, {}, web.news({ __urn: api, __aliasUrns: [URN] }));
    await process.diff(old.id, old.state, renamed);
    await process.update(old.id, old.state, renamed);
    expect((await process.create(inputs)).id).toBe(id);
    expect([...service.emulator.instances.keys()]).toEqual([old.id, id]);
  });
});

describe("the interrupted creation of another stack", () => {
  const stacks = [
    ["another backend", { PULUMI_BACKEND_URL: "file:///elsewhere" }, {}],
    ["another organization", {}, { __organization: "acme" }],
  ] as const;

  test.each(stacks)(
    "is neither adopted nor deleted by a stack of the same name in %s",
    async (_, env, more) => {
      const { service, web } = await oneInstance();
      await web.killedUp();
      const [theirs = ""] = service.emulator.instances.keys();
      const open = async () => (await service.newProviders({}, undefined, { env })).instances;
      const first = await open();
      const inputs = await checked(first, {}, web.news(more));
      const made = await first.create(inputs);
      expect(made.id).not.toBe(theirs);
      const next = await open();
      const unchanged = await checked(next, inputs, web.news(more));
      expect(await next.diff(made.id, made.outs, unchanged)).toMatchObject({ changes: false });
      await (await open()).delete(made.id, made.outs);
      expect([...service.emulator.instances.keys()]).toEqual([theirs]);
      expect(await web.journalEntry()).toBeDefined();
    },
  );

  test("is not deleted with a project of this stack", async () => {
    const service = await startService();
    const { id, state } = await existingProject(service);
    const web = new OneInstance(service);
    const process = await service.newProviders({}, undefined, {
      env: { PULUMI_BACKEND_URL: "file:///elsewhere" },
    });
    await web.killedUp();
    expect((await failureOf(process.projects.delete(id, state))).message).toContain("still holds instances");
    expect(service.emulator.instances.size).toBe(1);
  });
});

test.each([
  ["with another name", { __urn: URN.replace(/^urn:pulumi:\w+/, "urn:pulumi:other") }],
  ["that has the former name of this one", {}],
])(
  "the interrupted creation of a stack %s is not deleted with a project of this stack",
  async (_which, more) => {
    const service = await startService();
    const { id, state } = await existingProject(service);
    const web = new OneInstance(service);
    await web.killedUp(more);
    const { projects } = await service.newProviders();
    expect((await failureOf(projects.delete(id, state))).message).toContain("still holds instances");
    expect(service.emulator.instances.size).toBe(1);
  },
);

describe("if `recover` has found the creation of an instance, the deletion of its project", () => {
  async function recovered() {
    const service = await startService();
    const project = await existingProject(service);
    const web = new OneInstance(service, project);
    await web.killedUp();
    service.emulator.finishOperations();
    await web.writeEntry({ ...(await web.journalEntry()), recovered: true, isLate: true });
    const [id = ""] = service.emulator.instances.keys();
    return { service, project, web, id };
  }

  test("keeps its entry while the instance exists, and the next `up` adopts it", async () => {
    const { service, project, web, id } = await recovered();
    const { projects } = await service.newProviders();
    const { message } = await failureOf(projects.delete(project.id, project.state));
    expect(message).toContain("still holds instances");
    expect(service.warnings.join()).toContain(`instance ${id}`);
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });

  test("doesn't resend its request if no operation is known, because nothing might delete the result", async () => {
    const { service, project, web, id } = await recovered();
    const { operation: _, ...entry } = await web.journalEntry();
    await web.writeEntry(entry);
    service.emulator.clearRequests();
    const { projects } = await service.newProviders();
    expect((await failureOf(projects.delete(project.id, project.state))).message).toContain("still holds");
    expect(web.posts()).toEqual([]);
    expect(service.warnings.join()).toContain(`may have created instance ${id}`);
    expect(await web.entry()).toBeDefined();
  });

  test("removes its entry if the instance no longer exists, even if the deletion fails", async () => {
    const { service, project, web, id } = await recovered();
    service.emulator.remove(id);
    service.emulator.fail({ kind: "status", status: 403, method: "DELETE", times: 99 });
    const { projects } = await service.newProviders();
    expect((await failureOf(projects.delete(project.id, project.state))).message).toContain("(403)");
    expect(await web.entry()).toBeUndefined();
  });

  test("removes its entry once the project is deleted", async () => {
    const { service, project, web, id } = await recovered();
    service.emulator.remove(id);
    const { projects } = await service.newProviders();
    await projects.delete(project.id, project.state);
    expect(await web.entry()).toBeUndefined();
  });
});

describe("an instance that the engine may have saved", () => {
  /** The entry has its id: create has reported it. */
  async function reported() {
    const service = await startService();
    const project = await existingProject(service);
    const web = new OneInstance(service, project);
    await web.up({}, { unconfirmed: true });
    return { service, project, web, id: web.inState().id };
  }

  test("is named in a warning and not deleted with its project, because it may be retained or detached", async () => {
    const { service, project, id } = await reported();
    const { projects } = await service.newProviders();
    await failureOf(projects.delete(project.id, project.state));
    expect([...service.emulator.instances.keys()]).toEqual([id]);
    expect(service.warnings.join()).toMatch(new RegExp(`instance ${id}.* was not deleted`));
  });

  test("causes no warning once it is deleted in the same run", async () => {
    const { service, project, web, id } = await reported();
    const { instances, projects } = await service.newProviders();
    await instances.delete(id, web.inState().state);
    await projects.delete(project.id, project.state);
    expect(service.emulator.projects.size).toBe(0);
    expect(service.warnings).toEqual([]);
  });

  test("is kept with a warning if the program now declares something else under its name", async () => {
    const { service, web, id } = await reported();
    web.saved = undefined; // taken out of the state by hand
    expect(await web.up({ image: "debian-14" })).toBeUndefined();
    expect(web.inState().id).not.toBe(id);
    expect(service.emulator.instances.has(id)).toBe(true);
    expect(service.warnings.join()).toMatch(new RegExp(`instance ${id}.* was not deleted`));
  });

  /** The engine is killed after create has reported the replacement, and before it saves it. */
  async function unsavedReplacement() {
    const { service, web } = await oneInstance();
    await web.up();
    const before = web.inState();
    const process = await web.process();
    const replacing = web.news({ image: "debian-14" });
    await process.diff(before.id, before.state, await checked(process, before.inputs, replacing));
    const made = await process.create(await checked(process, {}, replacing));
    return { service, web, before, made };
  }

  test("is deleted if a check shows that the state still holds the object that it should have replaced", async () => {
    const { service, web, before } = await unsavedReplacement();
    expect(await web.up()).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([before.id]);
    expect(service.warnings).toEqual([]);
  });

  test("is kept with a warning if the state no longer holds the object that it replaced, because another stack may have it", async () => {
    const { service, web, made } = await unsavedReplacement();
    web.saved = undefined; // the engine saved the replacement, and `pulumi state move` has moved it to another stack
    expect(await web.up()).toBeUndefined();
    expect(web.inState().id).not.toBe(made.id);
    expect(service.emulator.instances.has(made.id)).toBe(true);
    expect(service.warnings.join()).toMatch(new RegExp(`instance ${made.id}.* was not deleted`));
  });

  test("is kept by `destroy`, with a warning at its end, because the replaced resource may only wait for its deletion", async () => {
    const { service, web, made } = await unsavedReplacement();
    expect(await web.destroy()).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
    service.signals.emit("SIGINT", "SIGINT");
    await vi.waitFor(() => expect(service.signals.endedBy).toEqual(["SIGINT"]));
    expect(service.warnings).toEqual([expect.stringContaining(`instance "web" with the id ${made.id}`)]);
  });
});

test.each([true, false])(
  "an unfinished creation is not retained because of another resource that had its name before (which retains: %s)",
  async (__retainOnDelete) => {
    const { service, web } = await oneInstance();
    const { emulator } = service;
    await web.up({ name: "front" });
    const front = web.inState();
    const fresh = new OneInstance(service);
    emulator.behaviour.operationMs = 3_600_000;
    await fresh.up({ name: "web", __timeouts: { create: "5s" } });
    emulator.finishOperations();
    emulator.behaviour.operationMs = 0;
    const process = await fresh.process();
    const renamed = {
      name: "front",
      __urn: OLD,
      __aliasUrns: [URN],
      ...(__retainOnDelete && { __retainOnDelete }),
    };
    const inputs = await checked(process, front.inputs, web.news(renamed));
    await process.diff(front.id, front.state, inputs);
    const there = fresh.inState();
    const again = fresh.news({ name: "web", image: "debian-14" });
    await process.diff(there.id, there.state, await checked(process, there.inputs, again));
    const made = await process.create(await checked(process, {}, again));
    await process.delete(there.id, there.state);
    expect([...emulator.instances.keys()]).toEqual([front.id, made.id]);
  },
);

describe("provider processes of one run", () => {
  /** A creation that an earlier run has left unfinished, and two processes of the next run. */
  async function twoProcesses() {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.up({ __timeouts: { create: "5s" } });
    const placeholder = web.inState();
    service.emulator.finishOperations();
    const nextRun = async () => {
      const outside = { run: `127.0.0.1:${randomUUID()}` };
      const open = async () => (await service.newProviders({}, undefined, { outside })).instances;
      return { one: await open(), other: await open() };
    };
    return { service, web, placeholder, nextRun, ...(await nextRun()) };
  }

  test("agree on an adopted creation, whose object the other process doesn't delete with the placeholder", async () => {
    const { service, web, placeholder, one, other } = await twoProcesses();
    const inputs = await checked(one, placeholder.inputs, web.news());
    await one.diff(placeholder.id, placeholder.state, inputs);
    const made = await one.create(await checked(one, {}, web.news()));
    await other.delete(placeholder.id, placeholder.state);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
    expect(deletions(service)).toEqual([]);
  });

  test("agree on it in a later run if a kill left the placeholder in the state", async () => {
    const { service, web, placeholder, one, nextRun } = await twoProcesses();
    const inputs = await checked(one, placeholder.inputs, web.news());
    await one.diff(placeholder.id, placeholder.state, inputs);
    const next = await checked(one, {}, web.news());
    const made = await one.create(next);
    const state = { ...made.outs };
    const later = await nextRun();
    const again = await checked(later.one, next, web.news());
    expect(await later.one.diff(made.id, state, again)).toMatchObject({ changes: false });
    await later.other.delete(placeholder.id, placeholder.state);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
  });

  /** A project, and an instance in it whose creation was killed, and then ended. The journal contains both. */
  async function killedInProject(how: "created" | "compared", instance: { providerName?: string }) {
    const service = await startService();
    const outside = { run: `127.0.0.1:${randomUUID()}` };
    const { projects } = await service.newProviders({}, undefined, { outside });
    const created = await checked(projects, {}, projectNews());
    const project = await projects.create(created);
    if (how === "compared") {
      outside.run = `127.0.0.1:${randomUUID()}`;
      const next = (await service.newProviders({}, undefined, { outside })).projects;
      await next.diff(project.id, project.outs, await checked(next, created, projectNews()));
    }
    service.emulator.behaviour.operationMs = 3_600_000;
    const clock = new LastMoment();
    const { instances } = await service.newProviders(instance, clock, { outside });
    const news = await checked(instances, {}, instanceNews({ project: project.id, __key: randomUUID() }));
    await Promise.race([clock.reached, instances.create(news)]);
    service.emulator.finishOperations();
    const remove = async () => (await service.newProviders()).projects.delete(project.id, project.outs);
    return { service, project, remove };
  }

  test.each(["created", "compared"] as const)(
    "agree on the project of an unfinished instance of another provider: if the project was %s, its deletion also finishes the instance",
    async (how) => {
      const { service, project, remove } = await killedInProject(how, { providerName: "eu" });
      const [instance] = service.emulator.instances.keys();
      await remove();
      expect(deletions(service)).toEqual([`/v1/instances/${instance}`, `/v1/projects/${project.id}`]);
    },
  );

  test("read the end of an operation only once, because a service may not keep it", async () => {
    const { service, remove } = await killedInProject("created", {});
    Object.assign(service.emulator.behaviour, { operationMs: 0, operationKeptPolls: 1 });
    await remove();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("don't resend another provider's creation if the project's provider can't see its operation", async () => {
    const { service, remove } = await killedInProject("created", { providerName: "eu" });
    // The other provider's account has its own operations and keys.
    const denied = service.emulator.fail({ path: "/v1/operations/", kind: "status", status: 403, times: 99 });
    await expect(remove()).rejects.toThrow("code provider_changed");
    denied.off();
    for (const operation of service.emulator.operations.keys()) service.emulator.remove(operation);
    service.emulator.behaviour.keyRetentionMs = 0;
    await expect(remove()).rejects.toThrow("code provider_changed");
    expect(service.emulator.instances.size).toBe(1);
    expect(deletions(service)).toEqual([]);
  });

  test("report an outage while the operation of another provider's creation is read", async () => {
    const { service, remove } = await killedInProject("created", { providerName: "eu" });
    const outage = { kind: "status", status: 503, times: Number.POSITIVE_INFINITY } as const;
    service.emulator.fail({ ...outage, path: "/v1/operations/" });
    await expect(remove()).rejects.toThrow("(503)");
  });

  test("never let two resources share an instance that one of them has resumed", async () => {
    const { service, web } = await oneInstance();
    await web.up({}, { unconfirmed: true });
    const saved = web.inState();
    const outside = { run: `127.0.0.1:${randomUUID()}` };
    const open = async () => (await service.newProviders({}, undefined, { outside })).instances;
    const [one, other] = [await open(), await open()];
    expect((await one.create(await checked(one, {}, web.news()))).id).toBe(saved.id);
    const { failures } = await other.check(saved.inputs, web.news({ __urn: OLD }));
    expect(failures.map(({ reason }) => reason).join()).toContain(
      "another resource and this resource manage the same instance",
    );
  });

  test.each([1, 2, 3, 4])(
    "report a conflict if one imports the instance while the other compares it (interleaving %i)",
    async (turn) => {
      const { service, web } = await oneInstance();
      await web.up();
      const { id, inputs, state } = web.inState();
      const outside = { run: `127.0.0.1:${randomUUID()}` };
      const open = async () => (await service.newProviders({}, undefined, { outside })).instances;
      const [one, other] = [await open(), await open()];
      const importing = await checked(other, {}, web.news({ __urn: OLD, __import: id }));
      const compared = await checked(one, inputs, web.news());
      const { hasOther } = RunFacts.prototype;
      let reads = 0;
      let comparison: Promise<unknown> | undefined;
      const spy = vi.spyOn(RunFacts.prototype, "hasOther").mockImplementation(async function (
        this: RunFacts,
        fact,
      ) {
        const answer = await hasOther.call(this, fact);
        if (comparison === undefined && "live" in fact && ++reads === turn) {
          comparison = one.diff(id, state, compared);
          await comparison.catch(() => undefined);
        }
        return answer;
      });
      onTestFinished(() => spy.mockRestore());
      const ends: PromiseSettledResult<unknown>[] = await Promise.allSettled([other.create(importing)]);
      ends.push(...(await Promise.allSettled([comparison ?? one.diff(id, state, compared)])));
      const reasons = ends.flatMap((end) =>
        end.status === "rejected" ? [String(Object(end.reason).message)] : [],
      );
      expect(reasons.join()).toContain("is already managed by");
      expect(deletions(service)).toEqual([]);
    },
  );

  test("delete an object that is replaced although the diff required no replacement, for example by an option of a transform", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const saved = web.inState();
    const outside = { run: `127.0.0.1:${randomUUID()}` };
    const open = async () => (await service.newProviders({}, undefined, { outside })).instances;
    const [one, other] = [await open(), await open()];
    const news = web.news({ flavor: "m1.large", __key: randomUUID() });
    const inputs = await checked(one, saved.inputs, news);
    expect((await one.diff(saved.id, saved.state, inputs)).replaces).toEqual([]);
    const made = await one.create(await checked(one, {}, news));
    await other.delete(saved.id, saved.state);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
  });

  test.each(["old", "web"])(
    "never resume one creation for two resources after a rename by alias, if %s comes first",
    async (first) => {
      const { service, web } = await oneInstance();
      await web.killedUp();
      const outside = { run: `127.0.0.1:${randomUUID()}` };
      const open = async () => (await service.newProviders({}, undefined, { outside })).instances;
      const [one, other] = [await open(), await open()];
      const renamed = await checked(one, {}, web.news({ __urn: OLD, __aliasUrns: [URN] }));
      const unchanged = await checked(other, {}, web.news());
      const creates = [() => one.create(renamed), () => other.create(unchanged)];
      const [winner, loser] = first === "old" ? creates : creates.toReversed();
      const made = await winner?.();
      expect((await failureOf(Promise.resolve(loser?.()))).message).toContain("Run `pulumi up` again");
      expect([...service.emulator.instances.keys()]).toEqual([made?.id]);
    },
  );

  test("don't resume a creation that the other one is discarding", async () => {
    const { service, web } = await oneInstance();
    await web.up({ name: "old", __urn: OLD });
    const old = web.inState();
    service.emulator.behaviour.operationMs = Number.MAX_SAFE_INTEGER;
    const long = { __timeouts: { create: "1000h", update: "1000h" } };
    await new OneInstance(service).killedUp(long);
    const outside = { run: `127.0.0.1:${randomUUID()}` };
    const open = async () => (await service.newProviders({}, undefined, { outside })).instances;
    const [one, other] = [await open(), await open()];
    const api = web.news({ ...long, __urn: URN.replace("::web", "::api"), __aliasUrns: [URN] });
    const resuming = await checked(other, {}, api);
    const renamed = await checked(one, old.inputs, web.news({ ...long, name: "old", __aliasUrns: [OLD] }));
    await one.diff(old.id, old.state, renamed);
    const polls = () => service.emulator.requests.filter(({ path }) => path.includes("/operations/")).length;
    const before = polls();
    const updated = one.update(old.id, old.state, renamed);
    while (polls() === before) await new Promise((resolve) => setImmediate(resolve));
    const resumed = failureOf(other.create(resuming));
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 100;
    expect((await resumed).message).toContain("Run `pulumi up` again");
    await updated;
    expect([...service.emulator.instances.keys()]).toEqual([old.id]);
  });

  test("settle a creation once, so that deleting its placeholder sends no requests", async () => {
    const { service, web, placeholder, one, other } = await twoProcesses();
    const inputs = await checked(one, placeholder.inputs, web.news({ image: "debian-12" }));
    await one.diff(placeholder.id, placeholder.state, inputs);
    service.emulator.behaviour.operationMs = 0;
    const made = await one.create(await checked(one, {}, web.news({ image: "debian-12" })));
    const asked = service.emulator.requests.length;
    await other.delete(placeholder.id, placeholder.state);
    expect(service.emulator.requests).toHaveLength(asked);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
  });

  test("agree on a creation that is about to be resumed, even if the placeholder is deleted first", async () => {
    const { service, web, placeholder, one, other } = await twoProcesses();
    const inputs = await checked(one, placeholder.inputs, web.news({ __urn: OLD }));
    await one.diff(placeholder.id, placeholder.state, inputs);
    const next = await checked(one, {}, web.news({ __urn: OLD }));
    await other.delete(placeholder.id, placeholder.state);
    const made = await one.create(next);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
    expect(web.posts()).toHaveLength(1);
  });
});

test("a renamed placeholder that is deleted before its replacement is resumed, not deleted", async () => {
  const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
  await web.up({ __timeouts: { create: "5s" } });
  service.emulator.finishOperations();
  const [id] = service.emulator.instances.keys();
  expect(await web.up({ __urn: OLD }, { deleteBeforeReplace: true })).toBeUndefined();
  expect(web.inState().id).toBe(id);
  expect(deletions(service)).toEqual([]);
});

describe("the memory of a process", () => {
  const project = { endpoint: "https://api", kind: "project", id: "1" } as const;

  test("distinguishes kinds, because a project and an instance may have the same id", () => {
    const tracker = new ResourceTracker();
    tracker.recordCreated("urn:shop", project, "key");
    expect(tracker.liveOwner(project)).toBeDefined();
    expect(tracker.liveOwner({ ...project, kind: "instance" })).toBeUndefined();
  });

  test("distinguishes services, whose objects may have the same id", () => {
    const tracker = new ResourceTracker();
    tracker.recordCreated("urn:shop", project, "key");
    expect(tracker.liveOwner({ ...project, endpoint: "https://other" })).toBeUndefined();
  });

  test("finds a resource under its former name, unless another resource has that name now", () => {
    const tracker = new ResourceTracker();
    const old = { urn: "urn:web", key: "old-key" };
    expect(tracker.displayUrnOf(old)).toBe("urn:web");
    tracker.recordCheck("urn:web", { key: "new-key" });
    expect(tracker.displayUrnOf(old)).toBeUndefined();
    tracker.recordProgramValues("old-key", { urn: "urn:renamed" });
    expect(tracker.displayUrnOf({ ...old, urn: "urn:renamed" })).toBe("urn:renamed");
  });

  test("of a deletion ends when the service assigns the id again", () => {
    const tracker = new ResourceTracker();
    tracker.recordDeleted(project);
    tracker.recordCreated("urn:shop", project, "key");
    expect(tracker.wasDeleted(project)).toBe(false);
  });
});
