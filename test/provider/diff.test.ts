// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Pulumi's name patterns use this syntax

import { describe, expect, test } from "vitest";
import { sameValue } from "../../src/model/changes";
import { instanceFields, instanceKind, projectFields } from "../../src/model/resource-fields";
import type { Properties } from "../../src/model/state";
import { oneInstance } from "./one-instance";
import {
  instanceNews,
  KEY,
  OTHER_KEY,
  projectNews,
  SSH_KEY,
  UNKNOWN_LIST,
  UNKNOWN_MAP,
  UNKNOWN_TEXT,
} from "./samples";
import { changed, errorOf, existingInstance, existingProject, startService } from "./service";
import { check, diff } from "./typed";

const full: Properties = { publicIp: "auto", sshKeys: [SSH_KEY], labels: { team: "web" } };
const before = instanceNews(full);
/** The state beside the inputs: outputs of the service, and what the provider keeps. */
const olds: Properties = {
  ...before,
  status: "running",
  revision: "r7",
  ipAddress: "203.0.113.7",
  __endpoint: "https://api.example.com/v1",
  __words: { publicIp: "203.0.113.7" },
};
const changeTo = (more: Properties) => diff(instanceFields, olds, instanceNews({ ...full, ...more }));
const inPlace = { changes: undefined, replaces: [] };
const nothing = { changes: false, replaces: [] };

describe("an instance", () => {
  test.each([
    ["name", "front"],
    ["flavor", "m1.large"],
    ["network", "backend"],
    ["publicIp", undefined],
    ["publicIp", "203.0.113.9"],
    ["sshKeys", undefined],
    ["sshKeys", [SSH_KEY, "ssh-rsa AAAAB3"]],
    ["labels", undefined],
    ["labels", { team: "shop" }],
    ["labels", { team: "web", tier: "front" }],
  ])("%s becoming %j is made in place", (name, value) => {
    expect(changeTo({ [name]: value })).toMatchObject(inPlace);
  });

  test.each(["project", "image"])("%s is replaced for", (name) => {
    expect(changeTo({ [name]: "other" })).toMatchObject({ changes: undefined, replaces: [name] });
  });

  test("several replacing changes are all named, beside those made in place", () => {
    const { replaces } = changeTo({ project: "prj-2", image: "debian-14", flavor: "m1.large" });
    expect(replaces).toEqual(["project", "image"]);
  });

  test("the same inputs are no change, whatever the service made of them", () => {
    expect(changeTo({})).toMatchObject(nothing);
  });
});

describe("a project", () => {
  test.each(["name", "region"])("%s is replaced for", (name) => {
    const news = projectNews({ [name]: "other" });
    expect(diff(projectFields, projectNews(), news)).toMatchObject({ changes: undefined, replaces: [name] });
  });

  test("the same inputs are no change", () => {
    expect(diff(projectFields, projectNews({ description: "x" }), projectNews())).toMatchObject(nothing);
  });
});

describe("hidden inputs never make a difference", () => {
  test.each([
    ["__key", OTHER_KEY],
    ["__urn", "urn:pulumi:dev::app::x:y:Instance::front"],
    ["__timeouts", { create: "5m" }],
    ["__secrets", ["labels"]],
    ["__provider", "exports.handler=()=>0"],
    ["__import", "ins-1"],
    ["__later", true],
  ])("%s", (name, value) => {
    expect(changeTo({ [name]: value })).toMatchObject(nothing);
  });

  test("nor does their absence from an older state", () => {
    const bare = Object.fromEntries(Object.entries(olds).filter(([key]) => !key.startsWith("__")));
    expect(diff(instanceFields, bare, instanceNews({ ...full, __key: KEY }))).toMatchObject(nothing);
  });
});

