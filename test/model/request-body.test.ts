import { describe, expect, test } from "vitest";
import { creationBody, updateBody } from "../../src/model/request-body";
import { instanceFields, projectFields } from "../../src/model/resource-fields";
import { type Properties, parseDesired, parseRecorded } from "../../src/model/state";
import { instanceNews, projectNews, SSH_KEY } from "../provider/samples";

/**
 * A resent POST must have exactly the body of the first one, even if a later version resends it on another
 * machine: these strings never change.
 */
describe("the body of a creation request never changes:", () => {
  test("a project", () => {
    expect(creationBody(projectFields, projectNews())).toBe('{"name":"shop","region":"eu-1"}');
  });

  test("an instance with the required properties", () => {
    expect(creationBody(instanceFields, instanceNews())).toBe(
      '{"project":"prj-1","name":"web","image":"debian-13","flavor":"m1.small","network":"default"}',
    );
  });

  test("an instance with all properties", () => {
    const labels = { zone: "a", team: "web", Tier: "front", "10": "x", "9": "y" };
    const news = instanceNews({ publicIp: "auto", sshKeys: [SSH_KEY, "ssh-rsa AAAAB3 bob"], labels });
    expect(creationBody(instanceFields, news)).toBe(
      '{"project":"prj-1","name":"web","image":"debian-13","flavor":"m1.small","network":"default",' +
        '"public_ip":"auto","ssh_keys":["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0vy ada@example.org",' +
        '"ssh-rsa AAAAB3 bob"],"labels":{"9":"y","10":"x","Tier":"front","team":"web","zone":"a"}}',
    );
  });
});

test("the body doesn't depend on the order of inputs and labels", () => {
  const news = instanceNews({ publicIp: "auto", labels: { b: "2", a: "1" } });
  const other = Object.fromEntries(Object.entries({ ...news, labels: { a: "1", b: "2" } }).reverse());
  expect(creationBody(instanceFields, other)).toBe(creationBody(instanceFields, news));
});

test("the body has labels only if they are set", () => {
  expect(creationBody(instanceFields, instanceNews())).not.toContain("labels");
  expect(creationBody(instanceFields, instanceNews({ labels: {} }))).toContain('"labels":{}');
});

test.each(["constructor", "prototype", "toString"])(
  "the body has a label whose key is the name of a built-in property: %s",
  (key) => {
    const body = creationBody(instanceFields, instanceNews({ labels: { [key]: "x" } }));
    expect(JSON.parse(body).labels).toEqual({ [key]: "x" });
  },
);

test("the body has no hidden inputs and no outputs", () => {
  const news = instanceNews({ status: "running", revision: "r1", __later: "x" });
  expect(creationBody(instanceFields, news)).toBe(creationBody(instanceFields, instanceNews()));
});

/** The object as it stands, with more than the program manages. */
const current: Properties = {
  id: "ins-1",
  project: "prj-1",
  name: "web",
  image: "debian-13",
  flavor: "m1.small",
  network: "default",
  public_ip: "203.0.113.7",
  ssh_keys: ["ssh-rsa AAAAB3 others"],
  labels: { owner: "ops", team: "web" },
  status: "running",
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-02T00:00:00Z",
  url: "https://api.example.com/v1/instances/ins-1",
  ip_address: "203.0.113.7",
  revision: "r7",
};
const textOf = (olds: Properties, news: Properties, current: Properties, ignored: string[] = []): string =>
  updateBody(instanceFields, { olds: parseRecorded(olds), news: parseDesired(news), current, ignored });
const bodyOf = (olds: Properties, news: Properties, object = current): Properties =>
  JSON.parse(textOf(instanceNews(olds), instanceNews(news), object));

test("the body of an update has every field of a creation request and no read-only fields", () => {
  const all = { publicIp: "auto", sshKeys: [], labels: { team: "web" } };
  expect(Object.keys(bodyOf(all, { ...all, flavor: "m1.large" }))).toEqual([
    ...["project", "name", "image", "flavor", "network", "public_ip", "ssh_keys", "labels"],
  ]);
});

test("the body of an update takes unmanaged fields from the object, so that a full replacement keeps them", () => {
  expect(bodyOf({}, { flavor: "m1.large" })).toEqual({
    project: "prj-1",
    name: "web",
    image: "debian-13",
    flavor: "m1.large",
    network: "default",
    public_ip: "203.0.113.7",
    ssh_keys: ["ssh-rsa AAAAB3 others"],
    labels: { owner: "ops", team: "web" },
  });
});

test("the body of an update has the program's values of managed properties, not the normalized ones", () => {
  const object = { ...current, image: "img-7" };
  expect(bodyOf({ publicIp: "auto" }, { publicIp: "auto", flavor: "m1.large" }, object)).toMatchObject({
    image: "debian-13",
    public_ip: "auto",
  });
});

