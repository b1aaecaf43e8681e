import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import { changed, existingInstance, failureOf, type Saved, type Service, startService } from "../service";
import { rowsOf } from "./conflict-table-rows";
import { startRaced } from "./raced-service";

const THEIR_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBBBB bob@example.org";

test("a conflict shows the state, the service and the program side by side, in aligned columns", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service, { labels: { team: "web", tier: "a" } });
  const theirs = { network: "backend", labels: { team: "web", owner: "ops" } };
  service.after("GET", () => service.emulator.edit(saved.id, theirs));
  const { message } = await failureOf(
    service.updated(saved, { flavor: "m1.large", labels: { team: "ops", tier: "a" } }),
  );
  const path = `/v1/instances/${saved.id}`;
  expect(message.split("\n")).toEqual([
    `updating instance "web" failed: another client changed network, labels.tier of instance ${saved.id}`,
    "  property     in your state  now in the service  desired",
    "  flavor       m1.small       m1.small            m1.large",
    "  network      default        backend             default",
    "  labels.team  web            web                 ops",
    "  labels.tier  a              (not set)           a",
    "  cause: the service returned revision_mismatch (412): the instance was changed in the meantime",
    expect.stringMatching(`^  PUT ${path} · trace tr-\\d+ · code revision_conflict$`),
    expect.stringMatching(/^ {2}hint: To apply .*, run `pulumi refresh --target <urn>`,/),
    "  docs: pulumi-cloudinfra/docs/errors.md#revision_conflict",
  ]);
});

describe("somebody's change of a managed property is not overwritten, even if the update doesn't change that property:", () => {
  test.each<[string, Properties, string[]]>([
    ["name", { name: "theirs" }, ["name", "web", "theirs", "web"]],
    ["network", { network: "theirs" }, ["network", "default", "theirs", "default"]],
    ["publicIp", { public_ip: "203.0.113.77" }, ["publicIp", "auto", "203.0.113.77", "auto"]],
    ["publicIp, taken away", { public_ip: null }, ["publicIp", "auto", "(not set)", "auto"]],
    ["sshKeys, taken away", { ssh_keys: [] }, ["sshKeys", expect.any(String), "(none)", expect.any(String)]],
    ["a label", { labels: { team: "x", "a/b~c": "1" } }, ["labels.team", "web", "x", "web"]],
    ["an odd label", { labels: { team: "web" } }, ['labels["a/b~c"]', "1", "(not set)", "1"]],
  ])("%s", async (_field, edit, row) => {
    const service = await startRaced();
    const labels = { team: "web", "a/b~c": "1" };
    const saved = await existingInstance(service, { publicIp: "auto", sshKeys: [SSH_KEY], labels });
    service.emulator.edit(saved.id, edit);
    const now = service.fieldsOf(saved);
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(rowsOf(message)).toEqual([["flavor", "m1.small", "m1.small", "m1.large"], row].sort(byField));
    expect(service.fieldsOf(saved)).toEqual(now);
    expect(service.puts()).toEqual([]);
  });

  const order = ["name", "flavor", "network", "publicIp", "sshKeys", "labels"];
  const rank = ([property = ""]: string[]): number => order.indexOf(property.split(/[.[]/)[0] ?? "");
  const byField = (a: string[], b: string[]): number => rank(a) - rank(b);
});

test("a property that the program sets for the first time doesn't overwrite somebody's value", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service);
  service.emulator.edit(saved.id, { labels: { owner: "ops" }, public_ip: "203.0.113.77" });
  const news = { labels: { owner: "dev" }, publicIp: "auto" };
  const { message } = await failureOf(service.updated(saved, news));
  expect(rowsOf(message)).toEqual([
    ["publicIp", "(not set)", "203.0.113.77", "auto"],
    ["labels.owner", "(not set)", "ops", "dev"],
  ]);
  const { props } = await service.instances.read(saved.id, saved.state);
  expect((await service.updated(saved, news, { ...props })).outs).toMatchObject(news);
});

