import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Emulator } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { instanceNews, projectNews, SSH_KEY } from "../samples";
import { errorOf, failureOf, type Service, startService } from "../service";

/** What somebody else made, and the inputs of a program that wants to take it over. */
function foreign({ emulator }: Service, fields: Properties = {}): { id: string; news: Properties } {
  const project = emulator.addProject().id;
  const { id } = emulator.addInstance({
    ...{ project, name: "web", image: "debian-13", flavor: "m1.small", network: "default" },
    ...fields,
  });
  return { id, news: instanceNews({ project, __import: id }) };
}

const written = ({ requests }: Emulator) => requests.filter(({ method }) => method !== "GET");

async function taken(service: Service, news: Properties) {
  const { inputs, failures } = await service.instances.check({}, news);
  expect(failures).toEqual([]);
  return { inputs, ...(await service.instances.create(inputs)) };
}

describe("an instance that the `import` option names", () => {
  test("is adopted by its id without a write if it matches the program", async () => {
    const service = await startService();
    const { id, news } = foreign(service, { labels: { others: "x" } });
    const { id: got, outs } = await taken(service, news);
    expect(got).toBe(id);
    expect(written(service.emulator)).toEqual([]);
    expect(outs).toMatchObject({ name: "web", flavor: "m1.small", status: "running" });
    expect(outs).not.toHaveProperty("labels");
  });

  test("is adopted if the service returns its ids as numbers", async () => {
    const service = await startService({ behaviour: { ids: "number" } });
    const { id, news } = foreign(service);
    const { id: got } = await taken(service, {
      ...news,
      project: String(news.project),
      __import: String(id),
    });
    expect(got).toBe(String(id));
    expect(written(service.emulator)).toEqual([]);
  });

  test("is updated in place with its revision in If-Match if its differences allow that", async () => {
    const service = await startService();
    const { id, news } = foreign(service, { flavor: "m1.large", labels: { team: "ops", others: "x" } });
    const { outs } = await taken(service, { ...news, labels: { team: "web" }, sshKeys: [SSH_KEY] });
    expect(written(service.emulator).map(({ method }) => method)).toEqual(["PUT"]);
    expect(written(service.emulator)[0]?.headers["if-match"]).toBeTruthy();
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({
      flavor: "m1.small",
      labels: { team: "web", others: "x" },
      ssh_keys: [SSH_KEY],
    });
    expect(outs).toMatchObject({ flavor: "m1.small", labels: { team: "web" }, sshKeys: [SSH_KEY] });
  });

  test("is rejected with both sides of each difference that requires a replacement", async () => {
    const service = await startService();
    const { news } = foreign(service, { image: "ubuntu-24", flavor: "m1.large" });
    const { inputs } = await service.instances.check({}, news);
    const { message } = await failureOf(service.instances.create(inputs));
    expect(message).toMatch(/ins-\S+, specified by the `import` option, differs from the program/);
    expect(message).toMatch(/property +in the service +in the program\n +image +ubuntu-24 +debian-13/);
    expect(message).not.toContain("flavor"); // that would be changed in place
    expect(message).toContain("Nothing was changed");
    expect(written(service.emulator)).toEqual([]);
  });

  test("is rejected without showing the values of secret arguments", async () => {
    const service = await startService();
    const { news } = foreign(service, { image: "ubuntu-24" });
    const { inputs } = await service.instances.check({}, { ...news, __secrets: ["image"] });
    const { message } = await failureOf(service.instances.create(inputs));
    expect(message).toMatch(/image +\[secret\] +\[secret\]/);
    expect(message).not.toMatch(/ubuntu-24|debian-13/);
  });

  test("is an error if the service doesn't show it, and nothing is created in its place", async () => {
    const service = await startService();
    const { news } = foreign(service);
    const { inputs } = await service.instances.check({}, { ...news, __import: "ins-gone" });
    const { message } = await failureOf(service.instances.create(inputs));
    expect(message).toContain("instance ins-gone, specified by the `import` option, doesn't exist");
    expect(message).toContain("Nothing was created");
    expect(written(service.emulator)).toEqual([]);
  });

  test("must have its name in the program, because a generated name would rename it", async () => {
    const service = await startService();
    const { news } = foreign(service);
    const { failures } = await service.instances.check({}, { ...news, name: undefined });
    expect(failures).toEqual([
      { property: "", reason: expect.stringMatching(/^name: is required with the `import`/) },
    ]);
  });
});

