import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { openJournal } from "../../../src/journal/journal";
import { identityKey } from "../../../src/model/resource-fields";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import { emptyFolder } from "../../journal/folder";
import { OneInstance, oneInstance, URN } from "../one-instance";
import { instanceNews, OTHER_KEY, projectNews } from "../samples";
import {
  errorOf,
  existingInstance,
  existingProject,
  failureOf,
  type Service,
  startService,
} from "../service";

const SHORT = { __timeouts: { create: "5s" } };
const OLD = URN.replace("::web", "::old");

const idsOf = ({ emulator }: Service): string[] => [...emulator.instances.keys()];

async function checked(provider: HostProvider, olds: Properties, news: Properties): Promise<Properties> {
  const { inputs, failures } = await provider.check(olds, news);
  expect(failures).toEqual([]);
  return inputs;
}

/** What `pulumi state delete` does; the object may be in another stack's state by now. */
function forget(web: OneInstance): void {
  web.saved = undefined;
}

/** The next `up` declares another instance under the same name. */
async function expectLeftAlone(service: Service, web: OneInstance, id: string): Promise<void> {
  service.emulator.behaviour.operationMs = 100;
  await web.up({ image: "debian-14" });
  expect(idsOf(service)).toHaveLength(2);
  expect(service.warnings.join()).toContain(`instance ${id}`);
}

describe("an instance that the engine has saved is not deleted as the object of an unfinished creation", () => {
  test("if a refresh has shown that the creation has ended", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.up(SHORT);
    service.emulator.finishOperations();
    await web.refresh();
    const { id } = web.inState();
    expect(idsOf(service)).toEqual([id]);
    forget(web);
    await expectLeftAlone(service, web, id);
  });

  test("if an update that was to complete the creation has failed", async () => {
    const { service, web } = await oneInstance({ behaviour: { postIgnores: ["labels"] } });
    service.emulator.fail({ method: "PUT", kind: "status", status: 403 });
    expect(await web.up({ labels: { team: "web" } })).toContain("(403)");
    const { id } = web.inState();
    forget(web);
    await expectLeftAlone(service, web, id);
  });

  const asPath = ({ project, ...now }: Properties) => ({ ...now, project: project && `projects/${project}` });
  test.each<[string, string, Partial<Behaviour>]>([
    ["known", "Web-01", {}],
    ["known", "Server-01", {}],
    ["unknown", "Web-01", {}],
    ["unknown", "Server-01", {}],
    ["unknown", "Web-01", { unshown: ["project"] }],
    ["unknown", "Web-01", { normalize: ["lower-case"] }],
    ["unknown", "Server-01", { normalize: ["lower-case"] }],
    ["unknown", "Web-01", { spelling: asPath }],
  ])(
    "if another resource has imported it: operation %s, imported as %s, %j",
    async (operation, name, behaviour) => {
      const { service, web } = await oneInstance({ behaviour });
      const former = { name: "Web-01" };
      await (operation === "known" ? web.killedUp(former) : web.killedBeforeReply(former));
      service.emulator.finishOperations();
      const [id = ""] = idsOf(service);
      const process = await web.process();
      const project = behaviour.spelling === asPath ? `projects/${web.project}` : web.project;
      const imported = web.news({ __urn: URN.replace("::web", "::server"), __import: id, name, project });
      await process.create(await checked(process, {}, imported));
      await web.up({ name: "Web-02", image: "debian-14" });
      expect(idsOf(service)).toHaveLength(2);
      expect(idsOf(service)).toContain(id);
    },
  );
});

describe("an instance that the state holds under its id, while its creation is unfinished,", () => {
  async function unread() {
    const { service, web } = await oneInstance();
    const unreadable = service.emulator.fail({
      method: "GET",
      path: /^\/v1\/instances/,
      kind: "status",
      status: 403,
      times: 99,
    });
    expect(await web.up()).toContain("(403)");
    unreadable.off();
    const { id } = web.inState();
    expect(idsOf(service)).toEqual([id]);
    return { service, web, id };
  }

  test("stays if the creation of its replacement is rejected", async () => {
    const { service, web, id } = await unread();
    service.emulator.fail({ method: "POST", kind: "status", status: 422, times: 99 });
    expect(await web.up({ image: "debian-14" }, { deleteBeforeReplace: false })).toContain("(422)");
    expect(idsOf(service)).toEqual([id]);
    expect(web.inState().id).toBe(id);
  });

  test("is replaced if `replaceOnChanges` lists the changed property, as the preview shows", async () => {
    const { service, web, id } = await unread();
    const how = { replaceOnChanges: true, deleteBeforeReplace: false };
    expect(await web.up({ flavor: "m1.large" }, how)).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
    expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
  });
});