test("a property that the program removes is kept if somebody has changed it since", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service, { sshKeys: [SSH_KEY], labels: { team: "web" } });
  service.emulator.edit(saved.id, { ssh_keys: [THEIR_KEY], labels: { team: "theirs" } });
  const { message } = await failureOf(service.updated(saved, { sshKeys: undefined, labels: undefined }));
  expect(rowsOf(message)).toEqual([
    ["sshKeys", expect.stringMatching("^ssh-.*…"), expect.stringMatching("^ssh-.*…"), "(not set)"],
    ["labels.team", "web", "theirs", "(not set)"],
  ]);
  expect(service.fieldsOf(saved)).toMatchObject({ ssh_keys: [THEIR_KEY], labels: { team: "theirs" } });
});

test("a normalized value is shown in both forms", async () => {
  const service = await startRaced({ behaviour: { ipField: "public_ip" } });
  const saved = await existingInstance(service, { publicIp: "auto" });
  service.emulator.edit(saved.id, { public_ip: "203.0.113.77" });
  const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
  expect(rowsOf(message)).toContainEqual([
    ...["publicIp", `auto (${saved.state.ipAddress})`, "203.0.113.77", "auto"],
  ]);
});

test.each<[string, Properties, Properties, string]>([
  ["image, which only a replacement changes", { image: "debian-14" }, {}, "To replace the instance"],
  [
    "network, which replaceOnChanges lists",
    { network: "theirs" },
    { __replaceOnChanges: ["network"] },
    "To replace the instance",
  ],
  ["network", { network: "theirs" }, {}, "To apply the program's values"],
  [
    "an SSH key, which replaceOnChanges lists by its index",
    { ssh_keys: [THEIR_KEY] },
    { sshKeys: [SSH_KEY], __replaceOnChanges: ["sshKeys[0]"] },
    "To replace the instance",
  ],
  [
    "a label, of which replaceOnChanges lists another one",
    { labels: { team: "theirs" } },
    { labels: { team: "web" }, __replaceOnChanges: ["labels.env"] },
    "To apply the program's values",
  ],
])(
  "the hint of a conflict says what the next `up` does after a refresh: %s",
  async (_what, edit, options, does) => {
    const { service, web } = await oneInstance();
    expect(await web.up(options)).toBeUndefined();
    service.emulator.edit(web.inState().id, edit);
    expect(await web.up({ ...options, flavor: "m1.large" })).toContain(`${does}, run`);
  },
);

