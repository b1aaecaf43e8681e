import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import type { Properties } from "../../src/model/state";
import type { HostProvider } from "../../src/provider/host";
import { unmarked } from "./marked";
import { type OneInstance, oneInstance } from "./one-instance";
import { instanceNews, OTHER_KEY, projectNews, SSH_KEY } from "./samples";
import {
  changed,
  existingInstance,
  existingProject,
  failureOf,
  type Saved,
  type Service,
  startService,
} from "./service";

const everything = { publicIp: "auto", sshKeys: [SSH_KEY], labels: { team: "web" } };
const refreshed = (provider: HostProvider, { id, state }: Saved) => provider.read(id, state);

/** What the host makes of a read: the state from then on. */
async function stateAfter(
  provider: HostProvider,
  saved: Saved,
): Promise<{ props: Properties; inputs: Properties }> {
  const { id, props, inputs } = await refreshed(provider, saved);
  expect(id).toBe(saved.id);
  const { __provider } = saved.state;
  return { props: { ...props, __provider }, inputs: { ...inputs, __provider } };
}

/** Refreshes the instance together with another one, so that the provider reads a list. */
async function refreshFromList(service: Service, web: OneInstance): Promise<void> {
  const { id, state } = web.inState();
  const { instances } = await service.newProviders();
  const [{ props, inputs }] = await Promise.all([instances.read(id, state), instances.read("other", state)]);
  if (props === undefined || inputs === undefined) throw new Error("not found");
  web.saved = { id, state: unmarked(props), inputs: unmarked(inputs) };
}

describe("a refresh without a change", () => {
  test.each([
    ["absolute links", {}],
    ["GET 404", { getObject: 404 as const }],
    ["GET 405", { getObject: 405 as const }],
    ["revisions in fields", { revision: "body" as const }],
    ["weak revisions", { revision: "weak" as const }],
    ["an address in place of auto", { ipField: "public_ip" as const }],
    ["instances that refuse limit=200", { instanceLimit: "refused" as const }],
    ["short pages", { pageSize: 1 }],
  ])("changes neither outputs nor inputs: %s", async (_what, behaviour) => {
    const service = await startService({ behaviour });
    const saved = await existingInstance(service, everything);
    expect(await stateAfter(service.instances, saved)).toEqual({ props: saved.state, inputs: saved.inputs });
  });

  test("changes no project, although list items have fractions of seconds and no description", async () => {
    const service = await startService({ behaviour: { fractionalDates: true, getObject: 405 } });
    const saved = await existingProject(service);
    service.emulator.edit(saved.id, { description: "unchanged to lists" });
    expect(await stateAfter(service.projects, saved)).toEqual({
      // The name is known from now on.
      props: { ...saved.state, __echoed: undefined },
      inputs: saved.inputs,
    });
  });
});