test.each(["another project", "another operation"])(
  "an unfinished creation is not confused with an imported instance of the same name, created in %s",
  async (other) => {
    const { service, web } = await oneInstance();
    await (other === "another project" ? web.killedBeforeReply() : web.killedUp());
    service.emulator.finishOperations();
    const entry = await web.journalEntry();
    const home = other === "another project" ? service.emulator.addProject().id : web.project;
    const { name } = JSON.parse(entry.body);
    const { id } = service.emulator.addInstance({ ...fieldsFor(web), project: home, name });
    const process = await web.process();
    const __urn = URN.replace("::web", "::server");
    await process.create(
      await checked(process, {}, web.news({ ...argsFor(web), project: home, name, __urn, __import: id })),
    );
    expect({ ...(await web.journalEntry()), imported: undefined }).toEqual(entry);
  },
);

test("if another resource has imported the object of an unfinished creation, another instance is created", async () => {
  const { service, web } = await oneInstance();
  await web.killedBeforeReply();
  service.emulator.finishOperations();
  const [id = ""] = idsOf(service);
  const { name } = service.emulator.instances.get(id)?.fields ?? {};
  const process = await web.process();
  const server = await checked(
    process,
    {},
    web.news({ __urn: URN.replace("::web", "::server"), __import: id, name }),
  );
  const { outs } = await process.create(server);
  const later = await web.process();
  await later.diff(id, { ...outs }, await checked(later, server, server));
  const own = await later.create(await checked(later, {}, web.news({ flavor: "m1.large" })));
  expect(idsOf(service)).toEqual([id, own.id]);
  expect(service.warnings.join()).toContain(
    `created instance ${id} for "web", but another resource in the program now uses it`,
  );
  expect(service.emulator.instances.get(id)?.fields).toMatchObject({ flavor: "m1.small" });
});

test("if the id of an unfinished creation's object has been assigned again, another instance is created", async () => {
  const { service, web } = await oneInstance({ behaviour: { ids: "counter", idReuse: true } });
  await web.killedBeforeReply();
  service.emulator.finishOperations();
  const [id = ""] = idsOf(service);
  service.emulator.remove(id, "instance");
  const process = await web.process();
  const other = await process.create(
    await checked(process, {}, web.news({ __urn: URN.replace("::web", "::server"), __key: randomUUID() })),
  );
  expect(other.id).toBe(id);
  const own = await process.create(await checked(process, {}, web.news()));
  expect(idsOf(service)).toEqual([id, own.id]);
});