describe("if the service doesn't return a managed property", () => {
  const sparse = { getObject: 405, itemsWithout: ["flavor", "labels"] } as const;
  const labels = { team: "web" };
  const start = async (more: Properties) => {
    const service = await startRaced({ behaviour: sparse });
    return { service, saved: await existingInstance(service, more) };
  };

  test("at the state's revision, the update is sent, and the property is kept", async () => {
    const { service, saved } = await start({ labels });
    await service.updated(saved, { name: "front" });
    expect(service.fieldsOf(saved)).toMatchObject({ name: "front", flavor: "m1.small", labels });
  });

  test.each<[string, Properties, string[][]]>([
    [
      "labels",
      { labels },
      [
        ["flavor", "m1.small", "(not returned)", "m1.small"],
        ["labels", '{"team":"web"}', "(not returned)", '{"team":"web"}'],
      ],
    ],
    ["no labels", {}, [["flavor", "m1.small", "(not returned)", "m1.small"]]],
  ])(
    "at another revision, the update is rejected, because somebody may have changed it (%s)",
    async (_what, more, rows) => {
      const { service, saved } = await start(more);
      service.emulator.edit(saved.id, { flavor: "huge", labels: { team: "web", theirs: "kept" } });
      const now = service.fieldsOf(saved);
      const { message } = await failureOf(service.updated(saved, { name: "front" }));
      expect(message).toContain("the service doesn't return flavor");
      expect(message).toContain("Nothing was overwritten");
      expect(rowsOf(message)).toEqual([["name", "web", "web", "front"], ...rows]);
      expect(service.fieldsOf(saved)).toEqual(now);
      expect(service.puts()).toEqual([]);
    },
  );

  test.each<[string, Properties, Properties]>([
    ["only marks an argument as secret", {}, { __secrets: ["name"] }],
    ["asks for what somebody else has set already", { flavor: "huge" }, { flavor: "huge" }],
  ])(
    "at another revision, an `up` that %s doesn't make a later one overwrite it",
    async (_what, edit, change) => {
      const { service, web } = await oneInstance({ behaviour: { unshown: ["ssh_keys"] } });
      expect(await web.up({ sshKeys: [SSH_KEY] })).toBeUndefined();
      const { id } = web.inState();
      service.emulator.edit(id, { ssh_keys: [THEIR_KEY], ...edit });
      expect(await web.up({ sshKeys: [SSH_KEY], ...change })).toBeUndefined();
      const said = await web.up({ sshKeys: [SSH_KEY], ...change, network: "backend" });
      expect(said).toContain("the service doesn't return sshKeys");
      expect(service.emulator.instances.get(id)?.fields.ssh_keys).toEqual([THEIR_KEY]);
    },
  );

  test("at another revision, the update is rejected even if the property is ignored, because its current value is unknown", async () => {
    const { service, saved } = await start({});
    service.emulator.edit(saved.id, { flavor: "huge" });
    await service.instances.check(saved.inputs, { ...saved.inputs, __ignoreChanges: ["flavor"] });
    const { message } = await failureOf(service.updated(saved, { name: "front" }));
    expect(message).toContain("the service doesn't return flavor");
    expect(message).toContain("first remove the property from that list");
    expect(service.fieldsOf(saved)).toMatchObject({ flavor: "huge", name: "web" });
  });
});

test("an update after a refresh resolves the conflict", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service, { labels: { team: "web" } });
  service.emulator.edit(saved.id, { network: "theirs", labels: { team: "theirs", owner: "ops" } });
  await failureOf(service.updated(saved, { flavor: "m1.large" }));
  const { props } = await service.instances.read(saved.id, saved.state);
  const { outs } = await service.updated(saved, { flavor: "m1.large" }, { ...props });
  const desired = { flavor: "m1.large", network: "default", labels: { team: "web" } };
  expect(outs).toMatchObject(desired);
  expect(service.fieldsOf(saved)).toMatchObject({ ...desired, labels: { team: "web", owner: "ops" } });
});

describe("the table shows no secrets:", () => {
  test("a secret argument is shown as secret, and secret labels don't even show their keys", async () => {
    const service = await startRaced();
    const hush = { flavor: "hush-old", labels: { "hush-key": "hush-1" }, __secrets: ["flavor", "labels"] };
    const saved = await existingInstance(service, hush);
    service.emulator.edit(saved.id, { flavor: "hush-theirs", labels: { "hush-key": "hush-2" } });
    const { message } = await failureOf(service.updated(saved, { flavor: "hush-new", network: "backend" }));
    expect(message).not.toContain("hush");
    expect(message).toContain("another client changed flavor, labels of instance");
    expect(rowsOf(message)).toEqual([
      ["flavor", "[secret]", "[secret]", "[secret]"],
      ["network", "default", "default", "backend"],
      ["labels", "[secret]", "[secret]", "[secret]"],
    ]);
  });

  test("an argument that is secret only in the state is shown as secret", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service, { flavor: "hush-old", __secrets: ["flavor"] });
    service.emulator.edit(saved.id, { flavor: "hush-theirs" });
    const { message } = await failureOf(service.updated(saved, { flavor: "open", __secrets: undefined }));
    expect(message).not.toContain("hush");
  });

  test("a secret that somebody copied into another property is redacted before the value is shortened", async () => {
    const secret = `hush-${"x".repeat(60)}-hush`;
    const service = await startRaced();
    const saved = await existingInstance(service, { flavor: secret, __secrets: ["flavor"] });
    service.emulator.edit(saved.id, { network: `copied ${secret}` });
    const { message } = await failureOf(service.updated(saved, { name: "front" }));
    expect(message).not.toContain("hush");
    expect(rowsOf(message)).toContainEqual(["network", "default", "copied [secret]", "default"]);
  });
});