describe("the `import` option that remains in the program", () => {
  test("has no effect once the resource exists", async () => {
    const service = await startService();
    const { news } = foreign(service);
    const { id, inputs, outs } = await taken(service, news);
    for (const __import of [id, undefined]) {
      const { inputs: next, failures } = await service.instances.check(inputs, { ...news, __import });
      expect(failures).toEqual([]);
      expect(next).toEqual(inputs);
      expect(await service.instances.diff(id, outs, next)).toMatchObject({ changes: false, replaces: [] });
    }
    const { inputs: next } = await service.instances.check(inputs, {
      ...news,
      flavor: "m1.large",
    });
    await service.instances.update(id, outs, next);
    expect(written(service.emulator).map(({ method, path }) => `${method} ${path}`)).toEqual([
      `PUT /v1/instances/${id}`,
    ]);
  });

  test("leaves a later change to the engine, because `replaceOnChanges` may list it", async () => {
    const service = await startService();
    const { news } = foreign(service, { labels: { env: "dev" } });
    const { id, inputs, outs } = await taken(service, { ...news, labels: { env: "dev" } });
    const { instances } = await service.newProviders();
    const next = (await instances.check(inputs, { ...news, labels: { env: "prod" } })).inputs;
    expect(await instances.diff(id, outs, next)).toMatchObject({ changes: undefined, replaces: [] });
  });

  test("allows a replacement, which creates another instance and deletes the old one", async () => {
    const service = await startService();
    const { id, news } = foreign(service);
    const { inputs, outs } = await taken(service, news);
    const { instances } = await service.newProviders();
    const image = { ...news, image: "debian-14" };
    const { inputs: next } = await instances.check(inputs, image);
    expect(await instances.diff(id, outs, next)).toMatchObject({ replaces: ["image"] });
    const { inputs: fresh } = await instances.check({}, image);
    const { id: other } = await instances.create(fresh);
    await instances.delete(id, outs);
    expect(other).not.toBe(id);
    expect([...service.emulator.instances.keys()]).toEqual([other]);
  });

  test("adopts the same instance again under --target-replace, whose deletion then fails", async () => {
    const service = await startService();
    const { id, news } = foreign(service);
    const { outs } = await taken(service, news);
    const { instances } = await service.newProviders();
    const { inputs: fresh } = await instances.check({}, news);
    expect((await instances.create(fresh)).id).toBe(id);
    expect((await failureOf(instances.delete(id, outs))).message).toContain("was not replaced");
    expect([...service.emulator.instances.keys()]).toEqual([id]);
  });

  test.each([
    ["the resource", (urn: string) => ({ __urn: `${urn}-new`, __aliasUrns: [urn] })],
    ["the stack", (urn: string) => ({ __urn: urn.replace(/^urn:pulumi:[^:]+/, "urn:pulumi:renamed") })],
  ])(
    "adopts the same instance again under --target-replace after a rename of %s that the state doesn't show",
    async (_what, rename) => {
      const service = await startService();
      const { id, news } = foreign(service);
      const { outs } = await taken(service, news);
      const { instances } = await service.newProviders();
      const renamed = { ...news, ...rename(String(news.__urn)), __key: randomUUID() };
      expect(renamed.__urn).not.toBe(news.__urn);
      const { inputs: fresh } = await instances.check({}, renamed);
      await instances.create(fresh);
      expect((await failureOf(instances.delete(id, outs))).message).toContain("was not replaced");
    },
  );
});

test.each([{}, { ignored: ["publicIp"] }])(
  "an instance that shows its address in place of the mode is adopted, and keeps its address: %j",
  async ({ ignored: __ignoreChanges }) => {
    const service = await startService({ behaviour: { publicIpShows: "null" } });
    const { id, news } = foreign(service, { public_ip: "auto" });
    const declared = { ...news, publicIp: "auto", ...(__ignoreChanges && { __ignoreChanges }) };
    const { inputs, outs } = await taken(service, declared);
    expect(written(service.emulator)).toEqual([]);
    expect(outs).toMatchObject({ publicIp: "auto" });
    const { instances } = await service.newProviders();
    const next = (await instances.check(inputs, { ...declared, flavor: "m1.large" })).inputs;
    await instances.update(id, outs, next);
    expect(service.emulator.instances.get(id)).toMatchObject({
      address: outs.ipAddress,
      fields: { public_ip: "auto" },
    });
  },
);