describe("drift", () => {
  test.each([
    ["shop", "renamed"],
    ["ハハ", "パパ"],
  ])(
    "includes a project that somebody else renames before its first refresh: %s to %s",
    async (name, theirs) => {
      const service = await startService();
      const saved = await existingProject(service, { name });
      service.emulator.edit(saved.id, { name: theirs });
      expect(await refreshed(service.projects, saved)).toMatchObject({ inputs: { name: theirs } });
    },
  );

  test.each([
    ["a slug", { name: "my-cafe" }],
    ["a region's id", { region: "reg-1" }],
  ])("doesn't include %s that the first refresh of a project returns", async (_what, normalized) => {
    const service = await startService();
    const saved = await existingProject(service, { name: "My Café" });
    service.emulator.edit(saved.id, normalized);
    const { name, region } = saved.inputs;
    expect(await refreshed(service.projects, saved)).toMatchObject({ inputs: { name, region } });
  });

  test("doesn't include a slug that the first refresh of a project returns after one of its arguments became secret", async () => {
    const service = await startService();
    const saved = await existingProject(service, { name: "My Shop" });
    service.emulator.edit(saved.id, { name: "my-shop" });
    const { projects } = await service.newProviders();
    const { inputs } = await projects.check(saved.inputs, changed(saved, { __secrets: ["region"] }));
    const { outs } = await projects.update(saved.id, saved.state, inputs);
    const { projects: next } = await service.newProviders();
    expect(await next.read(saved.id, outs)).toMatchObject({ inputs: { name: "My Shop" } });
  });

  test.each([
    ["name", { name: "other" }, "other"],
    ["image", { image: "debian-14" }, "debian-14"],
    ["flavor", { flavor: "m1.large" }, "m1.large"],
    ["network", { network: "backend" }, "backend"],
    ["publicIp", { public_ip: "203.0.113.99" }, "203.0.113.99"],
    ["sshKeys", { ssh_keys: [] }, []],
    ["labels", { labels: { team: "ops" } }, { team: "ops" }],
  ])("of %s is in the outputs and inputs, so that the next `up` corrects it", async (name, edit, now) => {
    const service = await startService();
    const saved = await existingInstance(service, everything);
    service.emulator.edit(saved.id, edit);
    const { props, inputs } = await stateAfter(service.instances, saved);
    expect(props[name]).toEqual(now);
    expect(inputs).toEqual({ ...saved.inputs, [name]: now });
    expect(props.revision).toBe(service.emulator.instances.get(saved.id)?.revision);
    const difference = await service.instances.diff(saved.id, props, saved.inputs);
    expect(difference.changes).toBeUndefined();
    expect(difference.replaces).toEqual(name === "image" ? [name] : []);
  });

  test.each([
    ["image", "img-7"],
    ["image", { href: "/images/7" }],
    ["project", "projects/7"],
  ])(
    "of %s isn't reported at the recorded revision, because %j can only be another form of the value",
    async (name, now) => {
      const { service, web } = await oneInstance();
      expect(await web.up()).toBeUndefined();
      await web.refresh();
      const { id, inputs } = web.inState();
      service.emulator.behaviour.spelling = (shown) => ({ ...shown, [name]: now });
      await web.refresh();
      expect(web.inState().inputs[name]).toBe(inputs[name]);
      expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
      await web.refresh(); // at the next revision, the other form is the recorded remote value
      expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
      expect(await web.expectOne()).toBe(id);
    },
  );

  test.each(["none", "Off"])(
    "includes an address that somebody assigns to an instance with publicIp %s",
    async (publicIp) => {
      for (const ipField of ["public_ip", "ip_address"] as const) {
        const service = await startService({ behaviour: { ipField } });
        const { id, state } = await existingInstance(service, { publicIp });
        service.emulator.edit(id, { public_ip: "203.0.113.77" });
        const { inputs } = await service.instances.read(id, state);
        expect(inputs).toMatchObject({ publicIp: "203.0.113.77" });
      }
    },
  );

  test("doesn't include labels that somebody else adds", async () => {
    const service = await startService();
    const saved = await existingInstance(service, everything);
    service.emulator.edit(saved.id, { labels: { team: "web", owner: "ops" } });
    expect((await stateAfter(service.instances, saved)).inputs).toEqual(saved.inputs);
  });

  test("never turns an unmanaged field into an input", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { public_ip: "auto", ssh_keys: [SSH_KEY], labels: { owner: "ops" } });
    expect((await stateAfter(service.instances, saved)).inputs).toEqual(saved.inputs);
  });
});

describe("an object that doesn't exist", () => {
  test.each([200, 404, 405] as const)(
    "is removed from the state by a refresh (GET: %d)",
    async (getObject) => {
      const service = await startService({ behaviour: { getObject } });
      const saved = await existingInstance(service);
      service.emulator.remove(saved.id);
      expect(await refreshed(service.instances, saved)).toEqual({});
    },
  );

  test("doesn't count as deleted if its project is hidden, and neither does the project, although another one is visible", async () => {
    const service = await startService();
    const project = await existingProject(service);
    const instance = await existingInstance(service, { project: project.id, __key: OTHER_KEY });
    service.emulator.addProject();
    service.emulator.remove(instance.id);
    service.emulator.remove(project.id);
    const { message } = await failureOf(refreshed(service.instances, instance));
    expect(message).toContain(`returned neither instance ${instance.id} nor its project ${project.id}`);
    expect(message).toContain("pulumi state delete <urn>");
    const ofProject = await failureOf(refreshed(service.projects, project));
    expect(ofProject.message).toContain(`did not return project ${project.id}`);
  });

  test("is an error if the account shows no objects", async () => {
    const service = await startService();
    const saved = await existingProject(service);
    service.emulator.remove(saved.id);
    const { message } = await failureOf(refreshed(service.projects, saved));
    expect(message).toMatch(
      /^reading project "shop" \(prj-\w+\) failed: .* the token may belong to another account/,
    );
    expect(message).toContain("pulumi state delete <urn>");
  });
});

