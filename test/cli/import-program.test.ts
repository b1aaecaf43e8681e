import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/api/client";
import { declare, importDocument, programText } from "../../src/cli/import-program";
import { labelsOf } from "../../src/model/changes";
import { compareRemoteValues } from "../../src/model/drift";
import { instanceFields, instanceKind, type Kind, projectKind } from "../../src/model/resource-fields";
import type { Properties } from "../../src/model/state";
import { typeErrors } from "../harness/compiler";
import { callTo } from "../provider/fake-call";
import { FakeService } from "../provider/fake-service";
import { check } from "../provider/typed";
import { newcomersFolder } from "../readme/program-folder";

interface Registered {
  readonly kind: Kind;
  readonly name: string;
  readonly args: Properties;
}

/** Runs a program, and returns the resources that it declares. */
function registered(program: string): Registered[] {
  const all: Registered[] = [];
  const classOf = (kind: Kind) =>
    class {
      readonly id = "prj-1";
      constructor(name: string, args: Properties) {
        all.push({ kind, name, args });
      }
    };
  const body = program.replace(/^import .*\n/, "");
  new Function("Project", "Instance", body)(classOf(projectKind), classOf(instanceKind));
  return all;
}

/** Writes the program for instances with these fields, as the command does. */
function written(...instances: readonly Properties[]) {
  const objects = instances.map(
    (fields, index): ApiObject => ({ id: `ins-${index}`, fields: { id: `ins-${index}`, ...fields } }),
  );
  const declarations = declare(callTo(new FakeService(), instanceKind), objects);
  const { declared } = declarations;
  const text = programText(declarations);
  const comments = text.split("\n").filter((line) => line.startsWith("//"));
  return { objects, text, comments, declared, resources: registered(text) };
}

const usual = { project: "prj-1", name: "web", image: "debian-13", flavor: "small", network: "n1" };

describe("an instance is declared as the service returns it", () => {
  it.each([
    ["without a public address", { public_ip: "" }, {}],
    ["without a public address, which the service shows as 0.0.0.0", { public_ip: "0.0.0.0" }, {}],
    ["without keys and labels", { ssh_keys: [], labels: {}, public_ip: null }, {}],
    [
      "with its public address, if the service shows no mode",
      { public_ip: null, ip_address: "203.0.113.1" },
      { publicIp: "203.0.113.1" },
    ],
    [
      "with the mode beside its address",
      { public_ip: "auto", ip_address: "203.0.113.1" },
      { publicIp: "auto" },
    ],
    ["without its private address", { public_ip: null, ip_address: "10.0.0.4" }, {}],
    [
      "with its public address, if the service shows only that there is one",
      { public_ip: true, ip_address: "203.0.113.1" },
      { publicIp: "203.0.113.1" },
    ],
    ["without a public address, if the service shows that there is none", { public_ip: false }, {}],
    [
      "with references as objects",
      { image: { id: 7, slug: "x" }, flavor: { slug: "s-1", regions: [] }, network: { name: "n2" } },
      { image: "7", flavor: "s-1", network: "n2" },
    ],
    ["with numbers for ids", { image: 7, flavor: 1.5 }, { image: "7", flavor: "1.5" }],
    ["with a line break after a key", { ssh_keys: ["ssh-rsa AAAA a\n"] }, { sshKeys: ["ssh-rsa AAAA a"] }],
    [
      "with labels that are numbers or booleans",
      { labels: { size: 5, on: true, text: "x" } },
      { labels: { size: "5", on: "true", text: "x" } },
    ],
    [
      "with labels whose keys are the names of built-in properties",
      { labels: { constructor: "a", prototype: "b", toString: "c" } },
      { labels: { constructor: "a", prototype: "b", toString: "c" } },
    ],
  ])("%s", (_, fields, args) => {
    const { resources, comments } = written({ ...usual, ...fields });
    expect(resources.map(({ args }) => args)).toEqual([{ ...usual, ...args }]);
    expect(comments).toEqual([]);
  });
});