describe("another instance that has the id of an unfinished creation's instance", () => {
  const HOUR = 3_600_000;
  type Interruption = "timed out" | "lost its reply" | "failed" | "timed out with a known id";

  /** The creation's instance is deleted in the service, and another user later creates an instance that gets the same id. */
  async function reusedId({
    how = "timed out",
    args = { name: "web" } as Properties,
    laterMs = 3 * HOUR,
  } = {}) {
    const resultLink = how === "timed out with a known id" ? "early" : "absolute";
    const behaviour = { ids: "slug", idReuse: true, operationMs: HOUR, resultLink } as const;
    const { service, web } = await oneInstance({ behaviour });
    const { emulator, clock } = service;
    const lost = how === "lost its reply" && emulator.fail({ method: "POST", kind: "lost-reply", times: 99 });
    if (how === "failed") emulator.failNextOperation({ kind: "create", leaveObject: true });
    await web.up({ ...args, ...SHORT });
    if (lost) lost.off();
    emulator.finishOperations();
    const [id = ""] = idsOf(service);
    const named = emulator.instances.get(id)?.fields.name;
    emulator.remove(id, "instance");
    await clock.sleep(laterMs);
    const theirs = emulator.addInstance({ project: web.project, name: named });
    expect(theirs.id).toBe(id);
    emulator.behaviour.operationMs = 100;
    const isLeftAlone = () => emulator.instances.get(id) === theirs && theirs.fields.flavor === "m1.small";
    return { service, web, id, isLeftAlone };
  }

  const expectWarning = ({ warnings }: Service, id: string) =>
    expect(warnings.join()).toContain(`created instance ${id}, which no longer exists: another instance`);

  describe.each<[Interruption]>([["timed out"], ["lost its reply"], ["failed"]])(
    "if the creation %s,",
    (how) => {
      test.each([
        ["an in-place", { flavor: "m1.large" }],
        ["a replacing", { image: "debian-14" }],
      ])("is left alone by an `up` with %s change, which creates another instance", async (_, args) => {
        const { service, web, id, isLeftAlone } = await reusedId({ how });
        expect(await web.up({ name: "web", ...args })).toBeUndefined();
        expect(isLeftAlone()).toBe(true);
        expect(web.inState().id).not.toBe(id);
        expect(idsOf(service)).toHaveLength(2);
        expectWarning(service, id);
      });
    },
  );

  test.each<[Interruption]>([["timed out"], ["lost its reply"], ["failed"], ["timed out with a known id"]])(
    "is left alone by `destroy` if the creation %s",
    async (how) => {
      const { service, web, id, isLeftAlone } = await reusedId({ how });
      expect(await web.destroy()).toBeUndefined();
      expect(isLeftAlone()).toBe(true);
      expectWarning(service, id);
    },
  );

  test("is left alone by an `up` if the state contains the id, and a refresh removes the resource", async () => {
    const { service, web, id, isLeftAlone } = await reusedId({ how: "timed out with a known id" });
    expect(web.inState().id).toBe(id);
    expect(await web.up({ name: "web", flavor: "m1.large" })).toContain("now has its id");
    await web.refresh();
    expect(web.saved).toBeUndefined();
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(web.inState().id).not.toBe(id);
    expect(isLeftAlone()).toBe(true);
    expectWarning(service, id);
  });

  test.each([
    ["it has the random name of the creation", { name: undefined }, 3 * HOUR],
    ["it was created less than a minute after the operation, because clocks differ", { name: "web" }, 30_000],
  ])("is treated as the creation's own instance if %s", async (_, args, laterMs) => {
    const { service, web, id } = await reusedId({ args, laterMs });
    expect(await web.up(args)).toBeUndefined();
    expect(web.inState().id).toBe(id);
    expect(idsOf(service)).toEqual([id]);
    expect(service.warnings).toEqual([]);
  });
});