test("an instance that somebody has moved to another project stays in the state if the service doesn't offer GET", async () => {
  const { service, web } = await oneInstance({ behaviour: { getObject: 405 } });
  await web.up();
  const { id } = web.inState();
  const other = service.emulator.addProject({ name: "other" });
  service.emulator.edit(id, { project: other.id });
  await web.refresh();
  expect(web.inState()).toMatchObject({ id, inputs: { project: other.id } });
});

describe("an object doesn't count as deleted", () => {
  test.each([
    ["503", { kind: "status", status: 503 }],
    ["500", { kind: "status", status: 500 }],
    ["403", { kind: "status", status: 403 }],
    ["401", { kind: "status", status: 401 }],
    ["a web page", { kind: "html", status: 200 }],
    ["a 404 of something else", { kind: "html", status: 404 }],
    ["a cut-off reply", { kind: "truncate" }],
    ["an empty reply", { kind: "empty" }],
    ["no reply", { kind: "reset" }],
  ] as const)("after %s, which is an error", async (_what, fault) => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "GET", times: Number.POSITIVE_INFINITY, ...fault });
    const { message } = await failureOf(refreshed(service.instances, saved));
    expect(message).toMatch(/^reading instance "web" /);
  });

  test("during an outage, which is an error", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    await service.emulator.pause();
    const { message } = await failureOf(refreshed(service.instances, saved));
    expect(message).toContain("can't be reached");
    await service.emulator.resume();
    expect(await refreshed(service.instances, saved)).toHaveProperty("id", saved.id);
  });
});

describe("many refreshed objects", () => {
  test("cost one list request for 200 instances, and no GET", async () => {
    const service = await startService();
    // The other instances are created later.
    const { createdAt: _, ...state } = (await existingInstance(service)).state;
    for (let i = 1; i < 150; i++) service.emulator.addInstance({ name: state.name });
    service.emulator.clearRequests();
    const reads = [...service.emulator.instances.keys()].map((id) => service.instances.read(id, state));
    expect((await Promise.all(reads)).map(({ id }) => id)).toEqual([...service.emulator.instances.keys()]);
    expect(service.emulator.requests.map(({ method, query }) => [method, query.limit])).toEqual([
      ["GET", "200"],
    ]);
  });
});

