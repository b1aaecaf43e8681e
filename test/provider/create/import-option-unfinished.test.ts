import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import { FakeClock } from "../../polling/fake-clock";
import { unmarked } from "../marked";
import { type OneInstance, oneInstance, URN } from "../one-instance";
import { UNKNOWN_TEXT } from "../samples";
import { failureOf, type Service } from "../service";

const idsOf = ({ emulator }: Service): string[] => [...emulator.instances.keys()];

async function checked(provider: HostProvider, olds: Properties, news: Properties): Promise<Properties> {
  const { inputs, failures } = await provider.check(olds, news);
  expect(failures).toEqual([]);
  return inputs;
}

describe("an import of the object of an unfinished creation", () => {
  async function imported(args: Properties) {
    const { service, web } = await oneInstance();
    await web.killedUp();
    service.emulator.finishOperations();
    const [id = ""] = idsOf(service);
    const { name } = service.emulator.instances.get(id)?.fields ?? {};
    const urn = URN.replace("::web", "::server");
    return { service, web, id, news: web.news({ __urn: urn, __import: id, name, ...args }) };
  }

  test("leaves the creation unfinished if it fails, and the next `up` resumes it", async () => {
    const { service, web, id, news } = await imported({ flavor: "none-such" });
    service.emulator.refuse("flavor", "none-such");
    const process = await web.process();
    const { message } = await failureOf(process.create(await checked(process, {}, news)));
    expect(message).toContain("differs from the program");
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });

  test("is an error if the creation's own resource has replaced the object before", async () => {
    const { service, web, id, news } = await imported({});
    const process = await web.process();
    await process.create(await checked(process, {}, web.news({ image: "debian-14" })));
    expect(idsOf(service)).not.toContain(id);
    expect((await failureOf(process.create(news))).message).toContain("was deleted in this run");
    expect(idsOf(service)).toHaveLength(1);
  });
});

describe("if an unfinished creation's operation can't be read, an import", () => {
  const ARGS = { image: "debian-13", flavor: "m1.small", network: "default" };

  async function unreadable(name: string) {
    const { service, web } = await oneInstance();
    await web.killedUp({ name: "Web-01" });
    const { id } = service.emulator.addInstance({ ...ARGS, project: web.project, name });
    const fault = service.emulator.fail({ path: "/v1/operations/", kind: "status", status: 403, times: 99 });
    const imported = {
      ...ARGS,
      __import: id,
      name,
      sshKeys: undefined,
      labels: undefined,
      publicIp: undefined,
    };
    return { service, web, id, imported, fault };
  }

  test.each([
    ["of another instance", "db"],
    ["of an instance of that name", "Web-01"],
  ])("%s succeeds, and the end of the creation doesn't delete that instance", async (_, name) => {
    const { service, web, id, imported, fault } = await unreadable(name);
    const process = await web.process();
    const urn = URN.replace("::web", "::server");
    const news = web.news({ ...imported, __urn: urn, flavor: "m1.large" });
    expect((await process.create(await checked(process, {}, news))).id).toBe(id);
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");
    fault.off();
    await web.up({ image: "debian-14", name: "Web-02" });
    expect(idsOf(service)).toContain(id);
  });

  test("by the creation's own resource fails without a change", async () => {
    const { service, web, id, imported } = await unreadable("db");
    const process = await web.process();
    const news = web.news({ ...imported, flavor: "m1.large" });
    const { message } = await failureOf(process.create(await checked(process, {}, news)));
    expect(message).toContain("(403)");
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.small");
    expect(await web.entry()).toBeDefined();
  });
});

