import { describe, expect, test } from "vitest";
import { isIgnored } from "../../../src/provider/inputs/ignored";

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
