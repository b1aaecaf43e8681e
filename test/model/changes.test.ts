import { describe, expect, test } from "vitest";
import { isIgnored, withReplaceOnChanges } from "../../src/model/changes";
import { instanceFields } from "../../src/model/resource-fields";
import { instanceNews } from "../provider/samples";
import { diff } from "../provider/typed";

const env = ["labels", "env"];

describe("`ignoreChanges` covers", () => {
  test.each([
    ["flavor", ["flavor"]],
    ['["flavor"]', ["flavor"]],
    ["*", ["flavor"]],
    ["*", env],
    ["[*]", env],
    ["labels", env],
    ["labels.env", env],
    ['labels["env"]', env],
    ["labels.*", env],
    ["labels[*]", env],
    ["labels.*", ["labels"]],
    ["sshKeys[*]", ["sshKeys"]],
    ["*.env", env],
    ["labels.cost-center", ["labels", "cost-center"]],
    ['labels["a.b"]', ["labels", "a.b"]],
    ['labels["a/b]"]', ["labels", "a/b]"]],
    [String.raw`labels["say \"hi\""]`, ["labels", 'say "hi"']],
    [String.raw`labels["a\b"]`, ["labels", String.raw`a\b`]],
    ['labels["0"]', ["labels", "0"]],
  ])("with %s the property %j", (path, property) => {
    expect(isIgnored(["name", path], property)).toBe(true);
  });
});

describe("`ignoreChanges` does not cover", () => {
  test.each([
    ["labels.env", ["labels"]],
    ["labels.env", ["labels", "envelope"]],
    ["labels.a.b", ["labels", "a.b"]],
    ["labels[0]", ["labels", "0"]],
    ["sshKeys[0]", ["sshKeys"]],
    ["*.flavor", ["flavor"]],
    ["", ["flavor"]],
  ])("with %j the property %j", (path, property) => {
    expect(isIgnored([path], property)).toBe(false);
  });
});

describe("`replaceOnChanges`", () => {
  const olds = { flavor: "small", labels: { env: "dev", team: "a" }, sshKeys: ["one", "two"] };
  const news = { flavor: "small", labels: { env: "prod", team: "a" }, sshKeys: ["one", "three", "four"] };
  const replaced = (path: string, more: object = {}): string[] =>
    withReplaceOnChanges(instanceFields, [path], { olds, news: { ...news, ...more } })
      .filter(({ name, change }) => ["labels", "sshKeys", "flavor"].includes(name) && change === "replace")
      .map(({ name }) => name);

  test.each([
    ["labels", "labels"],
    ["labels.env", "labels"],
    ['labels["env"]', "labels"],
    ["labels.*", "labels"],
    ["*.env", "labels"],
    ["sshKeys", "sshKeys"],
    ["sshKeys[1]", "sshKeys"],
    ["sshKeys[2]", "sshKeys"],
  ])("with %s lists the changed part of %s", (path, name) => {
    expect(replaced(path)).toEqual([name]);
  });

  test("with * lists all that changes", () => {
    expect(replaced("*")).toEqual(["sshKeys", "labels"]);
  });

  test.each(["labels.team", "labels.env.x", "labels[0]", "sshKeys[0]", "flavor"])(
    "with %s lists none of the changes",
    (path) => {
      expect(replaced(path)).toEqual([]);
    },
  );

  test.each(["labels.env", "labels.*"])("with %s doesn't list the removal of all labels", (path) => {
    expect(replaced(path, { labels: undefined })).toEqual([]);
    expect(replaced("labels", { labels: undefined })).toEqual(["labels"]);
  });
});

test.each([
  'no-pty,command="true"',
  'command="exec nc ssh-gw 22 -w 60",restrict',
  'command="echo \\"ssh-rsa AAAA \\" ssh-rsa AAAA "',
])("an SSH key is compared even if options precede it: %s", (options) => {
  const [one, other] = ["AAAAB3", "AAAAB4"].map((key) =>
    instanceNews({ sshKeys: [`${options} ssh-rsa ${key} bob`] }),
  );
  expect(diff(instanceFields, one ?? {}, other ?? {}).changes).toBeUndefined();
});