describe("if the service returns the end of an operation only once, an import of another instance succeeds, and so does", () => {
  const ARGS = { image: "debian-13", flavor: "m1.small", network: "default" };

  async function withOther(name: string) {
    const { service, web } = await oneInstance({ behaviour: { operationKeptPolls: 1 } });
    const { id: project } = service.emulator.addProject();
    const { id } = service.emulator.addInstance({ ...ARGS, project, name });
    const others = { sshKeys: undefined, labels: undefined, publicIp: undefined };
    const option = { __urn: URN.replace("::web", "::other"), __import: id };
    const importOther = async (process: HostProvider): Promise<void> => {
      const news = web.news({ ...ARGS, project, name, ...others, ...option });
      expect((await process.create(await checked(process, {}, news))).id).toBe(id);
    };
    return { service, web, id, importOther };
  }

  test("the next `up` of an interrupted creation", async () => {
    const { service, web, id, importOther } = await withOther("db");
    await web.killedUp({ name: "web" });
    service.emulator.finishOperations();
    await importOther(await web.process());
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(idsOf(service)).toEqual([id, web.inState().id]);
  });

  test("a creation in the same run, even if the names are equal", async () => {
    const { service, web, id, importOther } = await withOther("web");
    const waiting = Promise.withResolvers<void>();
    const imported = Promise.withResolvers<void>();
    const clock = new FakeClock({ auto: true });
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (...args) => {
      waiting.resolve();
      await imported.promise;
      await sleep(...args);
    };
    const process = await web.process({ clock });
    const created = process.create(await checked(process, {}, web.news({ name: "web" })));
    await waiting.promise;
    service.emulator.finishOperations();
    await importOther(process);
    imported.resolve();
    expect(idsOf(service)).toEqual([id, (await created).id]);
  });
});

describe("if a resource has an unfinished creation, an import for it", () => {
  const OTHER = { name: "web", image: "debian-13", flavor: "m1.small", network: "default" };

  test("of another instance deletes the creation's object if its reply was lost", async () => {
    const { service, web } = await oneInstance();
    const lost = service.emulator.fail({ kind: "gateway", method: "POST", times: 99 });
    expect(await web.up()).toContain("The state records the unfinished creation");
    lost.off();
    const { id } = service.emulator.addInstance({ ...OTHER, project: web.project });
    expect(idsOf(service)).toHaveLength(2);
    expect(await web.up({ __import: id }, { onAnotherMachine: true })).toBeUndefined();
    expect(idsOf(service)).toEqual([id]);
    expect(web.inState().id).toBe(id);
  });

  test("says how to give the creation up if the service rejects its request", async () => {
    const { service, web } = await oneInstance();
    const outage = service.emulator.fail({ kind: "status", status: 503, method: "POST", times: 99 });
    await web.up({ flavor: "none-such" });
    outage.off();
    service.emulator.refuse("flavor", "none-such");
    const { id } = service.emulator.addInstance({ ...OTHER, project: web.project });
    const said = await web.up({ __import: id });
    expect(said).toContain("(422)");
    expect(said).toContain("recover --forget <urn>");
  });

  test("of its object returns the object as it is after the creation", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 60_000 } });
    await web.killedUp({ publicIp: "auto" });
    const [id = ""] = idsOf(service);
    const { name } = service.emulator.instances.get(id)?.fields ?? {};
    expect(await web.up({ publicIp: "auto", name, __import: id })).toBeUndefined();
    expect(web.inState().state).toMatchObject({ status: "running", ipAddress: expect.any(String) });
    expect(await web.expectOne()).toBe(id);
  });

  const TIMED_OUT = { name: "Web-01", __timeouts: { create: "5s" } };
  test.each<[string, Partial<Behaviour>, (web: OneInstance) => Promise<void>]>([
    ["was killed", {}, (web) => web.killedUp({ name: "Web-01" })],
    [
      "timed out",
      { operationMs: 60_000 },
      async (web) => expect(await web.up(TIMED_OUT)).toContain("timed out after"),
    ],
  ])(
    "of its object succeeds if the creation %s, and the service has purged the operation",
    async (_, behaviour, begin) => {
      const { service, web } = await oneInstance({ behaviour: { ...behaviour, operationKeptMs: 3_000 } });
      await begin(web);
      await service.clock.sleep(100_000);
      const [id = ""] = idsOf(service);
      expect(await web.up({ name: "Web-01" })).toContain(`the service lists ${id} with the same name`);
      expect(await web.up({ name: "Web-01", __import: id })).toBeUndefined();
      expect(await web.expectOne()).toBe(id);
    },
  );

  test("of its object that fails leaves the creation unfinished, and the next `up` resumes it", async () => {
    const { service, web } = await oneInstance();
    await web.killedBeforeReply({ name: "Web-01" });
    service.emulator.finishOperations();
    const [id = ""] = idsOf(service);
    service.emulator.refuse("flavor", "none-such");
    expect(await web.up({ name: "Web-01", flavor: "none-such", __import: id })).toContain(
      "differs from the program",
    );
    expect(await web.up({ name: "Web-01" })).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });
});