describe("labels", () => {
  const labels = (olds: unknown, news: unknown, object = current) =>
    bodyOf({ labels: olds }, { labels: news }, object).labels;

  test("that are ignored are kept, even if the object doesn't have them", () => {
    const own = instanceNews({ labels: { team: "shop", tier: "a", "cost-center": "b" } });
    const body = textOf(own, own, current, ["labels.team", "labels.cost-center"]);
    expect(JSON.parse(body).labels).toEqual({ owner: "ops", team: "web", tier: "a" });
  });

  test("of others are kept", () => {
    expect(labels({ team: "web" }, { team: "shop" })).toEqual({ owner: "ops", team: "shop" });
  });

  test.each(["constructor", "toString", "valueOf"])("of others are kept, even with the key %s", (key) => {
    const object = { labels: { [key]: "theirs" } };
    expect(labels({ a: "1" }, { a: "2" }, object)).toEqual({ a: "2", [key]: "theirs" });
  });

  test("that the program stops setting are removed, and only those", () => {
    expect(labels({ team: "web", tier: "a" }, { tier: "b" })).toEqual({ owner: "ops", tier: "b" });
  });

  test("are reduced to the unmanaged ones if the argument is removed", () => {
    expect(labels({ team: "web" }, undefined)).toEqual({ owner: "ops" });
    expect(labels({ owner: "ops", team: "web" }, undefined)).toEqual({});
  });

  test("that the service shows in lower case are replaced and removed, unless they are also the program's or ignored", () => {
    const object = { ...current, labels: { team: "web", owner: "ops" } };
    expect(labels({ Team: "web" }, { Team: "api" }, object)).toEqual({ Team: "api", owner: "ops" });
    expect(labels({ Team: "web" }, {}, object)).toEqual({ owner: "ops" });
    expect(labels({ Team: "a", team: "web" }, { team: "web" }, object)).toEqual(object.labels);
    const own = instanceNews({ labels: { Team: "web" } });
    const body = textOf(own, own, object, ["labels.Team"]);
    expect(JSON.parse(body).labels).toEqual(object.labels);
  });

  test("of others that differ in case from the program's are kept", () => {
    const object = { ...current, labels: { Team: "web", team: "theirs" } };
    expect(labels({ Team: "web" }, { Team: "api" }, object)).toEqual({ Team: "api", team: "theirs" });
  });

  test("of others that differ in case from the program's are kept if the object has another key with its capital letters", () => {
    const object = { ...current, labels: { Owner: "ops", team: "theirs" } };
    expect(labels({ Owner: "ops", Team: "web" }, { Owner: "ops" }, object)).toEqual(object.labels);
  });

  test("that somebody else had already set become the program's", () => {
    expect(labels(undefined, { owner: "dev" })).toEqual({ owner: "dev", team: "web" });
  });
});

describe("labels of an unknown form", () => {
  const object = { ...current, labels: ["web", "ops"] };
  const own = { labels: { team: "web" } };

  test.each<[string, Properties, Properties, string[]]>([
    ["sets no labels", {}, { flavor: "m1.large" }, []],
    ["ignores all labels", own, own, ["labels"]],
    ["ignores one label", own, own, ["labels.team"]],
    ["stops setting labels", own, {}, []],
  ])("cause an error if the program %s", (_what, olds, news, ignored) => {
    const send = (): string => textOf(instanceNews(olds), instanceNews(news), object, ignored);
    expect(send).toThrow("returned labels in an unknown format");
  });
});

describe("labels that the service shows as null", () => {
  const object = { ...current, labels: { owner: "ops", old: null } };

  test.each<[string, Properties, Properties, string[]]>([
    ["sets no labels", {}, { flavor: "m1.large" }, []],
    ["sets labels", { labels: {} }, { labels: {} }, []],
    ["ignores labels", { labels: { old: "x" } }, { labels: { old: "x" } }, ["labels"]],
    ["ignores this label", { labels: { old: "x" } }, { labels: { old: "x" } }, ["labels.old"]],
  ])("are omitted if the program %s", (_what, olds, news, ignored) => {
    const body = textOf(instanceNews(olds), instanceNews(news), object, ignored);
    expect(JSON.parse(body).labels).toEqual({ owner: "ops" });
  });
});

