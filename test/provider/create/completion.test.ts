import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { instanceNews, SSH_KEY } from "../samples";
import { failureOf, startService } from "../service";

const ARGS = { labels: { team: "web" }, sshKeys: [SSH_KEY] };
const OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther grace@example.org";

async function created(postIgnores: readonly string[], more: object = {}, args: object = {}, config = {}) {
  const service = await startService({ behaviour: { postIgnores, ...more }, config });
  const project = service.emulator.addProject().id;
  const { inputs } = await service.instances.check({}, instanceNews({ project, ...ARGS, ...args }));
  const methods = () =>
    service.emulator.requests.map(({ method }) => method).filter((method) => method !== "GET");
  return { service, inputs, creating: service.instances.create(inputs), methods };
}

describe("arguments that the service ignores when it creates an instance", () => {
  test("are set by an update, for example labels, which the creation request doesn't have (§2.2)", async () => {
    const { service, creating, methods } = await created(["labels", "ssh_keys"]);
    const { id, outs } = await creating;
    expect(methods()).toEqual(["POST", "PUT"]);
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({
      labels: { team: "web" },
      ssh_keys: [SSH_KEY],
    });
    expect(outs).toMatchObject(ARGS);
  });

  test.each([["labels"], ["ssh_keys"]])("are set if only %s are ignored", async (ignored) => {
    const { service, creating, methods } = await created([ignored]);
    const { id } = await creating;
    expect(methods()).toEqual(["POST", "PUT"]);
    const { labels, ssh_keys } = service.emulator.instances.get(id)?.fields ?? {};
    expect({ labels, ssh_keys }).toEqual({ labels: ARGS.labels, ssh_keys: ARGS.sshKeys });
  });

  test("are an error if the update ignores them, too, and the instance is in the state", async () => {
    const { service, inputs, creating } = await created(["labels"], { getObject: 200 });
    service.emulator.behaviour.spelling = (instance) => ({ ...instance, labels: {} });
    const error = await failureOf(creating);
    expect(error.message).toContain("did not change labels");
    expect(error).toMatchObject({ id: [...service.emulator.instances.keys()][0] });
    expect(inputs).toBeDefined();
  });

  test.each(["null", "omitted"] as const)(
    "are set by an update if one is the address mode, and no address is shown: %s",
    async (absentValues) => {
      const { service, creating, methods } = await created(
        ["public_ip"],
        { absentValues },
        { publicIp: "auto" },
      );
      const { id, outs } = await creating;
      expect(methods()).toEqual(["POST", "PUT"]);
      expect(service.emulator.instances.get(id)?.address).toBe(outs.ipAddress);
    },
  );

  test("are set by an update if one is the address mode, and only a private address is shown", async () => {
    const extraFields = { private_ip: "10.0.0.5" };
    const { service, creating } = await created(["public_ip"], { extraFields }, { publicIp: "auto" });
    const { id, outs } = await creating;
    expect(outs.ipAddress).toBeDefined();
    expect(service.emulator.instances.get(id)?.address).toBe(outs.ipAddress);
  });

  test.each([
    ["ip_address", {}],
    ["floating", {}],
    ["floating", { ipAddressField: "floating" }],
  ])(
    "cost no request if the service shows an address in place of the mode, in the field %s; settings: %j",
    async (field, settings) => {
      const spelling = ({ ip_address, ...now }: { ip_address?: unknown }) => ({
        ...now,
        public_ip: null,
        private_ip: "10.0.0.5",
        [field]: ip_address,
      });
      const { creating, methods } = await created([], { spelling }, { publicIp: "auto" }, settings);
      await creating;
      expect(methods()).toEqual(["POST"]);
    },
  );

  test.each<[string, object, object]>([
    ["sshKeys", { ssh_keys: [SSH_KEY] }, { sshKeys: [SSH_KEY, OTHER_KEY] }],
    ["publicIp", { public_ip: "203.0.113.7" }, { publicIp: "198.51.100.9" }],
    ["publicIp", { public_ip: null, ip_address: "203.0.113.7" }, { publicIp: "198.51.100.9" }],
    ["publicIp", { public_ip: "auto", ip_address: "203.0.113.7" }, { publicIp: "198.51.100.9" }],
  ])("are an error if the service applies only a part of %s: %j", async (name, shown, args) => {
    const { creating, methods } = await created(
      [],
      { spelling: (now: object) => ({ ...now, ...shown }) },
      args,
    );
    expect((await failureOf(creating)).message).toContain(`did not change ${name}`);
    expect(methods()).toEqual(["POST", "PUT"]);
  });

  test.each<[string, (pair: [string, unknown]) => unknown]>([
    ["pairs", ([key, value]) => ({ key, value })],
    ["strings", (pair) => pair.join("=")],
    ["an unknown form", ([key, value]) => [key, value]],
  ])("cost no request if the service shows labels as a list of %s", async (_form, item) => {
    const spelling = (now: { labels?: unknown }) => ({
      ...now,
      labels: Object.entries(Object(now.labels)).map(item),
    });
    const { creating, methods } = await created([], { spelling });
    expect((await creating).outs).toMatchObject(ARGS);
    expect(methods()).toEqual(["POST"]);
  });

  test("cost no request if they are an empty map of labels", async () => {
    const { service, creating } = await created([], {}, { labels: {} });
    expect((await creating).outs).toMatchObject({ labels: {} });
    const other = await created([], {}, { labels: undefined });
    await other.creating;
    const count = ({ emulator }: typeof service): number => emulator.requests.length;
    expect(count(service)).toBe(count(other.service));
  });

  test("cost no request if the service ignores none", async () => {
    const { creating, methods } = await created([]);
    await creating;
    expect(methods()).toEqual(["POST"]);
  });
});