describe("`get` of an unmanaged object", () => {
  const { __urn, __provider } = instanceNews();
  const looked = { __urn, __provider };

  test("returns the remote values and keeps no inputs", async () => {
    const service = await startService();
    const { id, fields } = service.emulator.addInstance({ public_ip: "auto", labels: { owner: "ops" } });
    const { props, inputs } = await service.instances.read(id, looked);
    expect(props).toMatchObject({
      project: fields.project,
      name: "foreign",
      publicIp: "auto",
      labels: { owner: "ops" },
      status: "running",
      ipAddress: "203.0.113.1",
    });
    expect(inputs).toEqual({ __urn });
  });

  test("keeps properties that lists omit if it is refreshed together with others", async () => {
    const service = await startService();
    const description = "the shop";
    const made = [1, 2].map(() => service.emulator.addProject({ description }));
    const look = (state: readonly Properties[]) =>
      Promise.all(made.map(({ id }, at) => service.projects.read(id, state[at] ?? {})));
    const { __urn, __provider } = projectNews();
    const first = await look([
      { __urn, __provider },
      { __urn, __provider },
    ]);
    expect(first.map(({ props }) => props)).toEqual(made.map(() => expect.objectContaining({ description })));
    service.emulator.clearRequests();
    await service.clock.advance(31_000);
    const again = await look(first.map(({ props }) => ({ ...props })));
    expect(again.map(({ props }) => props)).toEqual(first.map(({ props }) => props));
    expect(service.emulator.requests.map(({ path }) => path)).toEqual(["/v1/projects"]);
  });

  test("sends a GET first, with any number of other lookups, because a list may omit values", async () => {
    const service = await startService({ behaviour: { itemsWithout: ["labels", "ssh_keys"] } });
    const [one, other] = [1, 2].map(() => service.emulator.addInstance({ labels: { team: "web" } }));
    const both = [one, other].map((made) => service.instances.read(made?.id ?? "", looked));
    for (const { props } of await Promise.all(both)) expect(props).toMatchObject({ labels: { team: "web" } });
  });

  test("returns the same values if it is refreshed alone or together with others", async () => {
    const spelling = (now: object, place: string) => (place === "item" ? { ...now, image: "img-7" } : now);
    const service = await startService({ behaviour: { spelling } });
    const [one, other] = [service.emulator.addInstance(), service.emulator.addInstance()];
    const { props } = await service.instances.read(one.id, looked);
    const both = [one, other].map(({ id }) => service.instances.read(id, { ...props }));
    expect((await Promise.all(both))[0]?.props).toEqual(props);
  });

  test("is removed from the state by a refresh once the object no longer exists", async () => {
    const service = await startService();
    const { id } = service.emulator.addInstance();
    const { props } = await service.instances.read(id, looked);
    service.emulator.remove(id);
    expect(await service.instances.read(id, { ...props })).toEqual({});
  });

  test("is an error if the object doesn't exist", async () => {
    const service = await startService();
    service.emulator.addProject();
    const { message } = await failureOf(service.instances.read("ins-0", looked));
    expect(message).toMatch(/^reading instance "web" failed: instance ins-0 doesn't exist/);
    expect(message).toContain("remove the lookup from the program");
  });

  test.each(["operation/op-1", "operation/key-3f2b"])(
    "is an error if %s is the id, which another stack may export for an unfinished creation",
    async (id) => {
      const { instances, projects } = await startService();
      const message = await failureOf(instances.read(id, looked)).then((error) => error.message);
      expect(message).toMatch(`reading instance "web" failed: instance ${id} doesn't exist`);
      expect(message).toContain("code not_found");
      await expect(projects.read(id, looked)).rejects.toThrow(`project ${id} doesn't exist`);
    },
  );
});

test("a refresh from a list shows drift if the revision is in the header, and a field named `version` holds something else", async () => {
  const service = await startService({ behaviour: { revision: "header", extraFields: { version: "2" } } });
  const [first, second] = [await existingInstance(service), await existingInstance(service)];
  const both = async (state: Properties) => {
    const { instances } = await service.newProviders();
    const [one] = await Promise.all([
      instances.read(first.id, state),
      instances.read(second.id, second.state),
    ]);
    return one;
  };
  const { props } = await both(first.state);
  expect(props.revision).toBe(first.state.revision);
  service.emulator.edit(first.id, { flavor: "m1.large" });
  const drifted = await both({ ...props });
  expect(drifted).toMatchObject({
    inputs: { flavor: "m1.large" },
    props: { revision: service.emulator.instances.get(first.id)?.revision },
  });
  expect(await both({ ...drifted.props })).toMatchObject({ inputs: { flavor: "m1.large" } });
});

describe("a list that formats values differently than GET, or omits some,", () => {
  const spellings = {
    "spells them": (item: object) => ({ ...item, image: "/images/7" }),
    "leaves them out": (item: object) => ({ ...item, image: undefined }),
  };

  test.each(Object.entries(spellings))(
    "%s: an object that looks changed is read again with GET",
    async (_, spelt) => {
      const spelling = (object: object, place: string): object => (place === "item" ? spelt(object) : object);
      const service = await startService({ behaviour: { spelling, revision: "header" } });
      const { id, state } = await existingInstance(service);
      const other = service.emulator.addInstance({ name: state.name });
      const both = (): Promise<unknown> =>
        Promise.all([service.instances.read(id, state), service.instances.read(other.id, state)]);
      await both();
      const { inputs } = await service.instances.read(id, state);
      expect(inputs).toMatchObject({ image: state.image });

      service.emulator.edit(id, { image: "theirs" });
      const { instances } = await service.newProviders();
      const [drifted] = await Promise.all([instances.read(id, state), instances.read(other.id, state)]);
      expect(drifted.inputs).toMatchObject({ image: "theirs" });
    },
  );

  test("costs no further requests if the revision shows that nothing has changed", async () => {
    const spelling = (object: object, place: string): object =>
      place === "item" ? { ...object, image: undefined, public_ip: "none" } : object;
    const service = await startService({ behaviour: { spelling } });
    const made = [await existingInstance(service), await existingInstance(service)];
    service.emulator.clearRequests();
    const answers = await Promise.all(made.map(({ id, state }) => service.instances.read(id, state)));
    const withoutProvider = ({ __provider: _, ...state }: Properties): Properties => state;
    expect(answers.map(({ props }) => props)).toEqual(made.map(({ state }) => withoutProvider(state)));
    for (const { inputs } of answers) expect(inputs).toMatchObject({ image: made[0]?.state.image });
    expect(service.emulator.requests.map(({ path }) => path)).toEqual(["/v1/instances"]);
  });
});

test.each([
  ["value", {}, { flavor: "m1.large" }],
  ["address", { publicIp: "auto" }, {}],
])(
  "a refresh of several instances after an update records no former %s of a lagging list",
  async (_, before, after) => {
    const { service, web } = await oneInstance({ behaviour: { normalize: ["ids"], absentValues: "null" } });
    await web.up(before);
    await service.clock.sleep(60_000);
    Object.assign(service.emulator.behaviour, { lagMs: 10_000, lagIn: "lists" });
    await web.up(after);
    const { ipAddress } = web.inState().state;
    await refreshFromList(service, web);
    const { inputs, state } = web.inState();
    expect(inputs).toMatchObject(after);
    expect(state.ipAddress).toBe(ipAddress);
  },
);

test("a new instance stays in the state if reads don't return it for some seconds", async () => {
  const { service, web } = await oneInstance();
  await service.clock.sleep(60_000);
  await web.up();
  Object.assign(service.emulator.behaviour, { lagMs: 3_000, lagIn: "both" });
  const { id, state } = web.inState();
  const { instances } = await service.newProviders();
  expect(await instances.read(id, state)).toMatchObject({ id });
});

test.each([{}, { publicIp: "auto" }])(
  "a refresh of several unchanged instances reads only a list: %j",
  async (args) => {
    const { service, web } = await oneInstance({ behaviour: { revision: "header" } });
    await web.up(args);
    const { id, state } = web.inState();
    const { instances } = await service.newProviders();
    const other = service.emulator.addInstance({ name: "other", project: web.project });
    service.emulator.clearRequests();
    await Promise.all([instances.read(id, state), instances.read(other.id, state)]);
    expect(service.emulator.requests.map(({ path }) => path)).not.toContain(`/v1/instances/${id}`);
  },
);

describe("a refresh of several instances from a list", () => {
  test("that doesn't return the former labels doesn't prevent an update", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const { id } = web.inState();
    service.emulator.edit(id, { labels: { owner: "ops" } });
    await web.refresh();
    service.emulator.edit(id, { labels: undefined });
    await refreshFromList(service, web);
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
  });

  test("without revisions doesn't hide that a value is removed later", async () => {
    const { service, web } = await oneInstance({ behaviour: { revision: "header" } });
    await web.up({ labels: { team: "web" } });
    const { id } = web.inState();
    service.emulator.edit(id, { status: "stopped" });
    await refreshFromList(service, web);
    expect(web.inState().state.revision).toBeDefined();
    service.emulator.edit(id, { labels: undefined });
    await refreshFromList(service, web);
    expect(web.inState().inputs.labels).not.toEqual({ team: "web" });
  });

  test.each<Partial<Behaviour>>([{ revision: "header" }, { unshown: ["public_ip"] }])(
    "doesn't keep an unmanaged address that somebody has removed: %j",
    async (behaviour) => {
      const { service, web } = await oneInstance({ behaviour });
      await web.up();
      const { id } = web.inState();
      service.emulator.edit(id, { public_ip: "auto" });
      await web.refresh();
      expect(web.inState().state.ipAddress).toBeDefined();
      service.emulator.edit(id, { public_ip: undefined });
      await refreshFromList(service, web);
      expect(web.inState().state.ipAddress).toBeUndefined();
    },
  );
});
