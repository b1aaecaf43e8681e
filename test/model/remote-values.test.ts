import { describe, expect, test } from "vitest";
import { compareRemoteValues } from "../../src/model/drift";
import { remoteValuesAfter, toProgramValue } from "../../src/model/remote-values";
import { type Arguments, instanceFields } from "../../src/model/resource-fields";
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

describe("the remote values that the state records after an update", () => {
  const remembered = (object: Properties) => remoteValuesAfter(instanceFields, values, object);

  test("are omitted if the service returns the program's values", () => {
    expect(remembered(echo)).toEqual({});
  });

  test("contain the values that the service has normalized", () => {
    const own = { ...echo, image: "img-7", public_ip: "203.0.113.7" };
    expect(remembered(own)).toEqual({ image: "img-7", publicIp: "203.0.113.7" });
  });

  test("omit another order or comment of SSH keys, and unmanaged labels", () => {
    const own = { ...echo, ssh_keys: ["ssh-rsa AAAAB3"], labels: { team: "web", owner: "ops" } };
    expect(remembered(own)).toEqual({});
  });

  test("omit a field that the reply omits", () => {
    expect(remembered({ id: "ins-1", flavor: "m1.small" })).toEqual({});
  });

  test("omit unmanaged fields", () => {
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

describe("the comparison with the remote values", () => {
  const compare = (object: Properties, remoteValues: Properties = {}, known: Arguments = values) =>
    compareRemoteValues(instanceFields, { values: known, remoteValues }, object);

  test("reports no drift of an unchanged object, and keeps the program's values", () => {
    expect(compare(echo)).toEqual({ values, remoteValues: {}, applied: {}, drifted: [], omitted: [] });
  });

  test("reports no drift of an unchanged normalized value", () => {
    const remoteValues = { image: "img-7", publicIp: "203.0.113.7" };
    const seen = compare({ ...echo, image: "img-7", public_ip: "203.0.113.7" }, remoteValues);
    expect(seen).toEqual({ values, remoteValues, applied: {}, drifted: [], omitted: [] });
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
  ] as const)("reports drift of %s if somebody else changes %s to %j", (name, wire, word) => {
    const seen = compare({ ...echo, [wire]: word });
    expect(seen.drifted).toEqual([name]);
    expect(seen.values[name]).toEqual(word);
  });

  test.each([{}, { publicIp: null }])(
    "records an address that the service assigns later as the remote value of the mode, after %j",
    (remoteValues) => {
      const object = { ...echo, public_ip: "203.0.113.9", ip_address: "203.0.113.9" };
      const known = { values, remoteValues, ipAddress: "203.0.113.9" };
      const seen = compareRemoteValues(instanceFields, known, object);
      expect(seen).toMatchObject({ drifted: [], remoteValues: { publicIp: "203.0.113.9" } });
      expect(seen.values.publicIp).toBe("auto");
    },
  );

  test("records an address that the service assigns later, even if the instance also has a private one", () => {
    const object = { ...echo, public_ip: "203.0.113.9", private_ip: "10.0.0.5" };
    expect(compare(object)).toMatchObject({ drifted: [], remoteValues: { publicIp: "203.0.113.9" } });
  });

  test("reports drift of an address if the state or the reply has another one", () => {
    const object = { ...echo, public_ip: "203.0.113.9" };
    const known = { values, remoteValues: {}, ipAddress: "203.0.113.1" };
    expect(compareRemoteValues(instanceFields, known, object).drifted).toEqual(["publicIp"]);
    expect(compare({ ...object, ip_address: "203.0.113.1" }).drifted).toEqual(["publicIp"]);
    expect(compare(object, { publicIp: "203.0.113.1" }).drifted).toEqual(["publicIp"]);
  });

  describe.each([
    ["in place of", { public_ip: "203.0.113.9" }],
    ["beside null for", { public_ip: null, ip_address: "203.0.113.9" }],
  ])("compares an address %s an unspecified mode with the address in the state:", (_place, shown) => {
    const known = { values: { publicIp: "private" }, remoteValues: { publicIp: null } };
    const drift = (more: Properties): readonly string[] =>
      compareRemoteValues(instanceFields, { ...known, ...more }, { ...echo, ...shown }).drifted;

    test.each([undefined, "203.0.113.1"])("reports drift from %s", (ipAddress) => {
      expect(drift({ ipAddress })).toEqual(["publicIp"]);
    });

    test("reports no drift if the state has the address, unless somebody else has set it", () => {
      const ipAddress = "203.0.113.9";
      expect(drift({ ipAddress })).toEqual([]);
      expect(drift({ ipAddress, applied: { publicIp: { value: "private" } } })).toEqual(["publicIp"]);
    });
  });

  test("reports drift if the address differs from the program's, even if the reply still contains the mode", () => {
    const known = { ...values, publicIp: "203.0.113.1" };
    const remoteValues = { publicIp: "auto" };
    const same = compare({ ...echo, ip_address: "203.0.113.1" }, remoteValues, known);
    expect(same).toMatchObject({ drifted: [], remoteValues, values: known });
    const seen = compare({ ...echo, ip_address: "203.0.113.2" }, remoteValues, known);
    expect(seen).toMatchObject({ drifted: ["publicIp"], values: { publicIp: "203.0.113.2" } });
  });

  test("changes only the labels that drifted, and keeps the remote values of the others", () => {
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

  test("reports drift if a normalized value changes, and no longer records it", () => {
    const seen = compare({ ...echo, image: "img-8" }, { image: "img-7" });
    expect(seen).toMatchObject({ drifted: ["image"], values: { image: "img-8" }, remoteValues: {} });
  });

  test("reports no drift if the reply contains the program's value, and keeps the normalized value", () => {
    const remoteValues = { image: "img-7" };
    expect(compare(echo, remoteValues)).toEqual({
      values,
      remoteValues,
      applied: {},
      drifted: [],
      omitted: [],
    });
  });

  test("treats a field that the reply omits as unknown, not as removed", () => {
    expect(compare({ id: "ins-1" }, { image: "img-7" })).toEqual({
      values,
      remoteValues: { image: "img-7" },
      applied: {},
      drifted: [],
      omitted: Object.keys(values),
    });
  });

  test.each([[["web", "tier"]], ["team=web"]])(
    "treats labels of an unknown form as unknown, not as removed: %j",
    (labels) => {
      const seen = compare({ ...echo, labels });
      expect(seen).toEqual({ values, remoteValues: {}, applied: {}, drifted: [], omitted: ["labels"] });
    },
  );

  test("treats a null field as removed", () => {
    const seen = compare({ ...echo, public_ip: null, ssh_keys: null, labels: null });
    expect(seen.drifted).toEqual(["publicIp", "sshKeys", "labels"]);
    expect(seen.values).toMatchObject({ sshKeys: [], labels: {} });
    expect("publicIp" in seen.values).toBe(false);
  });

  test("reports no drift of unmanaged labels and fields", () => {
    const { publicIp, sshKeys, ...managed } = values;
    expect([publicIp, sshKeys]).not.toContain(undefined);
    const seen = compare(
      { ...echo, public_ip: "203.0.113.9", labels: { team: "web", owner: "ops" } },
      {},
      managed,
    );
    expect(seen).toMatchObject({ values: managed, remoteValues: {}, drifted: [], omitted: [] });
  });

  test("treats a number and the same numeric string as equal, also in labels", () => {
    const known = { ...values, flavor: "4", labels: { size: "3", ratio: "1.0" } };
    const seen = compare({ ...echo, flavor: 4, labels: { size: 3, ratio: 1 } }, {}, known);
    expect(seen).toMatchObject({ values: known, remoteValues: {}, drifted: [], omitted: [] });
    expect(compare({ ...echo, flavor: 5 }, {}, known).drifted).toContain("flavor");
    expect(compare({ ...echo, labels: { size: "3 " } }, {}, known).drifted).toContain("labels");
  });

  test("treats a boolean and the same string as equal", () => {
    const known = { ...values, labels: { spot: "true", old: "false" } };
    const seen = compare({ ...echo, labels: { spot: true, old: false } }, {}, known);
    expect(seen).toMatchObject({ values: known, remoteValues: {}, drifted: [], omitted: [] });
    expect(compare({ ...echo, labels: { spot: true, old: true } }, {}, known).drifted).toEqual(["labels"]);
  });

  test.each([
    ["auto", true, "auto"],
    ["none", false, "none"],
    ["none", true, "true"],
  ])(
    "compares whether the object has an address, if publicIp is %j and the service returns %j",
    (publicIp, public_ip, value) => {
      const seen = compare({ ...echo, public_ip }, { publicIp: null }, { ...values, publicIp });
      expect(seen.values.publicIp).toBe(value);
    },
  );

  test("reports drift if false takes the place of the mode of the public address", () => {
    expect(compare({ ...echo, public_ip: false })).toMatchObject({ drifted: ["publicIp"] });
  });

  test("treats different numeric strings as different", () => {
    expect(
      compare({ ...echo, labels: { team: "1" } }, {}, { ...values, labels: { team: "1.0" } }).drifted,
    ).toEqual(["labels"]);
  });

  test("converts numbers in labels to strings, and omits null labels", () => {
    const known = { ...values, labels: { size: "3", team: "web" } };
    expect(compare({ ...echo, labels: { size: 4, team: null } }, {}, known).values.labels).toEqual({
      size: "4",
    });
  });

  test("compares only the id of a reference that is shown as an object", () => {
    const shown = { ...echo, network: { id: echo.network, status: "deprecated" } };
    expect(compare(shown)).toMatchObject({ drifted: [] });
    expect(compare({ ...echo, network: { id: "net-2" } }).values.network).toBe("net-2");
  });

  test.each([
    { id: "flv-7", name: "m1.small" },
    { id: 7, slug: "m1.small", name: "Small" },
    { uuid: "8a1c", original_name: "m1.small" },
    "/v1/flavors/m1.small",
    "https://api.example.com/v1/flavors/m1.small",
  ])(
    "reports no drift if a reference that contains the program's value takes the place of that value: %j",
    (flavor) => {
      expect(compare({ ...echo, flavor })).toMatchObject({ drifted: [], values, remoteValues: {} });
    },
  );

  test.each([{ id: "flv-7" }, { name: "Small", slug: "flv-7" }, "/v1/flavors/flv-7", "m1.small"])(
    "reports no drift if a reference that contains the recorded id takes the place of that id: %j",
    (flavor) => {
      const remoteValues = { flavor: "flv-7" };
      expect(compare({ ...echo, flavor }, remoteValues)).toMatchObject({ drifted: [], values, remoteValues });
    },
  );

  test.each([
    [{ id: "flv-8", name: "m1.large" }, "flv-8"],
    ["/v1/flavors/not-m1.small", "/v1/flavors/not-m1.small"],
    ["custom/m1.small", "custom/m1.small"],
  ])("reports drift if a reference contains another value: %j", (flavor, value) => {
    const seen = compare({ ...echo, flavor }, { flavor: "flv-7" });
    expect(seen).toMatchObject({ drifted: ["flavor"], values: { flavor: value } });
  });

  test("ignores the price and the regions of a size with a slug, even if the state has the whole object", () => {
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

  test("reverts drift that an older version recorded because it compared the whole object", () => {
    const shown = (...regions: string[]) => ({ slug: values.flavor, regions });
    const known = {
      values: { flavor: JSON.stringify(shown("nyc1", "fra1")) },
      remoteValues: {},
      applied: { flavor: { value: values.flavor, word: shown("nyc1") } },
    };
    const seen = compareRemoteValues(instanceFields, known, { flavor: shown("nyc1", "fra1") });
    expect(seen).toMatchObject({ values: { flavor: values.flavor }, drifted: ["flavor"] });
  });

  test("reports drift if the address in an object without an id changes", () => {
    const nat = (address: string) => ({ name: "External NAT", address });
    const remoteValues = { publicIp: nat("203.0.113.1") };
    expect(compare({ ...echo, public_ip: nat("203.0.113.1") }, remoteValues).drifted).toEqual([]);
    expect(compare({ ...echo, public_ip: nat("203.0.113.2") }, remoteValues).drifted).toEqual(["publicIp"]);
  });

  test.each<[string, Properties]>([
    ["the id, as an older version has it,", { publicIp: "ip-1" }],
    ["the address", { publicIp: "203.0.113.1" }],
  ])("accepts an object with an id and an address if the state has %s", (_what, remoteValues) => {
    const shown = (id: string, address: string) => ({ ...echo, public_ip: { id, address } });
    expect(compare(shown("ip-1", "203.0.113.1"), remoteValues)).toMatchObject({
      drifted: [],
      values,
      remoteValues,
    });
    const other = compare(shown("ip-2", "203.0.113.2"), remoteValues);
    expect(other).toMatchObject({ drifted: ["publicIp"], values: { publicIp: "203.0.113.2" } });
  });

  test("compares the id of an object with an id and an address if the program sets the id", () => {
    const known = { ...values, publicIp: "42" };
    const public_ip = { id: 42, ip: "203.0.113.1" };
    expect(compare({ ...echo, public_ip }, {}, known)).toMatchObject({ drifted: [], remoteValues: {} });
    expect(remoteValuesAfter(instanceFields, known, { public_ip })).toEqual({});
  });

  test("ignores an address that isn't a string", () => {
    const public_ip = { id: "ip-1", address: { toString: 1 } };
    expect(compare({ ...echo, public_ip }, { publicIp: "ip-1" }).drifted).toEqual([]);
  });

  test("converts a value of another type to a string", () => {
    expect(compare({ ...echo, flavor: 4 }).values.flavor).toBe("4");
    expect(compare({ ...echo, network: { vlan: 4 } }).values.network).toBe('{"vlan":4}');
  });

  test("reports no drift if the service returns null for an accepted value from the start", () => {
    const values = { publicIp: "auto" };
    const object = { public_ip: null, ip_address: "203.0.113.7" };
    const remoteValues = remoteValuesAfter(instanceFields, values, object);
    expect(compare(object, remoteValues, values)).toMatchObject({ values, drifted: [] });
  });

  test("treats null as unknown if only a replacement can change the property", () => {
    const values = { image: "debian-13", project: "prj-1" };
    const seen = compare({ image: null, project: null }, {}, values);
    expect(seen).toMatchObject({ values, drifted: [], omitted: ["project", "image"] });
  });
});
