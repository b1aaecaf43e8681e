import { describe, expect, test } from "vitest";
import { instanceKind, projectKind } from "../../src/model/resource-fields";
import type { Properties } from "../../src/model/state";
import { instanceNews, projectNews, SSH_KEY, UNKNOWN_LIST, UNKNOWN_MAP, UNKNOWN_TEXT } from "./samples";
import { check } from "./typed";

const reasons = (news: Properties): string[] =>
  check(instanceKind, {}, news).failures.map(({ reason }) => reason);
const withArgument = (name: string, value: unknown): string[] => reasons(instanceNews({ [name]: value }));

describe("required arguments", () => {
  test.each(["project", "image", "flavor", "network"])("%s of an instance", (name) => {
    expect(withArgument(name, undefined)).toEqual([`${name}: is required`]);
  });

  test("region of a project", () => {
    const { region, ...news } = projectNews();
    expect(region).toBe("eu-1");
    expect(check(projectKind, {}, news).failures).toEqual([{ property: "", reason: "region: is required" }]);
  });

  test("all that are missing are told at once", () => {
    expect(reasons({ __key: "k" })).toEqual([
      "project: is required",
      "image: is required",
      "flavor: is required",
      "network: is required",
    ]);
  });

  test("nothing else is required", () => {
    expect(reasons(instanceNews({ name: undefined }))).toEqual([]);
  });
});

describe("types", () => {
  test.each([
    ["flavor", 4, "flavor: must be a string, but is a number"],
    ["flavor", true, "flavor: must be a string, but is a boolean"],
    ["flavor", null, "flavor: must be a string, but is null"],
    ["flavor", ["m1.small"], "flavor: must be a string, but is a list"],
    ["name", { first: "web" }, "name: must be a string, but is a map"],
    ["publicIp", false, "publicIp: must be a string, but is a boolean"],
    ["network", "", "network: must not be empty"],
    ["network", "  ", "network: must not be empty"],
    ["sshKeys", SSH_KEY, "sshKeys: must be a list, but is a string"],
    ["sshKeys", [SSH_KEY, 4], "sshKeys[1]: must be a string, but is a number"],
    ["sshKeys", [null], "sshKeys[0]: must be a string, but is null"],
    ["labels", "team=web", "labels: must be a map of strings, but is a string"],
    ["labels", { tier: 1 }, "labels.tier: must be a string, but is a number"],
    ["labels", { tier: { is: "web" } }, "labels.tier: must be a string, but is a map"],
  ])("%s: %j is refused", (name, value, reason) => {
    expect(withArgument(name, value)).toEqual([reason]);
  });
});

describe("what is unknown in a preview is let through", () => {
  test.each([
    ["project", UNKNOWN_TEXT],
    ["name", UNKNOWN_TEXT],
    ["flavor", UNKNOWN_TEXT],
    ["publicIp", UNKNOWN_TEXT],
    ["sshKeys", UNKNOWN_TEXT],
    ["sshKeys", UNKNOWN_LIST],
    ["sshKeys", [SSH_KEY, UNKNOWN_TEXT]],
    ["labels", UNKNOWN_MAP],
    ["labels", { team: UNKNOWN_TEXT, tier: "web" }],
  ])("%s: %j", (name, value) => {
    const { inputs, failures } = check(instanceKind, {}, instanceNews({ [name]: value }));
    expect(failures).toEqual([]);
    expect(inputs[name]).toEqual(value);
  });

  test("beside it, what is known is still checked", () => {
    expect(withArgument("sshKeys", [UNKNOWN_TEXT, ""])).toEqual(["sshKeys[1]: must not be empty"]);
  });
});

describe("misspelt arguments", () => {
  test("are refused, with the names that there are", () => {
    expect(withArgument("flavour", "m1.small")).toEqual([
      'unknown argument "flavour" of an instance; did you mean "flavor"?',
    ]);
    expect(check(projectKind, {}, projectNews({ zone: "a" })).failures[0]?.reason).toBe(
      'unknown argument "zone" of a project; the arguments are name, region',
    );
  });

  test("hidden properties are none, whatever their names", () => {
    expect(reasons(instanceNews({ __defaults: [], __later: 1 }))).toEqual([]);
  });
});

describe("SSH keys", () => {
  test("a line break at the end is refused with the way out", () => {
    const [reason, ...others] = withArgument("sshKeys", [`${SSH_KEY}\n`]);
    expect(reason).toMatch(/^sshKeys\[0\]: must be a single line: .*\.trim\(\)/);
    expect(others).toEqual([]);
  });

  test("two keys in one text are refused", () => {
    expect(withArgument("sshKeys", [`${SSH_KEY}\r\n${SSH_KEY}`])[0]).toMatch(
      /^sshKeys\[0\]: must be a single line/,
    );
  });
});

describe("a private key among the SSH keys", () => {
  test("is told as such, with what to do", () => {
    const key = "-----BEGIN OPENSSH PRIVATE KEY-----b3BlbnNzaC1rZXk";
    const [reason, ...others] = withArgument("sshKeys", [SSH_KEY, key]);
    expect(reason).toMatch(/^sshKeys\[1\]: is a private key: use the public key/);
    expect(others).toEqual([]);
  });
});

describe("label keys", () => {
  test.each(["", " ", "two words", "tab\there"])("%j is refused", (key) => {
    expect(withArgument("labels", { [key]: "x" })[0]).toContain("must not be empty or contain white space");
  });

  test.each(["team", "example.org/tier", "Größe", "constructor", "a:b"])("%j is fine", (key) => {
    expect(withArgument("labels", { [key]: "x" })).toEqual([]);
  });
});

test("the keys of secret labels are not told", () => {
  const news = instanceNews({ labels: { "hunter 2": "x", ok: 5 }, __secrets: ["labels"] });
  const reasons = check(instanceKind, {}, news).failures.map(({ reason }) => reason);
  expect(reasons).toEqual([
    "labels[secret]: a label key must not be empty or contain white space",
    "labels[secret]: must be a string, but is a number",
  ]);
});

describe("customTimeouts", () => {
  test.each(["90s", "10m", "1h30m", "1.5h", "500ms"])("%s is fine", (create) => {
    expect(withArgument("__timeouts", { create })).toEqual([]);
  });

  test.each(["", "ten minutes", "90", "-5m", "0s", "5 m"])("%j is refused by its name", (text) => {
    expect(withArgument("__timeouts", { create: "5m", delete: text })).toEqual([
      'customTimeouts.delete: must be a duration such as "90s", "10m" or "1h30m"',
    ]);
  });

  test("one that is unknown yet is let through", () => {
    expect(withArgument("__timeouts", { update: UNKNOWN_TEXT })).toEqual([]);
  });
});