describe("a value that a program can't express is not declared, and a comment gives the reason", () => {
  it.each([
    [
      "a label with a space in its key",
      { labels: { "a b": "x", c: "y" } },
      { labels: { c: "y" } },
      'labels["a b"]: ',
    ],
    [
      "a public address in a field with another name",
      { main_ip: "203.0.113.1" },
      {},
      "publicIp: the service returned no mode, but 203.0.113.1 in main_ip",
    ],
    [
      "a public address within another field",
      { public_ip: null, public_net: { ipv4: { ip: "203.0.113.1" } } },
      {},
      "publicIp: the service returned no mode, but 203.0.113.1 in public_net.ipv4.ip",
    ],
    [
      "a label named constructor that is a map",
      { labels: { constructor: {} } },
      {},
      'labels["constructor"]: ',
    ],
    ["a label that is a map", { labels: { a: {} } }, {}, 'labels["a"]: '],
    ["a label named __proto__", { labels: JSON.parse('{"__proto__":"x"}') }, {}, 'labels["__proto__"]: '],
    ["keys that are not strings", { ssh_keys: ["ssh-rsa AAAA", { id: 1 }] }, {}, "sshKeys[1]: "],
    [
      "keys that are returned as fingerprints",
      { ssh_keys: ["SHA256:N1/+SY7xGH9b8VyDRgRgUMTbpITSbT5xjpx4iOCWa94"] },
      {},
      "sshKeys: the service returned fingerprints",
    ],
    ["a public address that is an object", { public_ip: { mode: "auto" } }, {}, "publicIp: "],
    [
      "a public address that the service doesn't return",
      { public_ip: true },
      {},
      "publicIp: the service returned no mode, but true in public_ip",
    ],
  ])("%s", (_, fields, args, comment) => {
    const { resources, comments } = written({ ...usual, ...fields });
    expect(resources.map(({ args }) => args)).toEqual([{ ...usual, ...args }]);
    expect(comments.join("\n")).toContain(comment);
  });

  it("an instance without a required value", () => {
    const { resources, comments } = written(
      usual,
      { ...usual, flavor: "" },
      { ...usual, image: { href: "i" } },
    );
    expect(resources).toHaveLength(1);
    expect(comments.join("\n")).toContain("instance ins-1 is omitted: the service returned no flavor");
    expect(comments.join("\n")).toContain("instance ins-2 is omitted: image: ");
  });
});

it("instances with the same name become different resources", () => {
  const names = ["web", "web-ins-2", "web", "web", "web-ins-3"];
  const { resources } = written(...names.map((name) => ({ ...usual, name })));
  expect(new Set(resources.map(({ name }) => name)).size).toBe(names.length);
});

const oddKey = fc.oneof(
  fc.constantFrom(
    "constructor",
    "prototype",
    "__proto__",
    "toString",
    "then",
    "apply",
    "a b",
    "",
    "a/b",
    "x",
    "\u2028",
    "*/",
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
);
const oddText = fc.oneof(
  fc.constantFrom("", " ", "auto", "`$`", '"', "a\nb", "\u2028//", "*/ //", "\u202e", "</script>", "a::b"),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const oddValue = fc.oneof(
  { weight: 4, arbitrary: oddText },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(null, undefined, true, 0, 7, 1e300, [], {}, { id: "x" }, ["x"]),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);
const usually = <T>(value: T) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant<unknown>(value) }, { weight: 1, arbitrary: oddValue });
const labels = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .array(fc.tuple(oddKey, oddValue), { maxLength: 4 })
      .map((entries): unknown => Object.fromEntries(entries)),
  },
  { weight: 1, arbitrary: oddValue },
);
const sshKey = fc.constantFrom<unknown>(
  "ssh-rsa AAAA a",
  "ssh-rsa AAAA a\n",
  "",
  "a\nb",
  "-----BEGIN PRIVATE KEY-----",
  7,
  null,
  {},
);
const anyFields = fc.record({
  project: fc.constantFrom<unknown>("prj-1", 101),
  name: usually("web"),
  image: usually("debian-13"),
  flavor: usually("small"),
  network: usually("n1"),
  public_ip: oddValue,
  ip_address: fc.constantFrom(undefined, null, "203.0.113.1", "10.0.0.4"),
  ssh_keys: fc.oneof(fc.array(sshKey, { maxLength: 3 }), oddValue),
  labels,
});