/** A service that omits empty lists and maps. */
const withoutEmpty = (now: Properties): Properties =>
  Object.fromEntries(
    Object.entries(now).filter(
      ([, value]) => Object.keys(Object(value)).length > 0 || Object(value) !== value,
    ),
  );

describe("a property without a value, which the service omits", () => {
  const declared = { publicIp: "auto", labels: { team: "web" }, sshKeys: [SSH_KEY] };

  test.each(Object.entries(declared))("is set to the program's value: %s", async (name, value) => {
    const service = await startService({ behaviour: { spelling: withoutEmpty } });
    const { id, news } = foreign(service);
    const { outs } = await taken(service, { ...news, [name]: value });
    expect(written(service.emulator).map(({ method }) => method)).toEqual(["PUT"]);
    expect((await service.instances.read(id, outs)).inputs).toMatchObject({ [name]: value });
    expect(service.emulator.instances.get(id)?.address !== undefined).toBe(name === "publicIp");
  });

  test.each<[string, Properties, string, Properties]>([
    ["a label", { labels: { env: "prod", team: "web" } }, "labels.env", { labels: { team: "web" } }],
    ["an SSH key", { sshKeys: [SSH_KEY] }, "sshKeys[1]", { ssh_keys: [SSH_KEY] }],
  ])("is set to the program's value beside an ignored property: %s", async (_what, wanted, path, fields) => {
    const service = await startService({ behaviour: { spelling: withoutEmpty } });
    const { id, news } = foreign(service);
    await taken(service, { ...news, ...wanted, __ignoreChanges: [path] });
    expect(service.emulator.instances.get(id)?.fields).toMatchObject(fields);
  });

  test.each(["203.0.113.77", "none"])(
    "keeps an ignored address that only its own field shows: %s",
    async (publicIp) => {
      const service = await startService({ behaviour: { unshown: ["public_ip"] } });
      const { id, news } = foreign(service, { public_ip: "203.0.113.5", flavor: "m1.large" });
      await taken(service, { ...news, publicIp, __ignoreChanges: ["publicIp"] });
      expect(service.emulator.instances.get(id)).toMatchObject({
        address: "203.0.113.5",
        fields: { flavor: "m1.small" },
      });
    },
  );

  test("is set if the object has another address", async () => {
    const service = await startService({ behaviour: { unshown: ["public_ip"] } });
    const { id, news } = foreign(service, { public_ip: "auto" });
    const { outs } = await taken(service, { ...news, publicIp: "203.0.113.77" });
    expect(service.emulator.instances.get(id)?.address).toBe("203.0.113.77");
    expect(outs).toMatchObject({ publicIp: "203.0.113.77", ipAddress: "203.0.113.77" });
  });

  test("stays without an address if that is ignored, and without a value if the program sets none", async () => {
    const service = await startService({ behaviour: { spelling: withoutEmpty } });
    const { id, news } = foreign(service);
    const ignored = { ...news, publicIp: "auto", __ignoreChanges: ["publicIp"] };
    const { inputs, outs } = await taken(service, ignored);
    expect(written(service.emulator)).toEqual([]);
    const next = (await service.instances.check(inputs, { ...ignored, flavor: "m1.large" })).inputs;
    await service.instances.update(id, outs, next);
    expect(service.emulator.instances.get(id)).toMatchObject({
      address: undefined,
      fields: { flavor: "m1.large" },
    });
    const other = foreign(service);
    service.emulator.clearRequests();
    await taken(service, { ...other.news, publicIp: "none", labels: {}, sshKeys: [] });
    expect(written(service.emulator)).toEqual([]);
  });
});

test.each<[string, readonly string[], boolean]>([
  ["removes the keys of an imported instance", [], true],
  ["removes keys that the service doesn't show", ["ssh_keys"], true],
  ["leaves everything alone if the service doesn't show the labels, either", ["ssh_keys", "labels"], false],
])("an empty list of SSH keys %s", async (_, unshown, isRemoved) => {
  const service = await startService({ behaviour: { unshown } });
  const { id, news } = foreign(service, { ssh_keys: [SSH_KEY], labels: { team: "ops" }, public_ip: "auto" });
  await taken(service, { ...news, sshKeys: [] });
  expect(service.emulator.instances.get(id)?.fields).toMatchObject({
    ssh_keys: isRemoved ? [] : [SSH_KEY],
    labels: { team: "ops" },
  });
});

