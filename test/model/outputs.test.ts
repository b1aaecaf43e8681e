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

test("the outputs of an instance are its arguments, the returned properties and the hidden properties", () => {
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

test("the outputs of a project include its description and date, and no outputs of instances", () => {
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

  test("doesn't change if a list shows it with or without fractions of a second", () => {
    expect(createdAt("2026-01-01T10:00:00.123456Z", "2026-01-01T10:00:00Z")).toBe("2026-01-01T10:00:00Z");
    expect(createdAt("2026-01-01T10:00:00Z", "2026-01-01T10:00:00.9Z")).toBe("2026-01-01T10:00:00.9Z");
  });

  test("changes if another second is shown or if it wasn't known before", () => {
    expect(createdAt("2026-01-01T10:00:01Z", "2026-01-01T10:00:00Z")).toBe("2026-01-01T10:00:01Z");
    expect(createdAt("2026-01-01T10:00:00.5Z")).toBe("2026-01-01T10:00:00.5Z");
  });

  test("is returned unchanged if it isn't a date", () => {
    expect(createdAt("yesterday", "today")).toBe("yesterday");
  });
});

describe("ipAddress", () => {
  const { ip_address, ...bare } = reply;

  test.each([
    ["ip_address", { ip_address }],
    ["public_address", { public_address: "2001:db8::7" }],
    ["public_ip, if it is an address", { public_ip: "203.0.113.8" }],
    ["the one of two fields that is an address", { ip_address: null, public_ip: "203.0.113.8" }],
  ])("is read from %s", (_where, fields) => {
    expect(outputs({ ...bare, ...fields }).ipAddress).toBe(Object.values(fields).find(Boolean));
  });

  test("is read from public_ip if it is an object", () => {
    const public_ip = { id: 7, ip: "203.0.113.8" };
    expect(outputs({ ...bare, public_ip }).ipAddress).toBe("203.0.113.8");
  });

  test("is read only from the field that the setting names, if it is set", () => {
    const setting = { "cloudinfra:ipAddressField": "floating" };
    expect(outputs({ ...reply, floating: "198.51.100.1" }, {}, setting).ipAddress).toBe("198.51.100.1");
    expect("ipAddress" in outputs({ ...reply, floating: null }, {}, setting)).toBe(false);
    expect(
      "floating" in Object(outputs({ ...reply, floating: null }, {}, setting).additionalProperties),
    ).toBe(false);
  });

  test("isn't an output of a project, even if the setting ipAddressField is set", async () => {
    const service = await startService();
    const { projects } = await service.newProviders({ ipAddressField: "ip_address" });
    const { inputs } = await projects.check({}, projectNews());
    const { outs } = await projects.create(inputs);
    expect(outs).toHaveProperty("description");
    expect(outs).not.toHaveProperty("url");
  });

  test("is omitted if the service shows only the mode or null", () => {
    expect("ipAddress" in outputs({ ...bare, public_ip: "auto" })).toBe(false);
    expect("ipAddress" in outputs({ ...bare, ip_address: null }, { before: { ipAddress: ip_address } })).toBe(
      false,
    );
  });

  test("is the public address if another field contains a private one", () => {
    const object = { ...bare, ip_address: "10.0.0.5", public_address: ip_address };
    expect(outputs(object).ipAddress).toBe(ip_address);
    expect(outputs({ ...bare, ip_address: "10.0.0.5" }).ipAddress).toBe("10.0.0.5");
  });

  test("is kept if the reply omits it, until the program removes the mode", () => {
    const before = { ipAddress: ip_address, publicIp: "auto" };
    expect(outputs(bare, { before, values: { publicIp: "auto" } }).ipAddress).toBe(ip_address);
    expect("ipAddress" in outputs(bare, { before, values: {} })).toBe(false);
  });

  test("is removed with the mode that somebody else had set", () => {
    const before = outputs({ ...bare, ip_address, public_ip: "auto" });
    expect(before.ipAddress).toBe(ip_address);
    expect(outputs(bare, { before }).ipAddress).toBe(ip_address);
    expect("ipAddress" in outputs({ ...bare, public_ip: null }, { before })).toBe(false);
  });

  test("is kept if the service shows null for each mode and the reply omits the address", () => {
    const before = outputs({ ...bare, ip_address, public_ip: null });
    expect(outputs({ ...bare, public_ip: null }, { before }).ipAddress).toBe(ip_address);
  });
});

describe("additionalProperties", () => {
  test("contains exactly the returned fields that are not outputs", () => {
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

  test("keeps fields that a sparse reply omits, such as an initial password", () => {
    const before = { additionalProperties: { password: "p", host: "rack-4" } };
    expect(outputs({ ...reply, host: "rack-5" }, { before }).additionalProperties).toEqual({
      password: "p",
      host: "rack-5",
    });
  });
});

describe("a sparse reply", () => {
  test("doesn't change the outputs that it omits", () => {
    const before = { status: "running", createdAt: "2026-01-01T10:00:00Z", url: "https://x.example.com/i/1" };
    expect(outputs({ id: "ins-1" }, { before })).toMatchObject(before);
  });

  test("removes an output that is null in it", () => {
    const before = { status: "running" };
    expect("status" in outputs({ id: "ins-1", status: null }, { before })).toBe(false);
  });

  test("without the object's URL makes the provider derive it from the endpoint", () => {
    expect(outputs({ id: "ins-1" }).url).toBe("https://api.example.com/v1/instances/ins-1");
  });

  test.each([
    ["https://old.example.com/v1/instances/ins-1", "https://api.example.com/v1/instances/ins-1"],
    ["https://console.example.com/ins-1", "https://console.example.com/ins-1"],
  ])("keeps the object's URL, but at the new endpoint if the service has moved: %s", (url, now) => {
    const before = { url, __endpoint: "https://old.example.com/v1" };
    expect(outputs({ id: "ins-1" }, { before }).url).toBe(now);
  });
});

test("the outputs contain the hidden inputs, but no empty map of remote values", () => {
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

/** Like `outputs`, with a revision that the object's fields don't contain. */
const shown = (fields: Readonly<Record<string, unknown>>, revision?: string, before = {}, settings = {}) =>
  outputsOf(
    callTo(new FakeService(), instanceKind, settings),
    { id: "ins-1", fields: { id: "ins-1", ...fields }, revision },
    { hidden: parseDesired(instanceNews()), values: {}, remoteValues: {}, before },
  );

test("a date in additionalProperties doesn't change if a list shows it with fractions of a second", () => {
  const before = shown({ updated_at: "2026-01-01T10:00:00Z" }, "r1");
  expect(shown({ updated_at: "2026-01-01T10:00:00.250Z" }, "r1", before)).toEqual(before);
});

test("a list without revisions doesn't remove the revision of an unchanged object from the state", () => {
  const before = shown({ status: "running", flavor: "m1.small" }, "r1");
  expect(shown({ status: "running", flavor: "m1.small" }, undefined, before).revision).toBe("r1");
});

test("if the setting names an address field, additionalProperties contains the usual address fields", () => {
  const found = shown(
    { ip_address: "10.0.0.7", floating: "198.51.100.1" },
    "r1",
    {},
    { "cloudinfra:ipAddressField": "floating" },
  );
  expect(found).toMatchObject({
    ipAddress: "198.51.100.1",
    additionalProperties: { ip_address: "10.0.0.7" },
  });
});

test("a changed string that contains a number isn't treated as a date with other fractions", () => {
  const before = shown({ place: "rack 4" }, "r1");
  expect(shown({ place: "row 4" }, "r2", before)).toHaveProperty("additionalProperties.place", "row 4");
});

test("a list without revisions removes the revision of a changed object, so that the next update compares the object", () => {
  const before = shown({ status: "running", updated_at: "2026-01-01T10:00:00Z" }, "r1");
  const moved = { status: "running", updated_at: "2026-01-01T10:00:01Z" };
  expect("revision" in shown(moved, undefined, before)).toBe(false);
});
