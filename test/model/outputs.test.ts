import { describe, expect, test } from "vitest";
import { type OutputSources, outputsOf } from "../../src/model/outputs";
import { instanceKind, projectKind } from "../../src/model/resource-fields";
import { type Properties, parseDesired, parseRecorded, toBag } from "../../src/model/state";
import { callTo } from "../provider/fake-call";
import { FakeService } from "../provider/fake-service";
import { instanceNews, KEY, projectNews } from "../provider/samples";
import { startService } from "../provider/service";

const reply = {
  id: "ins-1",
  project: "prj-1",
  name: "web",
  image: "img-7",
  flavor: "m1.small",
  network: "default",
  status: "running",
  created_at: "2026-01-01T10:00:00Z",
  url: "https://api.example.com/v1/instances/ins-1",
  ip_address: "203.0.113.7",
  revision: "r7",
};

/** Where the outputs come from, with properties as the host passes them. */
interface Known extends Partial<Pick<OutputSources, "values" | "remoteValues">> {
  readonly before?: Properties;
  readonly hidden?: Properties;
}

function outputs(
  fields: Properties,
  { before = {}, hidden = instanceNews(), ...known }: Known = {},
  settings: Readonly<Record<string, string>> = {},
): Properties {
  const call = callTo(new FakeService(), instanceKind, settings);
  const { project, name, image, flavor, network } = parseDesired(instanceNews());
  const values = { project, name, image, flavor, network };
  const object = {
    id: "ins-1",
    fields,
    revision: typeof fields.revision === "string" ? fields.revision : undefined,
  };
  const sources = { hidden: parseDesired(hidden), before: parseRecorded(before) };
  return toBag(outputsOf(call, object, { values, remoteValues: {}, ...known, ...sources }));
}

test("an instance: the arguments as given, what the service says, and what the provider keeps", () => {
  expect(outputs(reply, { remoteValues: { image: "img-7" } })).toEqual({
    project: "prj-1",
    name: "web",
    image: "debian-13",
    flavor: "m1.small",
    network: "default",
    status: "running",
    createdAt: "2026-01-01T10:00:00Z",
    revision: "r7",
    url: "https://api.example.com/v1/instances/ins-1",
    ipAddress: "203.0.113.7",
    additionalProperties: {},
    __urn: instanceNews().__urn,
    __key: KEY,
    __endpoint: "https://api.example.com/v1",
    __words: { image: "img-7" },
  });
});

test("a project: description and date, and nothing of instances", () => {
  const call = callTo(new FakeService(), projectKind);
  const fields = {
    id: "prj-1",
    name: "shop",
    region: "eu-1",
    description: "the shop",
    created_at: "2026-01-01T10:00:00Z",
  };
  const hidden = parseDesired(projectNews());
  const known = { hidden, values: { name: "shop", region: "eu-1" }, remoteValues: {}, before: {} };
  expect(toBag(outputsOf(call, { id: "prj-1", fields }, known))).toEqual({
    name: "shop",
    region: "eu-1",
    description: "the shop",
    createdAt: "2026-01-01T10:00:00Z",
    __urn: projectNews().__urn,
    __key: KEY,
    __endpoint: "https://api.example.com/v1",
  });
});

describe("createdAt", () => {
  const createdAt = (now: unknown, before?: string) =>
    outputs({ ...reply, created_at: now }, { before: { createdAt: before } }).createdAt;

  test("does not change with the fractions that a list shows", () => {
    expect(createdAt("2026-01-01T10:00:00.123456Z", "2026-01-01T10:00:00Z")).toBe("2026-01-01T10:00:00Z");
    expect(createdAt("2026-01-01T10:00:00Z", "2026-01-01T10:00:00.9Z")).toBe("2026-01-01T10:00:00.9Z");
  });

  test("does with the second, and where there was none", () => {
    expect(createdAt("2026-01-01T10:00:01Z", "2026-01-01T10:00:00Z")).toBe("2026-01-01T10:00:01Z");
    expect(createdAt("2026-01-01T10:00:00.5Z")).toBe("2026-01-01T10:00:00.5Z");
  });

  test("is shown as it is where it is no date", () => {
    expect(createdAt("yesterday", "today")).toBe("yesterday");
  });
});