test.each([{}, { flavor: "m1.large" }])(
  "an instance that shows its address in place of the mode and in another field is adopted: %j",
  async (others) => {
    const spelling = (now: Properties) => ({ ...now, public_ip: now.ip_address });
    const service = await startService({ behaviour: { spelling } });
    const { id, news } = foreign(service, { public_ip: "auto" });
    const { outs } = await taken(service, { ...news, publicIp: "auto", ...others });
    expect(outs).toMatchObject({ publicIp: "auto", ...others });
    expect(outs).not.toHaveProperty("__applied");
    expect((await service.instances.read(id, outs)).inputs).toMatchObject({ publicIp: "auto", ...others });
  },
);

test.each(["mode", "null"] as const)(
  "an instance loses an address that the program doesn't declare, if the service shows the %s in public_ip",
  async (publicIpShows) => {
    const service = await startService({ behaviour: { publicIpShows } });
    const { id, news } = foreign(service, { public_ip: "auto" });
    const { outs } = await taken(service, { ...news, publicIp: "none" });
    expect(service.emulator.instances.get(id)?.address).toBeUndefined();
    expect(outs).not.toHaveProperty("ipAddress");
  },
);

test.each([{ ipField: "public_ip" }, { publicIpShows: "null" }, { unshown: ["public_ip"] }] as const)(
  "an instance loses an address that the mode `private` of the program doesn't assign, with %j",
  async (behaviour) => {
    const service = await startService({ behaviour });
    const { id, news } = foreign(service, { public_ip: "auto" });
    const { outs } = await taken(service, { ...news, publicIp: "private", labels: {}, sshKeys: [] });
    expect(service.emulator.instances.get(id)?.address).toBeUndefined();
    expect(outs).not.toHaveProperty("ipAddress");
  },
);

test("an instance that shows fingerprints of its keys is adopted without an update, and can be changed later", async () => {
  const service = await startService({ behaviour: { normalize: ["fingerprints"] } });
  const { id, news } = foreign(service, { ssh_keys: [SSH_KEY] });
  const declared = { ...news, sshKeys: [SSH_KEY] };
  const { inputs, outs } = await taken(service, declared);
  expect(written(service.emulator)).toEqual([]);
  const { instances } = await service.newProviders();
  const next = (await instances.check(inputs, { ...declared, flavor: "m1.large" })).inputs;
  await instances.update(id, outs, next);
  expect(service.emulator.instances.get(id)?.fields).toMatchObject({
    flavor: "m1.large",
    ssh_keys: [SSH_KEY],
  });
});

test.each([null, ""])(
  "an instance that shows its image as %j is adopted, even if the image is ignored, and can be changed later",
  async (image) => {
    for (const __ignoreChanges of [undefined, ["image"]]) {
      const service = await startService({ behaviour: { spelling: (now) => ({ ...now, image }) } });
      const { id, news } = foreign(service);
      const declared = { ...news, ...(__ignoreChanges && { __ignoreChanges }) };
      const { inputs, outs } = await taken(service, declared);
      expect(outs).toMatchObject({ image: "debian-13" });
      const { instances } = await service.newProviders();
      const read = await instances.read(id, outs);
      expect(read).toMatchObject({ inputs: { image: "debian-13" } });
      const next = (await instances.check(inputs, { ...declared, flavor: "m1.large" })).inputs;
      await instances.update(id, outs, next);
      expect(service.emulator.instances.get(id)?.fields).toMatchObject({
        image: "debian-13",
        flavor: "m1.large",
      });
    }
  },
);

test("the error about a value that the service normalizes says to write the normalized value", async () => {
  const service = await startService({
    behaviour: { spelling: (now) => ({ ...now, flavor: `flv-${String(now.flavor).length}` }) },
  });
  const { id, news } = foreign(service);
  const { inputs } = await service.instances.check({}, news);
  const { message } = await failureOf(service.instances.create(inputs));
  expect(message).toMatch(/property +in the service +in the program\n +flavor +flv-8 +m1.small/);
  expect(message).toContain("Change the program to match the object");
  expect(message).toContain("cause: the service accepted the update, but did not change flavor");
  expect(message).not.toContain("Nothing was changed");
  const { outs } = await taken(service, { ...news, flavor: "flv-8" });
  expect(outs).toMatchObject({ flavor: "flv-8" });
  expect(service.emulator.instances.has(id)).toBe(true);
});