test.each([
  ["would be updated", { flavor: "m1.large" }],
  ["would be deleted", { image: "debian-14" }],
])(
  "an instance is not deleted if a check shows, while a resource resumes its creation, that another one holds it: it %s",
  async (_, args) => {
    const atEachRequest: (() => void)[] = [];
    const { service, web } = await oneInstance({ onRequest: () => atEachRequest.pop()?.() });
    await web.killedUp();
    service.emulator.finishOperations();
    const entry = await web.journalEntry();
    await web.up({ __urn: OLD, __aliasUrns: [URN] }, { unconfirmed: true }); // another machine finishes it, and renames the resource
    const { id, inputs: olds } = web.inState();
    await web.writeEntry(entry);
    const process = await web.process();
    const inputs = await checked(process, {}, web.news(args));
    service.emulator.clearRequests();
    atEachRequest.push(() => void process.check(olds, web.news({ __urn: OLD })));
    expect((await failureOf(process.create(inputs))).message).toContain("Run `pulumi up` again");
    expect(idsOf(service)).toEqual([id]);
    expect(service.emulator.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  },
);

test("two resources of the state that have the same instance are an error at each `up`", async () => {
  const { web } = await oneInstance();
  await web.up();
  const { id, inputs, state } = web.inState();
  const key = randomUUID();
  const other = { ...inputs, __urn: OLD, __key: key };
  const process = await web.process();
  await process.diff(id, state, await checked(process, inputs, web.news()));
  const again = await checked(process, other, { ...other });
  const { message } = await failureOf(process.diff(id, { ...state, __urn: OLD, __key: key }, again));
  expect(message).toContain(`instance ${id} is already managed by ${URN}`);
});

test("an imported instance is not deleted by another process, in a later run, for another record of it", async () => {
  const { service, web } = await oneInstance();
  const { id } = service.emulator.addInstance({ ...fieldsFor(web) });
  const first = await web.process();
  const inputs = await checked(first, {}, web.news({ ...argsFor(web), __import: id }));
  const { outs } = await first.create(inputs);
  const outside = { run: `127.0.0.1:${randomUUID()}` };
  const open = async () => (await service.newProviders({}, undefined, { outside })).instances;
  const [one, other] = [await open(), await open()];
  await one.diff(id, { ...outs }, await checked(one, inputs, inputs));
  await other.delete(id, { ...outs });
  expect(idsOf(service)).toEqual([id]);
});

function argsFor({ project }: OneInstance): Properties {
  const none = { sshKeys: undefined, labels: undefined, publicIp: undefined };
  return { project, name: "legacy", image: "debian-13", flavor: "m1.small", network: "default", ...none };
}

function fieldsFor(web: OneInstance): Properties {
  const { project, name, image, flavor, network } = argsFor(web);
  return { project, name, image, flavor, network };
}

test("a creation that is resumed by an alias is not overwritten by the new resource with the former name", async () => {
  const { service, web } = await oneInstance();
  await web.killedUp();
  service.emulator.finishOperations();
  const [id = ""] = idsOf(service);
  const process = await web.process();
  const old = await checked(process, {}, web.news({ __urn: OLD, __aliasUrns: [URN] }));
  const fresh = await checked(process, {}, web.news());
  const made = await process.create(fresh); // then the process is killed
  expect(made.id).not.toBe(id);
  expect(old.__key).toBe(web.posts()[0]?.headers["idempotency-key"]);
  const next = await web.process();
  const again = await checked(next, {}, web.news({ __urn: OLD, __aliasUrns: [URN] }));
  expect((await next.create(again)).id).toBe(id);
  expect((await next.create(await checked(next, {}, web.news()))).id).toBe(made.id);
  expect(idsOf(service)).toHaveLength(2);
});

describe("the record of a project's deletion request proves nothing", () => {
  /** The token sees no project any more. */
  async function narrowed(service: Service): Promise<Service["projects"]> {
    const hiddenProjects = [...service.emulator.projects.keys()];
    Object.assign(service.emulator.behaviour, { hiddenProjects, forbiddenStatus: 404 });
    return (await service.newProviders()).projects;
  }

  test("if the deletion has failed", async () => {
    const service = await startService({ behaviour: { deleteObject: 202 } });
    const { id, state } = await existingProject(service);
    service.emulator.failNextOperation({ kind: "delete" });
    await failureOf(service.projects.delete(id, state));
    const projects = await narrowed(service);
    expect((await failureOf(projects.read(id, state))).message).toContain(
      "the token may belong to another account or lack read access",
    );
  });

  test("if the service has used the id again", async () => {
    const service = await startService({ behaviour: { ids: "slug", idReuse: true } });
    const { id, state } = await existingProject(service, { name: "shop" });
    await (await service.newProviders()).projects.delete(id, state);
    const again = await existingProject(service, { name: "shop", __key: randomUUID() });
    expect(again.id).toBe(id);
    const projects = await narrowed(service);
    expect((await failureOf(projects.read(id, again.state))).message).toContain(
      "the token may belong to another account or lack read access",
    );
  });

  test("if the project has been shown since", async () => {
    const service = await startService();
    const { id, state } = await existingProject(service);
    service.emulator.fail({ method: "DELETE", kind: "status", times: Number.POSITIVE_INFINITY });
    await failureOf((await service.newProviders()).projects.delete(id, state));
    await (await service.newProviders()).projects.read(id, state);
    const projects = await narrowed(service);
    expect((await failureOf(projects.read(id, state))).message).toContain(
      "the token may belong to another account or lack read access",
    );
  });

  test("for another token", async () => {
    const dir = emptyFolder();
    const withToken = (token: string) =>
      openJournal({ endpoint: "https://api.example.com/v1", token: () => token, dir, warn: expect.fail })
        .deletions;
    await withToken("one").add("a project");
    expect(await withToken("one").requestedAt("a project")).toBeDefined();
    expect(await withToken("other").requestedAt("a project")).toBeUndefined();
  });

  test("if another machine has created a project with the same id since", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2025-12-31T00:00:00Z") });
    onTestFinished(() => void vi.useRealTimers());
    const behaviour = { ids: "counter", idReuse: true, forbiddenStatus: 404 } as const;
    const service = await startService({ behaviour });
    const former = await existingProject(service);
    const { projects: here } = await service.newProviders();
    await here.delete(former.id, former.state);
    const elsewhere = await service.newProviders({ journalDir: emptyFolder() });
    const { inputs } = await elsewhere.projects.check({}, { ...projectNews(), __key: randomUUID() });
    const { id, outs } = await elsewhere.projects.create(inputs);
    expect(id).toBe(former.id);
    service.emulator.behaviour.hiddenProjects = [id];
    const { projects } = await service.newProviders();
    expect((await failureOf(projects.read(id, outs))).message).toContain(
      "the token may belong to another account or lack read access",
    );
  });

  test("if an instance has been created in it since", async () => {
    const service = await startService();
    const project = service.emulator.addProject().id;
    const { endpoint, token } = service.emulator;
    const { deletions } = openJournal({
      endpoint,
      token: () => token,
      dir: service.journalDir,
      warn: expect.fail,
    });
    const record = identityKey({ endpoint, kind: "project", id: project });
    await deletions.add(record);
    await existingInstance(service);
    expect(await deletions.requestedAt(record)).toBeUndefined();
  });
});

