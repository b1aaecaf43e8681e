import { describe, expect, test } from "vitest";
import { type Arguments, instanceFields } from "../../src/model/kinds";
import { compareRemoteValues, remoteValuesAfter, toProgramValue } from "../../src/model/remote-values";
import type { Properties } from "../../src/model/state";

const values: Properties = {
  project: "prj-1",
  name: "web",
  image: "debian-13",
  flavor: "m1.small",
  network: "default",
  publicIp: "auto",
  sshKeys: ["ssh-rsa AAAAB3 bob"],
  labels: { team: "web" },
};
const echo = {
  id: "ins-1",
  project: "prj-1",
  name: "web",
  image: "debian-13",
  flavor: "m1.small",
  network: "default",
  public_ip: "auto",
  ssh_keys: ["ssh-rsa AAAAB3 bob"],
  labels: { team: "web" },
  status: "running",
};

describe("words to remember after the program's values were applied", () => {
  const remembered = (object: Properties, before?: Properties) =>
    remoteValuesAfter(instanceFields, values, object, before);

  test("none where the service repeats the values", () => {
    expect(remembered(echo)).toEqual({});
  });

  test("those that the service spells in its own way", () => {
    const own = { ...echo, image: "img-7", public_ip: "203.0.113.7" };
    expect(remembered(own)).toEqual({ image: "img-7", publicIp: "203.0.113.7" });
  });

  test("not another order or comment of SSH keys, nor labels that others set", () => {
    const own = { ...echo, ssh_keys: ["ssh-rsa AAAAB3"], labels: { team: "web", owner: "ops" } };
    expect(remembered(own)).toEqual({});
  });

  test("those known before stay where this reply does not carry the field", () => {
    expect(remembered({ id: "ins-1", flavor: "m1.small" }, { image: "img-7" })).toEqual({ image: "img-7" });
  });

  test("nothing of fields that the program does not set", () => {
    expect(remoteValuesAfter(instanceFields, { name: "web" }, { ...echo, network: "net-1" })).toEqual({});
  });
});

test.each([
  [{ id: "img-7", name: "debian" }, "img-7"],
  [{ name: "Debian 13", slug: "debian-13", id: 7 }, "7"],
  [{ name: "Debian 13", slug: "debian-13", regions: ["nyc1"] }, "debian-13"],
  [{ kind: "image", name: "Debian 13", uuid: "8a1c" }, "8a1c"],
  [{ id: null, name: "debian" }, "debian"],
  [{ vcpus: 1, ram: 2048, original_name: "m1.small" }, "m1.small"],
  [{ href: "/images/7" }, '{"href":"/images/7"}'],
  [7, "7"],
  ["img-7", "img-7"],
])(
  "a lookup shows a reference as its id, UUID, slug, name or original name, if the service shows %j",
  (word, value) => {
    const [, , image] = instanceFields;
    expect(image && toProgramValue(image, word)).toBe(value);
  },
);