test("an instance with the name of another resource's unfinished creation doesn't count as its object, and `destroy` names the right one", async () => {
  const { service, web } = await oneInstance();
  const same = { image: "centos-7", flavor: "m1.small", network: "default" };
  const { id } = service.emulator.addInstance({ ...same, project: web.project, name: "web" });
  await web.killedBeforeReply({ name: "web" });
  const process = await web.process();
  const urn = URN.replace("::web", "::old");
  const news = web.news({ ...same, __urn: urn, __import: id, name: "web" });
  expect((await process.create(await checked(process, {}, news))).id).toBe(id);
  expect((await web.journalEntry()).id).toBeUndefined();
  await web.up({ name: "web-02", image: "debian-14" });
  expect(idsOf(service)).toContain(id);
  expect(service.warnings.join()).not.toContain(id);
});

describe("an imported instance is not deleted as the object of an unfinished creation", () => {
  test.each(["an unknown operation", "a known operation", "a noted id"])(
    "that should have replaced another resource's instance, with %s, if the change is reverted and that resource comes first",
    async (known) => {
      const { service, web } = await oneInstance();
      await web.up({ name: "web" });
      const { id: former } = web.inState();
      const how = { deleteBeforeReplace: false };
      const next = { name: "web", image: "debian-14" };
      await (known === "an unknown operation" ? web.killedBeforeReply(next, how) : web.killedUp(next, how));
      service.emulator.finishOperations();
      const id = idsOf(service).find((one) => one !== former) ?? "";
      if (known === "a noted id") await web.journal.extend((await web.journalEntry()).key, { id });
      const process = await web.process();
      const news = web.news({ ...next, __urn: URN.replace("::web", "::site"), __import: id });
      expect((await process.create(await checked(process, {}, news))).id).toBe(id);
      expect(await web.up({ name: "web" })).toBeUndefined();
      expect(idsOf(service)).toEqual([former, id]);
    },
  );

  test("of an equal request whose object only the operation identifies", async () => {
    const { service, web } = await oneInstance();
    await web.killedBeforeReply({ name: "web" });
    service.emulator.finishOperations();
    const [made = ""] = idsOf(service);
    const { id } = service.emulator.addInstance({ ...service.emulator.instances.get(made)?.fields });
    const process = await web.process();
    const news = web.news({ name: "web", __urn: URN.replace("::web", "::site"), __import: id });
    await process.create(await checked(process, {}, news));
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(web.inState().id).toBe(made);
    expect(idsOf(service)).toEqual([made, id]);
  });
});

test("if a resource imports the object of another one's unfinished creation after both were checked, the other one gets its own instance", async () => {
  const { service, web } = await oneInstance();
  await web.killedUp({ name: "Web-01" });
  service.emulator.finishOperations();
  const [id = ""] = idsOf(service);
  const process = await web.process();
  const urn = URN.replace("::web", "::site");
  const site = await checked(process, {}, web.news({ __urn: urn, __import: id, name: "Web-01" }));
  const own = await checked(process, {}, web.news({ name: "Web-01" }));
  expect((await process.create(site)).id).toBe(id);
  const { id: other } = await process.create(own);
  expect(idsOf(service)).toEqual([id, other]);
});

test.each(["its own resource", "another resource"])(
  "if %s imports the object of an unfinished creation after somebody has renamed the object, the object is kept",
  async (importer) => {
    const { service, web } = await oneInstance();
    await web.killedUp({ name: "Web-01" });
    service.emulator.finishOperations();
    const [id = ""] = idsOf(service);
    service.emulator.edit(id, { name: "db" });
    const isOwn = importer === "its own resource";
    const process = await web.process();
    const urn = isOwn ? URN : URN.replace("::web", "::site");
    const news = web.news({ __urn: urn, __import: id, name: "db" });
    expect((await process.create(await checked(process, {}, news))).id).toBe(id);
    if (!isOwn) expect(await web.up({ name: "Web-01", image: "debian-14" })).toBeUndefined();
    expect(idsOf(service)).toEqual(isOwn ? [id] : [id, web.inState().id]);
  },
);

