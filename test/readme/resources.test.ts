import { writeFileSync } from "node:fs";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import * as cloudinfra from "../../src";
import { type Field, instanceFields, projectFields } from "../../src/model/fields";
import * as provider from "../../src/provider";
import { complaints } from "../harness/compiler";
import { registered } from "../resources/registered";
import { quoted, readMarkdown, section, tableRows } from "./markdown";
import { newcomersFolder } from "./program-folder";

interface Row {
  readonly name: string;
  readonly required: readonly string[];
  readonly optional: readonly string[];
  readonly further: readonly string[];
}

const readme = readMarkdown("README.md");
const table = tableRows(section(readme, "Resources")).map(([name = "", args = "", further = ""]): Row => {
  const declared = quoted(args);
  return {
    name: quoted(name).join(),
    required: declared.filter((arg) => !arg.endsWith("?")),
    optional: declared.filter((arg) => arg.endsWith("?")).map((arg) => arg.slice(0, -1)),
    further: quoted(further),
  };
});

/** Declarations that the compiler takes only where the names are those of the types, not one more or less. */
function declarations({ name, required, optional, further }: Row): string {
  const these = (names: readonly string[]): string => `{ ${names.map((key) => `${key}: true`).join(", ")} }`;
  return `
    import type { CustomResource } from "@pulumi/pulumi";
    import type { ${name}, ${name}Args } from "pulumi-cloudinfra";
    type Required<T> = { [K in keyof T]: {} extends Pick<T, K & keyof T> ? never : K }[keyof T];
    type Needed = NonNullable<Required<${name}Args>> | "_"; // never empty: an empty type would take any name
    export const required: Record<Needed, true> = ${these([...required, "_"])};
    export const all: Record<keyof ${name}Args, true> = ${these([...required, ...optional])};
    type Outputs = Exclude<keyof ${name}, keyof CustomResource>;
    export const outputs: Record<Outputs, true> = ${these([...required, ...optional, ...further])};`;
}

/** What the compiler says about each of these rows: all of them in one run, for that takes seconds. */
async function complaintsAbout(rows: readonly Row[]): Promise<string[]> {
  const files = rows.map((_, index) => `row${index}`);
  const dir = newcomersFolder(files.map((file) => `export * as ${file} from "./${file}";`).join("\n"));
  for (const [index, row] of rows.entries())
    writeFileSync(path.join(dir, `row${index}.ts`), declarations(row));
  const lines = (await complaints(dir)).split("\n");
  expect(lines.filter((line) => line.startsWith("index.ts"))).toEqual([]);
  return files.map((file) => lines.filter((line) => line.startsWith(`${file}.ts`)).join("\n"));
}

it("the README's table of resources lists those that the package exports", () => {
  const isResource = (name: string): boolean => "__pulumiType" in Reflect.get(cloudinfra, name);
  expect(table.map(({ name }) => name).sort()).toEqual(Object.keys(cloudinfra).filter(isResource).sort());
});

it("the README names the functions that the package exports", () => {
  const functions = Object.keys(cloudinfra).filter((name) => /^get\w+?(?<!Output)$/.test(name));
  expect(functions.sort()).toEqual(["getInstances", "getProjects"]);
  for (const name of functions) {
    expect(readme).toContain(`\`${name}\``);
    expect(cloudinfra).toHaveProperty(`${name}Output`);
  }
});

it("it lists the arguments and outputs that are declared, the optional ones with a question mark", async () => {
  expect(await complaintsAbout(table)).toEqual(table.map(() => ""));
});

it("it could not list one too many, one too few, or an optional one as required", async () => {
  const wrong = table.flatMap((row): [Row, string][] => [
    [{ ...row, optional: [...row.optional, "size"] }, "'size' does not exist"],
    [{ ...row, required: row.required.slice(1) }, `'${row.required[0]}' is missing`],
    [
      { ...row, required: [...row.required, "name"], optional: row.optional.slice(1) },
      "'name' does not exist",
    ],
    [
      { ...row, required: row.required.slice(1), optional: [...row.optional, ...row.required.slice(0, 1)] },
      "is missing",
    ],
    [{ ...row, further: [...row.further, "price"] }, "'price' does not exist"],
    [{ ...row, further: row.further.slice(1) }, `'${row.further[0]}' is missing`],
  ]);
  const said = await complaintsAbout(wrong.map(([row]) => row));
  expect(said).toEqual(wrong.map(([, words]) => expect.stringContaining(words)));
});

describe.each(table)("the README's row of $name", (row) => {
  const { name, required, optional, further } = row;
  const provides = name === "Project" ? provider.project : provider.instance;

  it("has outputs that are there when a program runs", async () => {
    const found: unknown[] = [];
    await registered(() => {
      const args = { region: "r", project: "p", image: "i", flavor: "f", network: "n" };
      const { Project, Instance } = cloudinfra;
      const made = name === "Project" ? new Project("a", args) : new Instance("a", args);
      const outputs = [...required, ...optional, ...further].map((key) => [key, Reflect.get(made, key)]);
      found.push(...outputs.filter(([, value]) => !pulumi.Output.isInstance(value)));
    });
    expect(found).toEqual([]);
  });

  it("marks as required what the check of the inputs asks for, and nothing else", async () => {
    const { failures } = await provides.check({}, {});
    expect(failures.map(({ reason }) => reason).sort()).toEqual(
      required.map((arg) => `${arg}: is required`).sort(),
    );
  });
});

describe("what docs/previews.md says a change does", () => {
  const said = tableRows(section(readMarkdown("docs/previews.md"), "What a change does")).map(
    ([argument = "", change = ""]) => ({ argument: quoted(argument).join(), change: change.trim() }),
  );

  it.each(table)("holds for each argument of $name", ({ name }) => {
    const fields: readonly Field[] = name === "Instance" ? instanceFields : projectFields;
    const words = { replace: "replaces", "in place": "in place" };
    const own = said.filter(({ argument }) => argument.startsWith(`${name}.`));
    const expected = fields.map((field) => ({
      argument: `${name}.${field.name}`,
      change: words[field.change],
    }));
    expect(own).toHaveLength(fields.length);
    expect(own).toEqual(expect.arrayContaining(expected));
  });

  it("says so of every argument", () => {
    const all = table.flatMap(({ name, required, optional }) =>
      [...required, ...optional].map((arg) => `${name}.${arg}`),
    );
    expect(said.map(({ argument }) => argument).sort()).toEqual(all.sort());
  });

  it("is what the README says in short: these replace, and nothing else", () => {
    const replacing = [...projectFields, ...instanceFields].filter(({ change }) => change === "replace");
    const sentence = /A new .*? changed in place\./s.exec(section(readme, "What a preview shows"))?.[0] ?? "";
    const names = replacing.map(({ name }) => name);
    expect([...new Set(quoted(sentence))].sort()).toEqual([...new Set(names)].sort());
  });
});
