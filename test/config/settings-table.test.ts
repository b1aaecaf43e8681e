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

test("each argument of Provider has the type, description and default that the table of settings has", () => {
  const source = readFileSync(path.join(REPOSITORY, "src/resources/provider.ts"), "utf8");
  const [, body = ""] = /^export interface ProviderArgs \{\n(.*?)^\}/ms.exec(source) ?? [];
  const found = [...body.matchAll(/\/\*\*(.*?)\*\/\s*(\w+)\?: pulumi\.Input<([^\n]*)>;/gs)].map(
    ([, comment = "", name, type]) => [name, type, comment.replace(/\s*\n\s*\*?\s*/g, " ").trim()],
  );
  const expected = Object.entries<Setting>(settings)
    .filter(([name]) => name !== "journalDir")
    .map(([name, { type, description, isSecret, default: value, otherwise }]) => {
      const secret = isSecret ? " It is always encrypted in the state." : "";
      const fallback = value ? `\`${value}\`` : otherwise;
      return [name, types[type], description + secret + (fallback ? ` @default ${fallback}` : "")];
    });
  expect(found).toEqual(expected);
});