test("an object can't be imported while an update completes its resumed creation", async () => {
  const { service, web } = await oneInstance({ behaviour: { putReply: 202 } });
  await web.killedUp({ name: "Web-01" });
  const { emulator } = service;
  emulator.finishOperations();
  emulator.behaviour.operationMs = Number.MAX_SAFE_INTEGER;
  const [id = ""] = idsOf(service);
  const process = await web.process();
  const urn = URN.replace("::web", "::site");
  const site = await checked(process, {}, web.news({ __urn: urn, __import: id, name: "Web-01" }));
  const changed = { name: "Web-01", flavor: "m1.large", __timeouts: { create: "1000h" } };
  const resumed = process.create(await checked(process, {}, web.news(changed)));
  while (!emulator.requests.some(({ method }) => method === "PUT"))
    await new Promise((resolve) => setImmediate(resolve));
  expect((await failureOf(process.create(site))).message).toContain(`is already managed by ${URN}`);
  emulator.finishOperations();
  expect((await resumed).id).toBe(id);
});

describe("an instance that a resource has imported, and that an unfinished creation may have made,", () => {
  const SITE = URN.replace("::web", "::site");

  async function imported() {
    const { service, web } = await oneInstance();
    await web.killedBeforeReply({ name: "web" });
    service.emulator.finishOperations();
    const [id = ""] = idsOf(service);
    const process = await web.process();
    await process.create(await checked(process, {}, web.news({ name: "web", __urn: SITE, __import: id })));
    return { service, web, id };
  }

  test("stays with the importing resource, and the creation's resource gets another one if it is declared again", async () => {
    const { service, web, id } = await imported();
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(web.inState().id).not.toBe(id);
    expect(idsOf(service)).toEqual([id, web.inState().id]);
    expect(service.warnings.join()).toContain(`an interrupted run created instance ${id} for`);
  });

  test("stays with the importing resource if the creation's resource is declared again and times out", async () => {
    const { service, web, id } = await imported();
    const outage = service.emulator.fail({ kind: "gateway", method: "POST", times: 99 });
    expect(await web.up({ name: "web" })).toContain("The state records the unfinished creation");
    outage.off();
    expect(await web.up({ name: "web" }, { onAnotherMachine: true })).toBeUndefined();
    expect(web.inState().id).not.toBe(id);
    expect(idsOf(service)).toEqual([id, web.inState().id]);
  });

  test("isn't named as a possible object of the creation if its outcome is unknown", async () => {
    const { web, id } = await imported();
    await web.writeEntry({ ...(await web.journalEntry()), at: Date.now() - 25 * 3_600_000 });
    const said = await web.up({ name: "web" });
    expect(said).toContain("the service lists no instance with the same name");
    expect(said).not.toContain(id);
  });
});

test("an import ends the finished creation of another resource, so that a new resource can have its name", async () => {
  const { service, web } = await oneInstance();
  await web.killedUp({ name: "one" });
  service.emulator.finishOperations();
  const [id = ""] = service.emulator.instances.keys();
  const process = await web.process();
  const __urn = URN.replace("::web", "::server");
  const { inputs } = await process.check({}, web.news({ name: "one", __urn, __import: id }));
  expect((await process.create(inputs)).id).toBe(id);
  expect(await web.entry()).toBeUndefined();
  expect(await web.up({ name: "two" })).toBeUndefined();
  expect(service.warnings).toEqual([]);
  expect(service.emulator.instances.size).toBe(2);
});

/** Lets a creation time out, and imports its object for another resource while the operation is running or after its end. */
async function importedElsewhere(operation = "running") {
  const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
  await web.up({ name: "web", __timeouts: { create: "5s" } });
  expect(web.inState().id).toMatch(/^operation/);
  if (operation === "finished") service.emulator.finishOperations();
  const [id = ""] = idsOf(service);
  const process = await web.process();
  const site = web.news({ name: "web", __urn: URN.replace("::web", "::site"), __import: id });
  await process.create(await checked(process, {}, site));
  service.emulator.finishOperations();
  service.emulator.behaviour.operationMs = 100;
  return { service, web, id };
}

