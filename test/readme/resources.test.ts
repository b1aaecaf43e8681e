import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import * as cloudinfra from "../../src";
import { instanceFields, projectFields } from "../../src/model/resource-fields";
import * as provider from "../../src/provider";
import { registered } from "../resources/registered";
import { propertiesOf } from "./declarations";
import { links, quoted, readMarkdown, section } from "./markdown";

const readme = readMarkdown("README.md");

const types = [
  { name: "Project", file: "project.ts", fields: projectFields, provides: provider.project },
  { name: "Instance", file: "instance.ts", fields: instanceFields, provides: provider.instance },
];

describe.each(types)("$name", ({ name, file, fields, provides }) => {
  const args = propertiesOf(file, `${name}Args`);
  const outputs = propertiesOf(file, name);

  it("declares an argument and an output for each field of the model, and no other argument", () => {
    const names = fields.map((field) => field.name);
    expect(args.map((property) => property.name).sort()).toEqual([...names].sort());
    expect(names.filter((field) => !outputs.some((output) => output.name === field))).toEqual([]);
  });

  it("declares as optional what the model doesn't require, and the check of the inputs agrees", async () => {
    const required = fields.filter(({ argument }) => argument === "required").map((field) => field.name);
    const declared = args.filter(({ isOptional }) => !isOptional).map((property) => property.name);
    const { failures } = await provides.check({}, {});
    expect(declared.sort()).toEqual([...required].sort());
    expect(failures).toHaveLength(required.length);
    for (const field of required)
      expect(failures).toContainEqual(expect.objectContaining({ reason: expect.stringContaining(field) }));
  });

  it("has all declared outputs when a program runs", async () => {
    const missing: string[] = [];
    await registered(() => {
      const given = { region: "r", project: "p", image: "i", flavor: "f", network: "n" };
      const { Project, Instance } = cloudinfra;
      const made = name === "Project" ? new Project("a", given) : new Instance("a", given);
      const isOutput = (key: string): boolean => pulumi.Output.isInstance(Reflect.get(made, key));
      missing.push(...outputs.map((output) => output.name).filter((key) => !isOutput(key)));
    });
    expect(missing).toEqual([]);
  });

  it("describes every argument and output", () => {
    expect([...args, ...outputs].filter(({ description }) => description === "")).toEqual([]);
  });
});

describe("the README", () => {
  it("links to a page for every resource and function that the package exports", () => {
    const exported = Object.keys(cloudinfra).filter((name) => !/Error$|Output$/.test(name));
    const listed = section(readme, "Resources and functions");
    expect(exported.filter((name) => !quoted(listed).join(", ").includes(name))).toEqual([]);
    expect(links(listed)).toEqual(
      expect.arrayContaining(["docs/functions.md", "docs/resources/provider.md"]),
    );
  });
});

it("docs/previews.md names exactly the arguments whose change replaces a resource", () => {
  const page = section(readMarkdown("docs/previews.md"), "What a change does");
  const sentence = /In short, .*?\./s.exec(page)?.[0] ?? "";
  const replacing = [...projectFields, ...instanceFields].filter(({ change }) => change === "replace");
  expect([...new Set(quoted(sentence))].sort()).toEqual(
    [...new Set(replacing.map(({ name }) => name))].sort(),
  );
});
