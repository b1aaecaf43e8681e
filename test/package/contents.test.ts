import { readdirSync } from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import ts from "typescript";
import { afterAll, describe, expect, it } from "vitest";
import { REPOSITORY } from "../harness/modules";
import { relativeLinks } from "../readme/markdown";
import { packedPackage } from "./packed";

const packed = packedPackage();
afterAll(() => packed.remove());

const { manifest, files, read } = packed;
const among = (file: string): boolean => files.includes(path.posix.normalize(file));
const built = files.filter((file) => /^dist\/.*\.(js|d\.ts)$/.test(file));

describe("the packed files", () => {
  it("are the build, its source, what is to be read, the licence and package.json, and nothing else", () => {
    const template = readdirSync(path.join(REPOSITORY, "template")).map((file) => `template/${file}`);
    expect(files.filter((file) => file.startsWith("template/")).sort()).toEqual(template.sort());
    expect(files.filter((file) => !/^(dist|src|docs|examples|template)\//.test(file)).sort()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "package.json",
    ]);
    const kinds =
      /^dist\/.*\.(js|d\.ts)$|^src\/.*\.(ts|md)$|^src\/emulator\/page\/(page\.html|style\.css|script\.mjs)$|^docs\/.*\.(md|svg)$|^(examples|template)\//;
    expect(files.filter((file) => file.includes("/") && !kinds.test(file))).toEqual([]);
    const tests = files.filter((file) => /\btests?\b/.test(file));
    expect(tests.filter((file) => !/^examples\/(testing|policies)\//.test(file))).toEqual([]);
  });

  it("contain what their pages link to, except for what only the repository contains, such as SECURITY.md", () => {
    const onlyInRepository = /^(?:SECURITY|CONTRIBUTING|ARCHITECTURE)\.md$|^test\//;
    const isThere = (target: string): boolean =>
      among(target) || files.some((file) => file.startsWith(`${target}/`));
    const pages = files.filter((file) => /^[^/]+\.md$|^(docs|examples)\/.*\.md$/.test(file));
    const dead = pages.flatMap((page) => {
      const paths = relativeLinks(read(page)).map((link) =>
        path.posix.join(path.posix.dirname(page), link).replace(/\/$/, ""),
      );
      const missing = paths.filter((target) => !onlyInRepository.test(target) && !isThere(target));
      return missing.map((target) => `${page}: ${target}`);
    });
    expect(pages).toEqual(expect.arrayContaining(["README.md", "CHANGELOG.md", "docs/errors.md"]));
    expect(dead).toEqual([]);
  });

  it("name no folder of the machine that built them", () => {
    // Only at the start of a path: the end of another one may have the same words.
    const start = /(?<![\w./-])|(?<=file:\/\/)/.source;
    const here = new RegExp(`(${start})${REPOSITORY.replace(/[^\w/]/g, "\\$&")}(?![\\w-])`);
    expect(here.test(`"${REPOSITORY}/src"`) && here.test(`file://${REPOSITORY}`)).toBe(true);
    expect(files.filter((file) => here.test(read(file)))).toEqual([]);
  });

  it("hold the source of each built file: none is left of a source that is gone (else remove dist, and build)", () => {
    const sourceOf = (file: string): string => file.replace(/^dist/, "src").replace(/(\.d\.ts|\.js)$/, ".ts");
    expect(built.filter((file) => !among(sourceOf(file)))).toEqual([]);
  });
});

describe("what package.json points at", () => {
  const entries = Object.entries(manifest.exports);

  it.each(entries)("the export %s is packed, with its types", (_, target) => {
    const { types, default: main } = typeof target === "string" ? { types: target, default: target } : target;
    expect([types, main].filter((file) => !among(file))).toEqual([]);
    if (typeof target !== "string") expect(types).toBe(main.replace(/\.js$/, ".d.ts"));
  });

  it("has the same entry for those who know no exports", () => {
    expect(manifest.exports["."]).toEqual({ types: manifest.types, default: manifest.main });
  });

  it("the command is packed and says that Node runs it", () => {
    expect(Object.keys(manifest.bin)).toEqual(["pulumi-cloudinfra"]);
    for (const file of Object.values(manifest.bin)) expect(read(file)).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});

describe("what the build asks for", () => {
  const imports = built.flatMap((file) =>
    ts
      .preProcessFile(read(file), true, true)
      .importedFiles.map(({ fileName: specifier }) => ({ file, specifier })),
  );
  const bare = imports.filter(({ specifier }) => !specifier.startsWith(".") && !isBuiltin(specifier));

  it("is declared: each module is a dependency, a peer, or Node's", () => {
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    const named = ({ specifier }: { specifier: string }): string =>
      specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
    expect(bare.length).toBeGreaterThan(0);
    expect(bare.filter((one) => !declared.includes(named(one)))).toEqual([]);
  });

  it("is packed, where it is the package's own", () => {
    const own = imports.filter(({ specifier }) => specifier.startsWith("."));
    const missing = own.filter(({ file, specifier }) => {
      const target = path.posix.join(path.posix.dirname(file), specifier);
      const extension = file.endsWith(".js") ? ".js" : ".d.ts";
      const stem = target.replace(/\.js$/, "");
      return ![target, stem + extension, `${stem}/index${extension}`].some(among);
    });
    expect(own.length).toBeGreaterThan(0);
    expect(missing).toEqual([]);
  });

  it("has the program's own Pulumi SDK, of which there may be only one", () => {
    expect(manifest.peerDependencies).toHaveProperty(["@pulumi/pulumi"]);
    expect(manifest.dependencies).not.toHaveProperty(["@pulumi/pulumi"]);
  });
});