describe("a property in ignoreChanges", () => {
  const own = instanceNews({ publicIp: "auto", sshKeys: ["ssh-rsa AAAAB3 own"], labels: { team: "web" } });
  const ignoring = (ignored: string[], object: Properties, olds = own): Properties =>
    JSON.parse(textOf(olds, own, object, ignored));

  const shown = (value: unknown): Properties => ({
    ...current,
    public_ip: value,
    ssh_keys: value,
    labels: value,
  });

  test("isn't restored if the service shows that somebody has removed it", () => {
    const object = { ...shown(null), ip_address: null };
    const body = ignoring(["publicIp", "sshKeys", "labels"], object);
    expect(Object.keys(body)).toEqual(["project", "name", "image", "flavor", "network"]);
  });

  test.each([[["publicIp", "sshKeys", "labels"]], [["publicIp", "sshKeys", "labels.team"]]])(
    "is sent as the state has it if the service doesn't show it: %j",
    (ignored) => {
      const { publicIp: public_ip, sshKeys: ssh_keys, labels } = own;
      expect(ignoring(ignored, shown(undefined))).toMatchObject({ public_ip, ssh_keys, labels });
    },
  );

  test.each([
    ["id", { id: "flv-1", name: "m1.large" }],
    ["slug", { slug: "flv-1", name: "Small", regions: ["nyc1"] }],
    ["name", { name: "flv-1", href: "/flavors/1" }],
    ["original name", { original_name: "flv-1", vcpus: 1 }],
  ])("is sent back by its %s if it is shown as an object", (_member, flavor) => {
    expect(ignoring(["flavor"], { ...current, flavor }).flavor).toBe("flv-1");
  });

  test.each<[string, Properties]>([
    ["somebody else has set it", { flavor: "m1.small" }],
    ["a refresh has taken it over", { flavor: '{"vcpus":2,"ram":8192}' }],
  ])("is an error if it is shown as an object without an id or a name: %s", (_what, olds) => {
    const object = { ...current, flavor: { vcpus: 2, ram: 8192 } };
    expect(() => ignoring(["flavor"], object, { ...own, ...olds })).toThrow(
      "the service returned flavor in a format that an update can't send back",
    );
  });

  test("is an error if it was shown as an object without an id or a name, and isn't shown now", () => {
    const flavor = '{"vcpus":2,"ram":8192}';
    const send = (): string => textOf(own, { ...own, flavor }, { ...current, flavor: undefined }, ["flavor"]);
    expect(send).toThrow("flavor");
  });

  test("is sent as the state has it if it is shown as the same object without an id or a name that the state has", () => {
    const flavor = { vcpus: 1, ram: 2048 };
    const olds = { ...own, __words: { flavor } };
    expect(ignoring(["flavor"], { ...current, flavor }, olds).flavor).toBe(own.flavor);
  });

  test("is sent back as a string if its id is a number", () => {
    expect(ignoring(["flavor"], { ...current, flavor: { id: 42 } }).flavor).toBe("42");
  });

  test("is sent as the state has it if only the data of its size have changed", () => {
    const size = (...regions: string[]) => ({ slug: "flv-1", regions });
    const olds = { ...own, __words: { flavor: size("nyc1") } };
    const object = { ...current, flavor: size("nyc1", "fra1") };
    expect(ignoring(["flavor"], object, olds).flavor).toBe(own.flavor);
  });

  test("is sent as the state has it if it is SSH keys that are shown as the state's fingerprints", () => {
    const object = { ...current, ssh_keys: ["SHA256:own"] };
    const olds = { ...own, __words: { sshKeys: ["SHA256:own"] } };
    expect(ignoring(["sshKeys"], object, olds).ssh_keys).toEqual(["ssh-rsa AAAAB3 own"]);
    const moved = { ...current, ssh_keys: ["SHA256:other"] };
    expect(() => ignoring(["sshKeys"], moved, olds)).toThrow("sshKeys");
  });

  test.each<[string, Properties, Properties, Properties]>([
    ["null for an address mode", { public_ip: null }, { publicIp: null }, { public_ip: "auto" }],
    ["an address", { public_ip: "203.0.113.7" }, { publicIp: "203.0.113.7" }, { public_ip: "auto" }],
    ["keys without comments", { ssh_keys: ["ssh-rsa AAAAB3"] }, {}, { ssh_keys: ["ssh-rsa AAAAB3 own"] }],
    ["null for the image", { image: null }, {}, { image: "debian-13" }],
  ])("is sent as the state has it if it is shown as in the state: %s", (_what, seen, __words, sent) => {
    const all = ["image", "publicIp", "sshKeys"];
    expect(ignoring(all, { ...current, ...seen }, { ...own, __words })).toMatchObject(sent);
  });

  test.each([null, "auto"])(
    "is the address that the service shows beside %j, even if somebody else has set it",
    (public_ip) => {
      const olds = { ...own, publicIp: "203.0.113.200" };
      const moved = { ...current, public_ip, ip_address: "203.0.113.201" };
      expect(ignoring(["publicIp"], moved, olds).public_ip).toBe("203.0.113.201");
      const refreshed = { ...own, publicIp: "203.0.113.201", __words: { publicIp: public_ip } };
      expect(ignoring(["publicIp"], moved, refreshed).public_ip).toBe("203.0.113.201");
    },
  );

  test("is the address that somebody else has set beside null in place of an unspecified mode", () => {
    const olds = { ...own, publicIp: "private", __words: { publicIp: null } };
    const object = { ...current, public_ip: null };
    expect(ignoring(["publicIp"], object, olds).public_ip).toBe("203.0.113.7");
    const recorded = { ...olds, ipAddress: "203.0.113.7" };
    expect(ignoring(["publicIp"], object, recorded).public_ip).toBe("private");
    const marked = { ...recorded, __applied: { publicIp: { value: "private", word: null } } };
    expect(ignoring(["publicIp"], object, marked).public_ip).toBe("203.0.113.7");
  });

  test("is an error if it is one of the SSH keys, and the program's list has its fingerprint in its place", () => {
    const olds = { ...own, sshKeys: ["SHA256:theirs", "ssh-rsa AAAAB3 own"] };
    const news = { ...own, sshKeys: ["SHA256:theirs", "ssh-rsa AAAAB3 next"] };
    const send = (): string => textOf(olds, news, current, ["sshKeys[0]"]);
    expect(send).toThrow("sshKeys");
  });

  test("is an error if the state has only the fingerprints of SSH keys that are shown: a request can't carry them", () => {
    const ssh_keys = ["SHA256:others"];
    const olds = { ...own, sshKeys: ssh_keys };
    expect(() => ignoring(["sshKeys"], { ...current, ssh_keys }, olds)).toThrow("sshKeys");
  });
});