test.each([403, 409, 400])(
  "an object whose update is rejected once (%i) is adopted by the create that an error hook repeats",
  async (status) => {
    const service = await startService();
    const { id, news } = foreign(service);
    service.emulator.fail({ method: "PUT", kind: "status", status });
    const { inputs } = await service.instances.check({}, { ...news, flavor: "m1.large" });
    await failureOf(service.instances.create(inputs));
    expect(await service.instances.create(inputs)).toMatchObject({ id, outs: { flavor: "m1.large" } });
    expect([...service.emulator.instances.keys()]).toEqual([id]);
  },
);

test("the error about a value that the service doesn't change says to write that value into the program", async () => {
  const service = await startService();
  const { news } = foreign(service);
  service.emulator.refuseUpdatesOf("flavor");
  const { inputs } = await service.instances.check({}, { ...news, flavor: "m1.large" });
  const { message } = await failureOf(service.instances.create(inputs));
  expect(message).toMatch(/property +in the service +in the program\n +flavor +m1.small +m1.large/);
  expect(message).toContain("Change the program to match the object");
  expect(message).not.toContain("replaceOnChanges");
});

test("an object whose adoption fails with its update isn't recorded, so that nothing deletes the object", async () => {
  const service = await startService({ behaviour: { putReply: 202 } });
  const { id, news } = foreign(service);
  const { inputs } = await service.instances.check({}, { ...news, flavor: "m1.large" });
  service.emulator.failNextOperation({ kind: "update" });
  const error = await failureOf(service.instances.create(inputs));
  expect(error.message).toContain("code operation_failed");
  expect(error).not.toHaveProperty("id");
  expect(await service.instances.create(inputs)).toMatchObject({ id });
});

test("an import settles an earlier interrupted creation of the resource, and only the imported object remains", async () => {
  const service = await startService({ behaviour: { operationMs: 10_000 } });
  const { id, news } = foreign(service);
  const { __import: _, ...plain } = news;
  const before = await service.newProviders({ operationTimeout: "1s" });
  const { inputs } = await before.instances.check({}, plain);
  await failureOf(before.instances.create(inputs));
  const { instances } = await service.newProviders();
  const { inputs: next } = await instances.check({}, news);
  expect((await instances.create(next)).id).toBe(id);
  expect([...service.emulator.instances.keys()]).toEqual([id]);
});

test.each([
  ["", {}],
  [", also with the option `retainOnDelete`", { __retainOnDelete: true }],
])("the object of an interrupted creation can be imported by its id%s", async (_, options) => {
  const service = await startService({ behaviour: { operationMs: 10_000 } });
  const project = service.emulator.addProject().id;
  const news = instanceNews({ project });
  const before = await service.newProviders({ operationTimeout: "1s" });
  const { inputs } = await before.instances.check({}, news);
  await failureOf(before.instances.create(inputs));
  service.emulator.finishOperations();
  const [made = ""] = service.emulator.instances.keys();
  const { instances } = await service.newProviders();
  const { inputs: next } = await instances.check({}, { ...news, ...options, __import: made });
  expect((await instances.create(next)).id).toBe(made);
  expect([...service.emulator.instances.keys()]).toEqual([made]);
  expect(service.warnings).toEqual([]);
});

describe("a project that the `import` option names", () => {
  test("is adopted if it matches the program, and rejected otherwise", async () => {
    const service = await startService();
    const { id } = service.emulator.addProject({ name: "shop", region: "eu-1" });
    const { inputs } = await service.projects.check({}, projectNews({ __import: id }));
    expect(await service.projects.create(inputs)).toMatchObject({
      id,
      outs: { name: "shop", region: "eu-1" },
    });
    const other = await service.newProviders();
    const { inputs: wrong } = await other.projects.check({}, projectNews({ region: "us-1", __import: id }));
    const { message } = await failureOf(other.projects.create(wrong));
    expect(message).toMatch(/region +eu-1 +us-1/);
    expect(written(service.emulator)).toEqual([]);
  });
});

