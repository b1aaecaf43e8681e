import { expect, test } from "vitest";
import { instanceKind } from "../../src/model/resource-fields";
import { instanceNews, SSH_KEY } from "../provider/samples";
import { check } from "../provider/typed";

const withArgument = (name: string, value: unknown): string[] =>
  check(instanceKind, {}, instanceNews({ [name]: value })).failures.map(({ reason }) => reason);

test("labels given as a list are refused, not dropped", () => {
  expect(withArgument("labels", ["team", "tier"])).toEqual([
    "labels: must be a map of strings, but is a list",
  ]);
});

test("misspelt arguments are told all at once", () => {
  const news = instanceNews({ flavour: "a", sshkeys: [] });
  const named = check(instanceKind, {}, news).failures.map(({ reason }) => /"(\w+)" of an/.exec(reason)?.[1]);
  expect(named).toEqual(["flavour", "sshkeys"]);
});

test("a private key is one problem, though it has line breaks too", () => {
  const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n";
  const found = withArgument("sshKeys", [SSH_KEY, key]);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(/^sshKeys\[1\]: is a private key/);
});

test("a label key with a line break does not break the message", () => {
  const [reason] = withArgument("labels", { "two\nlines": "x" });
  expect(reason).toContain("must not be empty or contain white space");
  expect(reason).not.toContain("\n");
});