test("a project that is shown with another name than the reply to its creation is not replaced", async () => {
  const service = await startService({ behaviour: { projectPost: 200 } });
  const { id, inputs, state } = await existingProject(service, { name: "My shop" });
  const shown = service.emulator.projects.get(id);
  expect(shown).toBeDefined();
  Object.assign(Object(shown).fields, { name: "my-shop" });
  const { projects } = await service.newProviders();
  const seen = await projects.read(id, state);
  expect(seen).toMatchObject({ inputs: { name: "My shop" }, props: { name: "My shop" } });
  const diff = await projects.diff(id, { ...Object(seen).props }, inputs);
  expect(diff.changes).toBe(false);
  Object.assign(Object(shown).fields, { name: "another" });
  expect(await (await service.newProviders()).projects.read(id, { ...Object(seen).props })).toMatchObject({
    props: { name: "another" },
  });
});

test("a new resource with the former name of one that a refresh has read does not replace it", async () => {
  const { service, web } = await oneInstance();
  await web.up();
  const { id, inputs, state } = web.inState();
  const process = await web.process();
  await process.read(id, state);
  await process.diff(id, state, inputs);
  const renamed = { ...inputs, __urn: URN.replace("::web", "::api"), __aliasUrns: [URN] };
  await process.diff(id, state, await checked(process, inputs, renamed));
  service.emulator.fail({ method: "POST", kind: "lost-reply", times: Number.POSITIVE_INFINITY });
  await failureOf(process.create(await checked(process, {}, web.news())));
  expect(await web.journalEntry()).not.toHaveProperty("replaces");
});

test("a warning about a reported instance doesn't show a secret name that is its id", async () => {
  const service = await startService({ behaviour: { ids: "slug", uniqueNames: true } });
  const project = await existingProject(service);
  const web = new OneInstance(service, project);
  await web.up({ name: "hush-hush-name", __secrets: ["name"] }, { unconfirmed: true });
  const { projects } = await service.newProviders();
  await failureOf(projects.delete(project.id, project.state)); // it holds the instance
  expect(service.warnings.join()).toContain("an interrupted run created instance");
  expect(service.warnings.join()).not.toContain("hush");
});

describe("a project that was reported to the engine, but not saved", () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of Pulumi's patterns
  const PATTERN = "${name}";
  const FORMER = "urn:pulumi:dev::shop::pulumi-nodejs:dynamic/cloudinfra:Project::old";
  const unnamed = (more: Properties): Properties => projectNews({ name: undefined, ...more });

  test.each([
    ["the same resource", {}],
    [
      "a resource with another name, and an alias",
      { __urn: FORMER.replace("::old", "::new"), __aliasUrns: [FORMER] },
    ],
    ["a program without generated names", { __autonaming: false }],
    ["a program with another pattern of names", { __autonaming: `${PATTERN}-2` }],
  ])("is adopted by %s under its generated name", async (_who, more) => {
    const service = await startService();
    const begun = await checked(service.projects, {}, unnamed({ __urn: FORMER, __autonaming: PATTERN }));
    const { id } = await service.projects.create(begun);
    const { projects } = await service.newProviders();
    const inputs = await checked(projects, {}, unnamed({ __urn: FORMER, __key: randomUUID(), ...more }));
    expect(inputs).toMatchObject({ __key: begun.__key, name: "old" });
    expect((await projects.create(inputs)).id).toBe(id);
    expect(service.emulator.projects.size).toBe(1);
  });
});