/** Shows the image and the flavor in lists by name, and elsewhere by id. */
const spelling = (now: Readonly<Record<string, unknown>>, place: "item" | "object"): object =>
  place === "item" ? now : { ...now, image: `img-${now.image}`, flavor: `flv-${now.flavor}` };

test("an instance that only a list has shown after its creation isn't replaced if a GET shows its image in another form", async () => {
  const behaviour = { operationMs: 0, lagIn: "reads", lagMs: 1_000, spelling } as const;
  const { service, web } = await oneInstance({ behaviour });
  expect(await web.up()).toBeUndefined();
  const { id } = web.inState();
  await service.clock.advance(60_000);
  await web.refresh();
  expect(await web.up()).toBeUndefined();
  expect(await web.expectOne()).toBe(id);
  await web.refresh();
  expect(web.inState().inputs).toMatchObject({ image: "debian-13", flavor: "m1.small" });
});

describe("a label whose key has capital letters", () => {
  const DEFAULTS = { team: "default", owner: "ops" };

  test.each<Properties>([{ Team: "web" }, { Team: "web", env: "a" }])(
    "is set by an update if the service ignores labels and sets default labels: %j",
    async (labels) => {
      const { service, web } = await oneInstance({
        behaviour: { postIgnores: ["labels"] },
        onRequest: ({ method, path }) => {
          if (method !== "POST" || path !== "/v1/instances") return;
          for (const id of service.emulator.instances.keys()) service.emulator.edit(id, { labels: DEFAULTS });
        },
      });
      expect(await web.up({ labels })).toBeUndefined();
      expect([...service.emulator.instances.values()][0]?.fields.labels).toEqual({ ...DEFAULTS, ...labels });
    },
  );

  test.each<[string, Properties, (text: string) => string]>([
    ["in lower case", { Team: "Web" }, (text) => text.toLowerCase()],
    ["in upper case", { Team: "Web" }, (text) => text.toUpperCase()],
    ["normalized", { Team: "Web App", env: "a" }, (text) => text.toLowerCase().replaceAll(" ", "-")],
  ])("costs no request if the service shows keys and values %s", async (_form, labels, form) => {
    const spelling = (now: object) => ({
      ...now,
      labels: JSON.parse(form(JSON.stringify(Object(now).labels))),
    });
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up({ labels })).toBeUndefined();
    expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
  });
});