describe('ipAddress: what `publicIp: "auto"` became', () => {
  const { ip_address, ...bare } = reply;

  test.each([
    ["ip_address", { ip_address }],
    ["public_address", { public_address: "2001:db8::7" }],
    ["public_ip, where it is an address", { public_ip: "203.0.113.8" }],
    ["the one of them that is an address", { ip_address: null, public_ip: "203.0.113.8" }],
  ])("may be in %s", (_where, fields) => {
    expect(outputs({ ...bare, ...fields }).ipAddress).toBe(Object.values(fields).find(Boolean));
  });

  test("may be in public_ip, where it is an object", () => {
    const public_ip = { id: 7, ip: "203.0.113.8" };
    expect(outputs({ ...bare, public_ip }).ipAddress).toBe("203.0.113.8");
  });

  test("is in the field that the setting names, and in no other", () => {
    const setting = { "cloudinfra:ipAddressField": "floating" };
    expect(outputs({ ...reply, floating: "198.51.100.1" }, {}, setting).ipAddress).toBe("198.51.100.1");
    expect("ipAddress" in outputs({ ...reply, floating: null }, {}, setting)).toBe(false);
    expect(
      "floating" in Object(outputs({ ...reply, floating: null }, {}, setting).additionalProperties),
    ).toBe(false);
  });

  test("is not that of a project, whatever the setting names", async () => {
    const service = await startService();
    const { projects } = await service.newProviders({ ipAddressField: "ip_address" });
    const { inputs } = await projects.check({}, projectNews());
    const { outs } = await projects.create(inputs);
    expect(outs).toHaveProperty("description");
    expect(outs).not.toHaveProperty("url");
  });

  test("is none where the mode alone is told, or the service takes it back", () => {
    expect("ipAddress" in outputs({ ...bare, public_ip: "auto" })).toBe(false);
    expect("ipAddress" in outputs({ ...bare, ip_address: null }, { before: { ipAddress: ip_address } })).toBe(
      false,
    );
  });

  test("stays where the reply does not carry it, and goes with the mode that asked for it", () => {
    const before = { ipAddress: ip_address, publicIp: "auto" };
    expect(outputs(bare, { before, values: { publicIp: "auto" } }).ipAddress).toBe(ip_address);
    expect("ipAddress" in outputs(bare, { before, values: {} })).toBe(false);
  });

  test("goes with the mode that somebody else had set", () => {
    const before = outputs({ ...bare, ip_address, public_ip: "auto" });
    expect(before.ipAddress).toBe(ip_address);
    expect(outputs(bare, { before }).ipAddress).toBe(ip_address);
    expect("ipAddress" in outputs({ ...bare, public_ip: null }, { before })).toBe(false);
  });

  test("stays if the service shows null for each mode and the reply doesn't carry the address", () => {
    const before = outputs({ ...bare, ip_address, public_ip: null });
    expect(outputs({ ...bare, public_ip: null }, { before }).ipAddress).toBe(ip_address);
  });
});

describe("additionalProperties", () => {
  test("holds what else was returned, and only that", () => {
    const more = {
      host: "rack-4",
      password: "p",
      disks: [{ size: 1 }],
      etag: "x",
      public_ip: "auto",
      labels: { a: "b" },
    };
    expect(outputs({ ...reply, ...more }).additionalProperties).toEqual({
      host: "rack-4",
      password: "p",
      disks: [{ size: 1 }],
    });
  });

  test("keeps what a sparse reply does not repeat, such as a first password", () => {
    const before = { additionalProperties: { password: "p", host: "rack-4" } };
    expect(outputs({ ...reply, host: "rack-5" }, { before }).additionalProperties).toEqual({
      password: "p",
      host: "rack-5",
    });
  });
});

describe("a sparse reply", () => {
  test("leaves what it does not carry as it was", () => {
    const before = { status: "running", createdAt: "2026-01-01T10:00:00Z", url: "https://x.example.com/i/1" };
    expect(outputs({ id: "ins-1" }, { before })).toMatchObject(before);
  });

  test("takes away what it carries as null", () => {
    const before = { status: "running" };
    expect("status" in outputs({ id: "ins-1", status: null }, { before })).toBe(false);
  });

  test("without an address of the object: it is made from the endpoint", () => {
    expect(outputs({ id: "ins-1" }).url).toBe("https://api.example.com/v1/instances/ins-1");
  });
});

test("hidden inputs are kept, empty words are not", () => {
  const hidden = instanceNews({
    __timeouts: { delete: "5m" },
    __secrets: ["labels"],
    __keyAt: 5,
    __import: "ins-1",
    __later: 1,
  });
  const found = outputs(reply, { hidden });
  expect(found).toMatchObject({
    __timeouts: { delete: "5m" },
    __secrets: ["labels"],
    __keyAt: 5,
    __import: "ins-1",
    __key: KEY,
  });
  expect("__words" in found).toBe(false);
});
