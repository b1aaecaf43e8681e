import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type Setting, settings } from "../../src/config/settings";
import { REPOSITORY } from "../harness/modules";

const types: Record<Setting["type"], string> = {
  string: "string | undefined",
  duration: "string | undefined",
  number: "number | undefined",
  boolean: "boolean | undefined",
  list: "pulumi.Input<string>[] | undefined",
};

test("each argument of Provider has the type and default that the table of settings has, and a secret one says so", () => {
  const source = readFileSync(path.join(REPOSITORY, "src/resources/provider.ts"), "utf8");
  const [, body = ""] = /^export interface ProviderArgs \{\n(.*?)^\}/ms.exec(source) ?? [];
  const found = [...body.matchAll(/\/\*\*(.*?)\*\/\s*(\w+)\?: pulumi\.Input<([^\n]*)>;/gs)].map(
    ([, comment = "", name, type]) => ({
      name,
      type,
      isSecret: comment.includes("It is always encrypted in the state."),
      default: /@default `([^`]*)`\s*$/.exec(comment)?.[1],
    }),
  );
  const expected = Object.entries<Setting>(settings)
    .filter(([name]) => name !== "journalDir")
    .map(([name, setting]) => ({
      name,
      type: types[setting.type],
      isSecret: setting.isSecret === true,
      default: setting.default,
    }));
  expect(found).toEqual(expected);
});