test("two resources don't share an object that the service returns for both creations", async () => {
  let linkOperations = (): void => {};
  const service = await startService({ behaviour: { operationMs: 0 }, onRequest: () => linkOperations() });
  const first = await existingInstance(service);
  const { instances } = await service.newProviders();
  const project = first.inputs.project;
  const { inputs: one } = await instances.check(first.inputs, { ...first.inputs, __key: OTHER_KEY });
  await instances.diff(first.id, first.state, one);
  const news = instanceNews({ project, __urn: URN.replace("::web", "::twin"), __key: OTHER_KEY });
  const { inputs } = await instances.check({}, news);
  linkOperations = () => {
    for (const operation of service.emulator.operations.values())
      Object.assign(operation, { resultPath: `/v1/instances/${first.id}` });
  };
  const said = await errorOf(instances.create(inputs));
  expect(said).toContain("is already managed by");
  expect(service.emulator.instances.has(first.id)).toBe(true);
});

test("a new object isn't lost if the service reuses the id of another resource's object that was deleted outside of Pulumi", async () => {
  const service = await startService({ behaviour: { ids: "counter", idReuse: true, operationMs: 0 } });
  const { emulator, clock } = service;
  const first = await existingInstance(service);
  await clock.sleep(6 * 3_600_000);
  emulator.remove(first.id, "instance");
  const { instances } = await service.newProviders();
  const { inputs: one } = await instances.check(first.inputs, { ...first.inputs, __key: OTHER_KEY });
  await instances.diff(first.id, first.state, one);
  const twin = { project: first.inputs.project, name: "twin", __urn: URN.replace("::web", "::twin") };
  const create = async (provider: HostProvider, key: string): Promise<unknown> =>
    provider.create((await provider.check({}, instanceNews({ ...twin, __key: key }))).inputs);
  const said = await errorOf(create(instances, OTHER_KEY));
  // The next `up` has a new key, because the state doesn't contain the resource.
  const { instances: next } = await service.newProviders();
  expect(await next.read(first.id, first.state)).toEqual({});
  expect(said).toContain("run `pulumi refresh`");
  await create(next, "6ba7b810-9dad-41d1-80b4-00c04fd430c8");
  expect(emulator.instances.size).toBe(1);
});

test("two resources with different providers don't share an object that the service returns for both creations", async () => {
  let linkOperations = (): void => {};
  const service = await startService({ behaviour: { operationMs: 0 }, onRequest: () => linkOperations() });
  const [project = service.emulator.addProject().id] = service.emulator.projects.keys();
  const sameRun = () => service.newProviders({}, undefined, { outside: { run: "127.0.0.1:1" } });
  const [{ instances: one }, { instances: other }] = [await sameRun(), await sameRun()];
  const { inputs: first } = await one.check({}, instanceNews({ project }));
  const { id } = await one.create(first);
  const news = instanceNews({ project, __urn: URN.replace("::web", "::twin"), __key: OTHER_KEY });
  const { inputs: second } = await other.check({}, news);
  linkOperations = () => {
    for (const operation of service.emulator.operations.values())
      Object.assign(operation, { resultPath: `/v1/instances/${id}` });
  };
  expect(await errorOf(other.create(second))).toContain("is already managed by");
});

describe.each([1, 2] as const)("two parallel creations (provider processes: %i)", (processes) => {
  test("don't share an object that the service returns for both, even if both must still update it", async () => {
    let linkOperations = (): void => {};
    const behaviour = { operationMs: 0, postIgnores: ["labels"] };
    const service = await startService({ behaviour, onRequest: () => linkOperations() });
    const { emulator } = service;
    const project = emulator.addProject().id;
    linkOperations = () => {
      const [id] = emulator.instances.keys();
      for (const operation of emulator.operations.values())
        if (operation.kind === "create") Object.assign(operation, { resultPath: `/v1/instances/${id}` });
    };
    const sameRun = () => service.newProviders({}, undefined, { outside: { run: `127.0.0.1:${project}` } });
    const { instances: one } = await sameRun();
    const { instances: other } = processes === 1 ? { instances: one } : await sameRun();
    const news = (urn: string): Properties =>
      instanceNews({ project, labels: { role: "web" }, __urn: urn, __key: randomUUID() });
    const first = await checked(one, {}, news(URN));
    const second = await checked(other, {}, news(URN.replace("::web", "::twin")));
    const ends = await Promise.all([errorOf(one.create(first)), errorOf(other.create(second))]);
    expect(ends.join("\n")).toContain("is already managed by");
  });
});