test.each([[["SHA256:others"]], [[{ id: "key-1", fingerprint: "SHA256:others" }]]])(
  "fingerprints of keys that the program doesn't set are an error, because they are no keys: %j",
  (ssh_keys) => {
    expect(() => bodyOf({}, { flavor: "m1.large" }, { ...current, ssh_keys })).toThrow(
      "in a format that an update can't send back",
    );
  },
);

test.each<[unknown, string]>([
  [{ id: 42, ip: "203.0.113.7" }, "203.0.113.7"],
  [{ id: 42, type: "elastic" }, "42"],
])(
  "a public address that is shown as %j and that the program doesn't set is sent back as a string",
  (public_ip, sent) => {
    expect(bodyOf({}, { flavor: "m1.large" }, { ...current, public_ip }).public_ip).toBe(sent);
  },
);

test("an unchanged argument is sent as the program has it, because the service may not accept the normalized value", () => {
  const shown = { ...current, image: "img-1", public_ip: "203.0.113.7" };
  const __words = { image: "img-1", publicIp: "203.0.113.7" };
  expect(bodyOf({ publicIp: "auto", __words }, { publicIp: "auto" }, shown)).toMatchObject({
    image: "debian-13",
    public_ip: "auto",
  });
});

describe("an argument that is removed from the program", () => {
  test("is sent as an empty list if it is sshKeys", () => {
    expect(bodyOf({ sshKeys: ["ssh-rsa AAAAB3"] }, {}).ssh_keys).toEqual([]);
  });

  test("is omitted if it is publicIp", () => {
    expect("public_ip" in bodyOf({ publicIp: "auto" }, {})).toBe(false);
  });
});

test.each([null, "10.0.0.5"])(
  "an empty field of the object is omitted, not sent as null, if ip_address is %j",
  (ip_address) => {
    expect("public_ip" in bodyOf({}, {}, { ...current, public_ip: null, ip_address })).toBe(false);
  },
);

test.each([null, true])("an unmanaged public address is sent back if public_ip is %j", (public_ip) => {
  expect(bodyOf({}, { flavor: "m1.large" }, { ...current, public_ip }).public_ip).toBe("203.0.113.7");
});

test("an unmanaged public_ip that is false is omitted, because a request contains no booleans", () => {
  const object = { ...current, public_ip: false, ip_address: null };
  expect("public_ip" in bodyOf({}, { flavor: "m1.large" }, object)).toBe(false);
});

test("an unmanaged public_ip that is true is an error if the object has no public address", () => {
  const object = { ...current, public_ip: true, ip_address: null };
  expect(() => bodyOf({}, { flavor: "m1.large" }, object)).toThrow(
    "the service returned publicIp in a format that an update can't send back",
  );
});

test("unmanaged labels are sent as strings, because a request contains no other values", () => {
  const object = { ...current, labels: { team: "web", spot: true, weight: 1.5, gone: null } };
  const labels = { spot: "true", weight: "1.5" };
  expect(bodyOf({ labels: { team: "web" } }, { labels: { team: "ops" } }, object).labels).toEqual({
    team: "ops",
    ...labels,
  });
  expect(bodyOf({}, { flavor: "m1.large" }, object).labels).toEqual({ team: "web", ...labels });
});