test.each(["running", "finished"])(
  "an object that a resource has imported isn't deleted as the object of a placeholder whose operation is %s",
  async (operation) => {
    const { service, web, id } = await importedElsewhere(operation);
    expect(await web.up({ name: "web2", image: "debian-14" })).toBeUndefined();
    expect(idsOf(service)).toEqual([id, web.inState().id]);
    expect(await web.entry()).toBeUndefined();
  },
);

describe("an imported object of a placeholder whose operation was running", () => {
  test("isn't assigned to the placeholder by a refresh", async () => {
    const { web, id } = await importedElsewhere();
    await web.refresh();
    expect(web.inState().id).not.toBe(id);
  });

  test("isn't deleted by `destroy --target` of the placeholder", async () => {
    const { service, web, id } = await importedElsewhere();
    await web.destroy();
    expect(idsOf(service)).toEqual([id]);
  });

  test("isn't deleted by an `up` after `preview --refresh`", async () => {
    const { service, web, id } = await importedElsewhere();
    const preview = await web.process();
    const olds = web.inState();
    const { id: shown = "", inputs = {}, props = {} } = await preview.read(olds.id, olds.state);
    const other = { name: "web2", image: "debian-14" };
    const unknown = { __key: UNKNOWN_TEXT, __keyAt: UNKNOWN_TEXT };
    const news = await checked(preview, unmarked(inputs), web.news({ ...other, ...unknown }));
    await preview.diff(shown, unmarked(props), news);
    expect(await web.up(other)).toBeUndefined();
    expect(idsOf(service)).toEqual([id, web.inState().id]);
  });
});

describe("an object that another resource has imported from a timed-out creation is kept", () => {
  test("if the resource's next creation is rejected, and a later one succeeds", async () => {
    const { service, web, id } = await importedElsewhere();
    const rejection = service.emulator.fail({ method: "POST", kind: "status", status: 422, times: 99 });
    expect(await web.up({ name: "web" })).toContain("(422)");
    rejection.off();
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(idsOf(service)).toContain(id);
    expect(web.inState().id).not.toBe(id);
  });

  test("if the operation of the resource's next creation fails, and the resource is destroyed", async () => {
    const { service, web, id } = await importedElsewhere();
    service.emulator.failNextOperation({ kind: "create" });
    expect(await web.up({ name: "web" })).toContain("code operation_failed");
    await web.destroy();
    expect(idsOf(service)).toContain(id);
  });

  test("if the program requires a replacement whose creation is rejected, and the resource is destroyed", async () => {
    const { service, web, id } = await importedElsewhere();
    service.emulator.fail({ method: "POST", kind: "status", status: 422, times: 99 });
    expect(await web.up({ name: "web", image: "debian-14" })).toContain("(422)");
    await web.destroy();
    expect(idsOf(service)).toContain(id);
  });
});

test("an import and the resumption of an unfinished creation in the same process never share its object", async () => {
  const turn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));
  for (let delay = 0; delay < 12; delay += 1) {
    const { service, web } = await oneInstance();
    await web.killedUp();
    service.emulator.finishOperations();
    const [id = ""] = idsOf(service);
    const { instances } = await service.newProviders({}, service.clock, {
      outside: { run: `127.0.0.1:${delay + 1}` },
    });
    const news = web.news();
    const own = await checked(instances, {}, news);
    const imported = web.news({ __urn: URN.replace("::web", "::site"), __import: id });
    const site = await checked(instances, {}, imported);
    const resume = async (): Promise<unknown> => {
      for (let turns = 0; turns < delay; turns += 1) await turn();
      return instances.create(own);
    };
    const ends = await Promise.allSettled([resume(), instances.create(site)]);
    expect(
      ends.filter((end) => end.status === "fulfilled" && Object(end.value).id === id).length,
    ).toBeLessThan(2);
  }
});

test("the import of the resource's own object after its failed creation is an error that keeps the object", async () => {
  const { service, web } = await oneInstance();
  service.emulator.failNextOperation({ kind: "create", leaveObject: true });
  await web.up({ name: "web" });
  const { id } = web.inState();
  expect(await web.up({ name: "web", __import: id })).toContain("pulumi state delete");
  web.saved = undefined;
  expect(await web.up({ name: "web", __import: id })).toBeUndefined();
  expect(idsOf(service)).toEqual([id]);
});