const anyInstance = anyFields.map((fields): Properties => JSON.parse(JSON.stringify(fields)));

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === "object" ? Object.keys(value).length === 0 : String(value).trim() === "");

describe("for arbitrary replies of the service", () => {
  it("the program passes the provider's check, declares or mentions each value, and causes no drift", () => {
    fc.assert(
      fc.property(fc.array(anyInstance, { minLength: 1, maxLength: 4 }), (instances) => {
        const { objects, text, comments, declared, resources } = written(...instances);
        expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/u);
        for (const { kind, args } of resources) {
          expect(
            check(kind, {}, { __key: "00000000-0000-4000-8000-000000000000", ...args }).failures,
          ).toEqual([]);
        }
        expect(declared.map(({ args }) => args)).toEqual(resources.map(({ args }) => args));
        expect(new Set(resources.map(({ name }) => name)).size).toBe(resources.length);
        for (const { id, fields } of objects) {
          const one = declared.find((declaration) => declaration.id === id);
          if (one === undefined) {
            expect(comments.join("\n")).toContain(`instance ${id} is omitted`);
            continue;
          }
          const mentioned = (path: string): boolean => comments.some((line) => line.includes(path));
          for (const { name, wire, type } of instanceFields) {
            if (isEmpty(fields[wire]) || type === "labels") continue;
            if (wire === "public_ip" && fields[wire] === false) continue;
            expect(one.args[name] !== undefined || mentioned(`${name}`), `${name} of ${id}`).toBe(true);
          }
          const own = labelsOf(one.args.labels);
          const unmentioned = Object.entries(labelsOf(fields.labels)).filter(
            ([key, label]) => label !== null && !Object.hasOwn(own, key),
          );
          expect(unmentioned.length === 0 || mentioned("labels"), `labels of ${id}`).toBe(true);
          const known = { values: one.outputs, remoteValues: { ...labelsOf(one.outputs.__words) } };
          expect(compareRemoteValues(instanceFields, known, fields).drifted).toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("the program compiles", async () => {
    const samples = fc.sample(anyInstance, { numRuns: 300, seed: 1 });
    const dir = newcomersFolder(written(...samples).text);
    expect(await typeErrors(dir)).toBe("");
  });
});

it("the instances refer to the project if it is imported, too", () => {
  const call = callTo(new FakeService(), projectKind);
  const { declared } = declare(call, [{ id: "101", fields: { id: 101, name: "shop", region: "eu-1" } }]);
  const instances = declare(callTo(new FakeService(), instanceKind), [
    { id: "7", fields: { ...usual, project: 101 } },
  ]);
  const text = programText({ declared: [...declared, ...instances.declared], omitted: [] });
  expect(text).toContain("project: project.id");
  expect(JSON.parse(importDocument(declared)).resources).toMatchObject([
    { id: "101", inputs: { name: "shop", region: "eu-1" } },
  ]);
});

it.each(["eu", "default", "eu-1"])(
  "the program is valid for any name of an explicit provider (%s)",
  (name) => {
    const { declared } = written(usual);
    const text = programText({ declared, omitted: [] }, { name });
    expect(text).toContain(`// \`provider\` is your program's provider "${name}".`);
    expect(text).toContain(", { protect: true, provider });");
  },
);