describe("SSH keys are a set of types and keys", () => {
  const rsa = "ssh-rsa AAAAB3 bob@example.org";
  const keys = (before: unknown, after: unknown) =>
    diff(instanceFields, instanceNews({ sshKeys: before }), instanceNews({ sshKeys: after }));

  test.each([
    ["their order", [SSH_KEY, rsa], [rsa, SSH_KEY]],
    ["their comments", [rsa], ["ssh-rsa AAAAB3 bob's new laptop"]],
    ["a missing comment", [rsa], ["ssh-rsa AAAAB3"]],
    ["white space", [rsa], [" ssh-rsa  AAAAB3 "]],
    ["one given twice", [rsa], [rsa, "ssh-rsa AAAAB3"]],
  ])("%s makes no difference", (_what, one, other) => {
    expect(keys(one, other)).toMatchObject(nothing);
  });

  test.each([
    ["another key", [rsa], ["ssh-rsa AAAAB4"]],
    ["another type", [rsa], ["ssh-ed25519 AAAAB3"]],
    ["one more", [rsa], [rsa, SSH_KEY]],
    ["one less", [rsa, SSH_KEY], [rsa]],
    ["none any more", [rsa], undefined],
    ["an empty list, which forbids those of others", undefined, []],
    ["no list, which allows them", [], undefined],
  ])("%s does", (_what, one, other) => {
    expect(keys(one, other)).toMatchObject(inPlace);
  });
});

describe("labels", () => {
  test("are compared without regard to order", () => {
    const [one, other] = [
      instanceNews({ labels: { a: "1", b: "2" } }),
      instanceNews({ labels: { b: "2", a: "1" } }),
    ];
    expect(diff(instanceFields, one, other)).toMatchObject(nothing);
  });
});

describe("what is unknown in a preview may differ", () => {
  test.each([
    ["flavor", UNKNOWN_TEXT],
    ["sshKeys", UNKNOWN_LIST],
    ["sshKeys", [UNKNOWN_TEXT]],
    ["labels", UNKNOWN_MAP],
    ["labels", { team: UNKNOWN_TEXT }],
  ])("%s: %j", (name, value) => {
    expect(changeTo({ [name]: value })).toMatchObject(inPlace);
  });

  test("an unknown project may mean a replacement", () => {
    expect(changeTo({ project: UNKNOWN_TEXT }).replaces).toEqual(["project"]);
  });
});

describe("what comes first in a replacement", () => {
  test("the deletion, where the program gave the name: it may have to be unique", () => {
    expect(changeTo({ image: "debian-14" }).deleteBeforeReplace).toBe(true);
    expect(diff(projectFields, projectNews(), projectNews({ region: "us-1" })).deleteBeforeReplace).toBe(
      true,
    );
  });

  test("the creation, where the name is made up: the new one has another", () => {
    expect(changeTo({ image: "debian-14", __autonamed: true }).deleteBeforeReplace).toBe(false);
  });
});

test.each([
  ["has no random part", "${name}", true],
  ["has a random part", "${name}-${hex(5)}", false],
])(
  "an instance whose name pattern %s is deleted first in a replacement: %s",
  async (_, pattern, isDeletedFirst) => {
    const service = await startService();
    const saved = await existingInstance(service, { name: undefined, __autonaming: pattern });
    const news = { ...changed(saved, { image: "debian-14", name: undefined }), __autonaming: pattern };
    const { inputs } = await service.instances.check(saved.inputs, news);
    expect(await service.instances.diff(saved.id, saved.state, inputs)).toMatchObject({
      replaces: ["image"],
      deleteBeforeReplace: isDeletedFirst,
    });
  },
);

test("an instance whose generated name is in `ignoreChanges` is created before the old one is deleted", async () => {
  const service = await startService();
  const saved = await existingInstance(service, { name: undefined });
  // Because of `ignoreChanges`, the engine passes the recorded name.
  const news = { ...changed(saved, { image: "debian-14" }), __ignoreChanges: ["name"] };
  const { inputs } = await service.instances.check(saved.inputs, news);
  expect(await service.instances.diff(saved.id, saved.state, inputs)).toMatchObject({
    replaces: ["image"],
    deleteBeforeReplace: false,
  });
});

test("an instance whose name the program sets is deleted first, even if it was generated before and is in `ignoreChanges`", async () => {
  const { web } = await oneInstance({ behaviour: { uniqueNames: true } });
  await web.up({ name: undefined });
  await web.up({ name: "web" });
  expect(await web.up({ name: "web", image: "debian-14", __ignoreChanges: ["name"] })).toBeUndefined();
  await web.expectOne();
});