describe("a replacement that the engine runs without a diff", () => {
  /** An instance that was adopted by an earlier run, and a process that gets the calls of `pulumi state taint`. */
  async function tainted() {
    const service = await startService();
    const { id, news } = foreign(service);
    const { inputs, outs } = await taken(service, news);
    const { instances } = await service.newProviders();
    const next = (await instances.check({}, { ...news, __key: randomUUID() })).inputs;
    return { service, id, inputs, state: outs, process: instances, next };
  }

  test("creates another instance if the adopted one is deleted first", async () => {
    const { service, id, state, process, next } = await tainted();
    await process.delete(id, state);
    const made = await process.create(next);
    expect(made.id).not.toBe(id);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
  });

  test("fails if the `import` option has adopted the same instance again, and deletes nothing", async () => {
    const { service, id, state, process, next } = await tainted();
    expect((await process.create(next)).id).toBe(id);
    const { message } = await failureOf(process.delete(id, state));
    expect(message).toContain(`instance ${id} was not replaced, because it was adopted again`);
    expect(message).toContain("If the resource has the `import` option, remove this option");
    expect([...service.emulator.instances.keys()]).toEqual([id]);
  });
});

describe.each([
  ["the same process", false],
  ["another process", true],
])(
  "a resource that is renamed by `import` in place of an alias, and whose deletion comes in %s",
  (_, isOther) => {
    test("keeps its instance", async () => {
      const service = await startService();
      const otherRun = () => service.newProviders({}, undefined, { outside: { run: "127.0.0.1:1" } });
      const { id, news } = foreign(service);
      const former = await taken(service, { ...news, __import: undefined });
      const { instances } = await otherRun();
      const renamed = { ...news, __urn: `${news.__urn}-2`, __key: randomUUID(), __import: former.id };
      const { inputs } = await instances.check({}, renamed);
      expect(await instances.create(inputs)).toMatchObject({ id: former.id });
      const deleting = isOther ? (await otherRun()).instances : instances;
      await deleting.delete(former.id, former.outs);
      expect([...service.emulator.instances.keys()]).toEqual([id, former.id]);
    });
  },
);

describe("the `import` option of a resource that exists", () => {
  test("may name the resource's own instance", async () => {
    const service = await startService();
    const { id, news } = foreign(service);
    const { __import, ...plainly } = news;
    const { inputs, outs } = await taken(service, news);
    const { instances } = await service.newProviders();
    const next = (await instances.check(plainly, news)).inputs;
    expect(await instances.diff(id, { ...outs, __import: undefined }, next)).toMatchObject({
      changes: false,
    });
    expect(inputs.__import).toBe(id);
  });

  test("is an error that changes nothing if it names another instance", async () => {
    const service = await startService();
    const { id, news } = foreign(service);
    const { inputs, outs } = await taken(service, news);
    const { instances } = await service.newProviders();
    const next = (await instances.check(inputs, { ...news, __import: "ins-other" })).inputs;
    const { message } = await failureOf(instances.diff(id, outs, { ...next, flavor: "m1.large" }));
    expect(message).toContain(
      `the resource manages instance ${id}, but its \`import\` option specifies ins-other`,
    );
    expect(message).toContain("pulumi state delete");
  });

  test("is an error, and no other resource can adopt the instance in the same run", async () => {
    const service = await startService();
    const { id, news } = foreign(service);
    const { inputs, outs } = await taken(service, news);
    const { instances } = await service.newProviders();
    const next = (await instances.check(inputs, { ...news, __import: "ins-other" })).inputs;
    expect(await errorOf(instances.diff(id, outs, next))).toContain(
      "its `import` option specifies ins-other",
    );
    const other = { ...news, __urn: `${news.__urn}-2`, __key: randomUUID() };
    const { failures } = await instances.check({}, other);
    expect(failures?.[0]?.reason).toContain(`import: instance ${id} is already managed by ${news.__urn}`);
  });

  test("can't name an instance that another resource of the program manages", async () => {
    const service = await startService();
    const { id, news } = foreign(service);
    await taken(service, news);
    const other = { ...news, __urn: `${news.__urn}-2`, __key: randomUUID() };
    const { failures } = await service.instances.check({}, other);
    expect(failures?.[0]?.reason).toContain(`import: instance ${id} is already managed by ${news.__urn}`);
  });

  test.each([
    ["keeps its instance", {}],
    ["is replaced", { image: "debian-14" }],
  ])("can't name an instance of a resource that is compared later and %s", async (_, change) => {
    const service = await startService();
    const { id, news } = foreign(service);
    const managed = await taken(service, news);
    const { instances } = await service.newProviders();
    const other = { ...news, __urn: `${news.__urn}-2`, __key: randomUUID(), flavor: "m1.large" };
    const { inputs: others, failures } = await instances.check({}, other);
    expect(failures).toEqual([]);
    const { inputs } = await instances.check(managed.inputs, { ...news, ...change });
    const creating = failureOf(instances.create(others)); // the engine registers resources at the same time
    const { message } = await failureOf(instances.diff(id, managed.outs, inputs));
    expect(message).toContain(`instance ${id} is already managed by ${other.__urn}`);
    expect((await creating).message).toContain(`instance ${id} is already managed by ${news.__urn}`);
    expect(written(service.emulator)).toEqual([]);
  });

  test("can't name an instance that another resource replaces in this run", async () => {
    const service = await startService();
    const { id, news } = foreign(service);
    const managed = await taken(service, news);
    const { instances } = await service.newProviders();
    const { inputs } = await instances.check(managed.inputs, { ...news, image: "debian-14" });
    expect(await instances.diff(id, managed.outs, inputs)).toMatchObject({ replaces: ["image"] });
    const other = { ...news, __urn: `${news.__urn}-2`, __key: randomUUID() };
    const { failures } = await instances.check({}, other);
    expect(failures?.[0]?.reason).toContain(`import: instance ${id} is already managed by ${news.__urn}`);
  });
});