describe("drift is measured against the service's own words", () => {
  const compare = (object: Properties, remoteValues: Properties = {}, known: Arguments = values) =>
    compareRemoteValues(instanceFields, { values: known, remoteValues }, object);

  test("an unchanged object has none, and keeps the values as the program has them", () => {
    expect(compare(echo)).toEqual({ values, remoteValues: {}, applied: {}, drifted: [], untold: [] });
  });

  test("a spelling that has not moved is none", () => {
    const remoteValues = { image: "img-7", publicIp: "203.0.113.7" };
    const seen = compare({ ...echo, image: "img-7", public_ip: "203.0.113.7" }, remoteValues);
    expect(seen).toEqual({ values, remoteValues, applied: {}, drifted: [], untold: [] });
  });

  test.each([
    ["name", "name", "other"],
    ["image", "image", "debian-14"],
    ["flavor", "flavor", "m1.large"],
    ["network", "network", "backend"],
    ["publicIp", "public_ip", "none"],
    ["sshKeys", "ssh_keys", ["ssh-rsa AAAAB4"]],
    ["sshKeys", "ssh_keys", []],
    ["labels", "labels", { team: "ops" }],
    ["labels", "labels", {}],
  ] as const)("%s changed by somebody else becomes the value: %s %j", (name, wire, word) => {
    const seen = compare({ ...echo, [wire]: word });
    expect(seen.drifted).toEqual([name]);
    expect(seen.values[name]).toEqual(word);
  });

  test.each([{}, { publicIp: null }])(
    "an address that comes after the mode is the word for it: %j",
    (remoteValues) => {
      const object = { ...echo, public_ip: "203.0.113.9", ip_address: "203.0.113.9" };
      const known = { values, remoteValues, ipAddress: "203.0.113.9" };
      const seen = compareRemoteValues(instanceFields, known, object);
      expect(seen).toMatchObject({ drifted: [], remoteValues: { publicIp: "203.0.113.9" } });
      expect(seen.values.publicIp).toBe("auto");
    },
  );

  test("an address that comes after the mode is the word for it although the instance has a private one, too", () => {
    const object = { ...echo, public_ip: "203.0.113.9", private_ip: "10.0.0.5" };
    expect(compare(object)).toMatchObject({ drifted: [], remoteValues: { publicIp: "203.0.113.9" } });
  });

  test("an address is drift if the state or the reply has another one", () => {
    const object = { ...echo, public_ip: "203.0.113.9" };
    const known = { values, remoteValues: {}, ipAddress: "203.0.113.1" };
    expect(compareRemoteValues(instanceFields, known, object).drifted).toEqual(["publicIp"]);
    expect(compare({ ...object, ip_address: "203.0.113.1" }).drifted).toEqual(["publicIp"]);
    expect(compare(object, { publicIp: "203.0.113.1" }).drifted).toEqual(["publicIp"]);
  });

  test("another address in place of the one that the program names is drift, also if the mode is still shown", () => {
    const known = { ...values, publicIp: "203.0.113.1" };
    const remoteValues = { publicIp: "auto" };
    const same = compare({ ...echo, ip_address: "203.0.113.1" }, remoteValues, known);
    expect(same).toMatchObject({ drifted: [], remoteValues, values: known });
    const seen = compare({ ...echo, ip_address: "203.0.113.2" }, remoteValues, known);
    expect(seen).toMatchObject({ drifted: ["publicIp"], values: { publicIp: "203.0.113.2" } });
  });

  test("only the labels that somebody has changed are taken over, with the words of the others", () => {
    const known = {
      values: { labels: { team: "Web", size: "3", tier: "A" } },
      remoteValues: { labels: { team: "web", size: "3", tier: "a" } },
    };
    const seen = compareRemoteValues(instanceFields, known, {
      labels: { team: "web", size: "4", tier: "b" },
    });
    expect(seen.values.labels).toEqual({ team: "Web", size: "4", tier: "b" });
    expect(seen.remoteValues.labels).toEqual({ team: "web", size: "4", tier: "b" });
    expect(seen.applied.labels).toMatchObject({ tier: { value: "A", word: "a" } });
    const back = compareRemoteValues(instanceFields, seen, { labels: { team: "web", size: "3", tier: "a" } });
    expect(back.values.labels).toEqual({ team: "Web", size: "3", tier: "A" });
  });

  test("a moved spelling is drift, and is remembered no more", () => {
    const seen = compare({ ...echo, image: "img-8" }, { image: "img-7" });
    expect(seen).toMatchObject({ drifted: ["image"], values: { image: "img-8" }, remoteValues: {} });
  });

  test("the program's own spelling is none, and the service's, which a list may not use, is still known", () => {
    const remoteValues = { image: "img-7" };
    expect(compare(echo, remoteValues)).toEqual({
      values,
      remoteValues,
      applied: {},
      drifted: [],
      untold: [],
    });
  });

  test("a field that the reply does not carry is unknown, not removed", () => {
    expect(compare({ id: "ins-1" }, { image: "img-7" })).toEqual({
      values,
      remoteValues: { image: "img-7" },
      applied: {},
      drifted: [],
      untold: Object.keys(values),
    });
  });

  test.each([[["web", "tier"]], ["team=web"]])(
    "labels of an unknown form are unknown, not removed: %j",
    (labels) => {
      const seen = compare({ ...echo, labels });
      expect(seen).toEqual({ values, remoteValues: {}, applied: {}, drifted: [], untold: ["labels"] });
    },
  );

  test("a field that the reply says is empty is removed", () => {
    const seen = compare({ ...echo, public_ip: null, ssh_keys: null, labels: null });
    expect(seen.drifted).toEqual(["publicIp", "sshKeys", "labels"]);
    expect(seen.values).toMatchObject({ sshKeys: [], labels: {} });
    expect("publicIp" in seen.values).toBe(false);
  });

  test("labels that others add, and fields that the program leaves to the service, are none", () => {
    const { publicIp, sshKeys, ...managed } = values;
    expect([publicIp, sshKeys]).not.toContain(undefined);
    const seen = compare(
      { ...echo, public_ip: "203.0.113.9", labels: { team: "web", owner: "ops" } },
      {},
      managed,
    );
    expect(seen).toMatchObject({ values: managed, remoteValues: {}, drifted: [], untold: [] });
  });

  test("a number and a numeric string are equal, also in labels", () => {
    const known = { ...values, flavor: "4", labels: { size: "3", ratio: "1.0" } };
    const seen = compare({ ...echo, flavor: 4, labels: { size: 3, ratio: 1 } }, {}, known);
    expect(seen).toMatchObject({ values: known, remoteValues: {}, drifted: [], untold: [] });
    expect(compare({ ...echo, flavor: 5 }, {}, known).drifted).toContain("flavor");
    expect(compare({ ...echo, labels: { size: "3 " } }, {}, known).drifted).toContain("labels");
  });

  test("two strings are equal only if they are the same, even if both are numeric", () => {
    expect(
      compare({ ...echo, labels: { team: "1" } }, {}, { ...values, labels: { team: "1.0" } }).drifted,
    ).toEqual(["labels"]);
  });

  test("labels with numbers become labels with strings, and a null is no label", () => {
    const known = { ...values, labels: { size: "3", team: "web" } };
    expect(compare({ ...echo, labels: { size: 4, team: null } }, {}, known).values.labels).toEqual({
      size: "4",
    });
  });

  test("a reference that is shown as an object is its id, whatever else the object tells", () => {
    const shown = { ...echo, network: { id: echo.network, status: "deprecated" } };
    expect(compare(shown)).toMatchObject({ drifted: [] });
    expect(compare({ ...echo, network: { id: "net-2" } }).values.network).toBe("net-2");
  });

  test("the price and the regions of a size with a slug are not the instance's, also if a state has the whole object", () => {
    const size = (slug: string, ...regions: string[]) => ({ name: "Small", slug, regions });
    const former = { flavor: size("s-1", "nyc1") };
    for (const remoteValues of [{ flavor: "s-1" }, former])
      expect(compare({ ...echo, flavor: size("s-1", "nyc1", "fra1") }, remoteValues)).toMatchObject({
        drifted: [],
        values,
      });
    const other = compare({ ...echo, flavor: size("s-2", "nyc1") }, former);
    expect(other).toMatchObject({ drifted: ["flavor"], values: { flavor: "s-2" } });
    expect(compare({ ...echo, flavor: size("s-1", "fra1") }, {}, other.values).drifted).toEqual(["flavor"]);
  });

  test("a refresh takes back drift that a state has because the whole object was compared", () => {
    const shown = (...regions: string[]) => ({ slug: values.flavor, regions });
    const known = {
      values: { flavor: JSON.stringify(shown("nyc1", "fra1")) },
      remoteValues: {},
      applied: { flavor: { value: values.flavor, word: shown("nyc1") } },
    };
    const seen = compareRemoteValues(instanceFields, known, { flavor: shown("nyc1", "fra1") });
    expect(seen).toMatchObject({ values: { flavor: values.flavor }, drifted: [] });
  });

  test("another address in an object without an id is drift", () => {
    const nat = (address: string) => ({ name: "External NAT", address });
    const remoteValues = { publicIp: nat("203.0.113.1") };
    expect(compare({ ...echo, public_ip: nat("203.0.113.1") }, remoteValues).drifted).toEqual([]);
    expect(compare({ ...echo, public_ip: nat("203.0.113.2") }, remoteValues).drifted).toEqual(["publicIp"]);
  });

  test.each<[string, Properties]>([
    ["the id, as an older version has it,", { publicIp: "ip-1" }],
    ["the address", { publicIp: "203.0.113.1" }],
  ])("an object with an id and an address is the same if the state has %s", (_what, remoteValues) => {
    const shown = (id: string, address: string) => ({ ...echo, public_ip: { id, address } });
    expect(compare(shown("ip-1", "203.0.113.1"), remoteValues)).toMatchObject({
      drifted: [],
      values,
      remoteValues,
    });
    const other = compare(shown("ip-2", "203.0.113.2"), remoteValues);
    expect(other).toMatchObject({ drifted: ["publicIp"], values: { publicIp: "203.0.113.2" } });
  });

  test("an object with an id and an address is the id if the program names that", () => {
    const known = { ...values, publicIp: "42" };
    const public_ip = { id: 42, ip: "203.0.113.1" };
    expect(compare({ ...echo, public_ip }, {}, known)).toMatchObject({ drifted: [], remoteValues: {} });
    expect(remoteValuesAfter(instanceFields, known, { public_ip })).toEqual({});
  });

  test("a word of another type is shown as a text", () => {
    expect(compare({ ...echo, flavor: 4 }).values.flavor).toBe("4");
    expect(compare({ ...echo, network: { vlan: 4 } }).values.network).toBe('{"vlan":4}');
  });
});