describe("SSH keys that differ only in order, comments or options", () => {
  const rsa = "ssh-rsa AAAAB3 bob@example.org";
  const checkedKeys = (before: unknown, after: unknown): unknown =>
    check(instanceKind, instanceNews({ sshKeys: before }), instanceNews({ sshKeys: after })).inputs.sshKeys;

  test("keep their former spelling in the checked inputs, which the engine compares by itself", () => {
    expect(checkedKeys([rsa, SSH_KEY], [SSH_KEY, "no-pty ssh-rsa AAAAB3 alice"])).toEqual([rsa, SSH_KEY]);
  });

  test.each([
    ["a key is added", [rsa], [SSH_KEY, "ssh-rsa AAAAB3"]],
    ["a key is not known yet", [rsa], [UNKNOWN_TEXT]],
    ["there were none", undefined, [rsa]],
    ["the list becomes empty", undefined, []],
  ])("are taken as given if %s", (_what, before, after) => {
    expect(checkedKeys(before, after)).toEqual(after);
  });
});

describe("SSH keys that a service shows by fingerprint", () => {
  const key =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFWc33VJkb4vV6Z2RKOyyGPnWNdSMR4rDm4PJTS6wgK3 ada@example.org";
  /** As `ssh-keygen -l` prints them. */
  const fingerprints = [
    "SHA256:N1/+SY7xGH9b8VyDRgRgUMTbpITSbT5xjpx4iOCWa94",
    "b9:9f:a9:c4:4b:32:0a:df:2e:4c:22:15:53:8a:d8:73",
    "MD5:b9:9f:a9:c4:4b:32:0a:df:2e:4c:22:15:53:8a:d8:73",
  ];
  const sshKeys = instanceFields.find(({ name }) => name === "sshKeys") ?? expect.fail();

  test.each(fingerprints)("are equal to their keys: %s", (fingerprint) => {
    expect(sameValue(sshKeys, [fingerprint], [key])).toBe(true);
    expect(sameValue(sshKeys, [SSH_KEY, key], [key, fingerprint])).toBe(false);
    expect(sameValue(sshKeys, [fingerprint], [SSH_KEY])).toBe(false);
    expect(sameValue(sshKeys, [fingerprint], [])).toBe(false);
  });

  test("are kept in the checked inputs as the program gives them: a request can't carry a fingerprint", () => {
    const [fingerprint = ""] = fingerprints;
    const before = instanceNews({ sshKeys: [fingerprint] });
    expect(check(instanceKind, before, instanceNews({ sshKeys: [key] })).inputs.sshKeys).toEqual([key]);
  });
});

test("the name of an image can be replaced with its id from the state, which the next update sends", async () => {
  const { service, web } = await oneInstance({ behaviour: { normalize: ["ids"] } });
  await web.up();
  const { id, state } = web.inState();
  const { image } = state.__words as Record<string, string>;
  service.emulator.clearRequests();
  expect(await web.up({ image })).toBeUndefined();
  expect(service.emulator.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  await web.refresh();
  expect(await web.up({ image, flavor: "m1.large" })).toBeUndefined();
  expect(web.inState()).toMatchObject({ id, state: { image, flavor: "m1.large" } });
  const [update] = service.emulator.requests.filter(({ method }) => method === "PUT");
  expect(JSON.parse(update?.body ?? "")).toMatchObject({ image });
});

test("a region can be replaced with its form in replies", async () => {
  const service = await startService({ behaviour: { normalize: ["upper-case"] } });
  const saved = await existingProject(service, { region: "eu-1" });
  const { inputs } = await service.projects.check(saved.inputs, changed(saved, { region: "EU-1" }));
  expect(await service.projects.diff(saved.id, saved.state, inputs)).toMatchObject({ replaces: [] });
  const secret = changed(saved, { region: "EU-1", __secrets: ["region"] });
  const marked = await service.projects.check(saved.inputs, secret);
  expect(await service.projects.diff(saved.id, saved.state, marked.inputs)).toMatchObject({ changes: true });
  expect(await errorOf(service.projects.update(saved.id, saved.state, marked.inputs))).toBeUndefined();
  const other = await service.projects.check(saved.inputs, changed(saved, { region: "EU-2" }));
  expect(await service.projects.diff(saved.id, saved.state, other.inputs)).toMatchObject({
    replaces: ["region"],
  });
});