describe("an adopted instance whose resource ignores changes", () => {
  const declared = { flavor: "m1.small", labels: { env: "dev", team: "web" } };

  test.each([
    ["a property", ["flavor", "labels"], { flavor: "m1.large", labels: { env: "prod", team: "ops" } }],
    ["a label", ["flavor", 'labels["env"]'], { flavor: "m1.large", labels: { env: "prod", team: "web" } }],
    ["any property", ["*"], { image: "theirs", flavor: "m1.large", labels: { env: "prod" } }],
    ["any label", ["flavor", "labels.*"], { flavor: "m1.large", labels: { env: "prod", team: "ops" } }],
  ])("keeps an ignored difference of %s", async (_what, __ignoreChanges, fields) => {
    const service = await startService();
    const { id, news } = foreign(service, fields);
    const { outs } = await taken(service, { ...news, ...declared, __ignoreChanges });
    expect(written(service.emulator)).toEqual([]);
    expect(outs).toMatchObject(fields);
    expect(outs).not.toHaveProperty("__ignoreChanges");
    expect(service.emulator.instances.get(id)?.fields).toMatchObject(fields);
  });

  test.each<[string, boolean, object]>([
    ["its original name", true, { original_name: "m1.large", vcpus: 2 }],
    ["no name", false, { vcpus: 2, ram: 8192 }],
  ])("keeps a flavor that the service shows as an object with %s", async (_what, isMade, flavor) => {
    const service = await startService({ behaviour: { spelling: (now) => ({ ...now, flavor }) } });
    const { id, news } = foreign(service, { flavor: "m1.large" });
    const ignoring = { ...news, labels: { team: "web" }, __ignoreChanges: ["flavor"] };
    const taking = taken(service, ignoring);
    if (!isMade)
      expect((await failureOf(taking)).message).toContain("flavor in a format that an update can't");
    await taking.catch(() => {});
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");
    expect(written(service.emulator)).toHaveLength(isMade ? 1 : 0);
  });

  test("keeps it even if other properties change, then and later", async () => {
    const service = await startService();
    const { id, news } = foreign(service, { flavor: "m1.large", network: "old", labels: { env: "prod" } });
    const ignoring = { ...news, ...declared, __ignoreChanges: ["flavor", "labels.env"] };
    const { inputs, outs } = await taken(service, ignoring);
    const kept = { flavor: "m1.large", network: "default", labels: { env: "prod", team: "web" } };
    expect(service.emulator.instances.get(id)?.fields).toMatchObject(kept);
    const { instances } = await service.newProviders();
    const seen = await instances.read(id, outs);
    expect(seen.inputs).toMatchObject({ flavor: "m1.large", labels: kept.labels });
    const next = (await instances.check(inputs, { ...ignoring, network: "new" })).inputs;
    await instances.update(id, { ...seen.props }, next);
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({ ...kept, network: "new" });
  });
});