test("long values are shortened so that they stay distinguishable, and remote values don't break lines", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service, { sshKeys: [SSH_KEY], labels: { note: "short" } });
  const labels = { note: `${"long ".repeat(30)}end\n  hint: \u001b[2Jrm` };
  service.emulator.edit(saved.id, { network: "back   end\n\n1", ssh_keys: [THEIR_KEY], labels });
  const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
  const lines = message.split("\n").filter((line) => !line.startsWith("  hint"));
  for (const line of lines) expect(line.length).toBeLessThan(200);
  const [, network, keys, note] = rowsOf(message);
  expect(network).toEqual(["network", "default", "back end 1", "default"]);
  expect(keys?.[1]).not.toBe(keys?.[2]);
  expect(keys?.[2]).toMatch(/^ssh-.*….*example\.org$/);
  expect(note).toEqual([
    "labels.note",
    "short",
    expect.stringMatching(/^long .*….*end hint: .*rm$/),
    "short",
  ]);
  expect(message).not.toContain("\u001b");
});

/** What a refresh of several resources saves: it looks into the list, where an instance has no revision. */
async function refreshed(service: Service, { id }: Saved, state: Properties): Promise<Properties> {
  const { instances } = await service.newProviders();
  const [one] = await Promise.all([instances.read(id, state), instances.read(id, state)]);
  return { ...one?.props };
}

describe("somebody else's value of a property that the program sets for the first time", () => {
  test.each([
    ["a label", { labels: { owner: "theirs" } }, { labels: { team: "web", owner: "us" } }, "labels.owner"],
    ["an address", { public_ip: "198.51.100.1" }, { publicIp: "auto" }, "publicIp"],
  ])(
    "%s: is a conflict until a refresh has seen it, even without a revision",
    async (_what, edit, more, property) => {
      const service = await startService({ behaviour: { revision: "header" } });
      const saved = await existingInstance(service, { labels: { team: "web" } });
      const news = changed(saved, more);
      const { id } = saved;
      const update = (state: Properties): Promise<unknown> => service.instances.update(id, state, news);

      service.emulator.edit(id, edit);
      const { message } = await failureOf(update(saved.state));
      expect(rowsOf(message).map(([name]) => name)).toContain(property);
      // A refresh changes nothing that the program doesn't manage.
      expect(message.replaceAll(/\s+/g, " ")).toContain(
        "To apply the program's values, run `pulumi refresh --target <urn>`, then `pulumi up`",
      );
      const seen = await refreshed(service, saved, saved.state);
      // Once more, and nobody knows of it.
      const theirs = { labels: { owner: "again" }, public_ip: "198.51.100.2" };
      service.emulator.edit(id, theirs);
      expect((await failureOf(update(seen))).message).toContain("another client changed");
      await update(await refreshed(service, saved, seen));
      expect(service.emulator.instances.get(id)?.fields).not.toMatchObject(
        property === "publicIp" ? { public_ip: theirs.public_ip } : { labels: theirs.labels },
      );
    },
  );

  test("is in the state only if it exists, and only as a digest", async () => {
    const service = await startService();
    const saved = await existingInstance(service, { labels: { team: "web" } });
    expect("__unmanaged" in saved.state).toBe(false);
    service.emulator.edit(saved.id, { labels: { team: "web", owner: "theirs" } });
    const seen = await refreshed(service, saved, saved.state);
    expect(seen.__unmanaged).toEqual({ labels: expect.stringMatching(/^[0-9a-f]{12}$/) });
    expect(await refreshed(service, saved, seen)).toEqual(seen);
    // An item of a list that does not carry the field says nothing about it.
    service.emulator.behaviour.extraFields = { labels: undefined };
    expect((await refreshed(service, saved, seen)).__unmanaged).toEqual(seen.__unmanaged);
  });
});
