import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Instance, Project } from "../../src";
import { registered } from "../resources/registered";
import { packedPackage } from "./packed";

/** The package as a project has it that installed it: what it may rely on there. */
const packed = packedPackage();
afterAll(() => packed.remove());

/** What a script prints as JSON, run by Node in the project. */
const printed = async (script: string, ...flags: string[]): Promise<unknown> =>
  JSON.parse(await packed.node(...flags, "-e", script));

describe("the command", () => {
  it("prints the package's version", async () => {
    const main = path.join("node_modules/pulumi-cloudinfra", packed.manifest.bin["pulumi-cloudinfra"] ?? "");
    expect(await packed.node(main, "--version")).toBe(`${packed.manifest.version}\n`);
  });

  it("is what npx runs, once npm has linked it", async () => {
    await packed.npm("rebuild", "--ignore-scripts", "pulumi-cloudinfra");
    const said = await packed.npm("exec", "--", "pulumi-cloudinfra", "--version");
    expect(said).toBe(`${packed.manifest.version}\n`);
  });
});

describe("the exports", () => {
  const names = {
    "pulumi-cloudinfra": ["CloudInfraError", "Instance", "Project", "Provider"],
    "pulumi-cloudinfra/provider": ["instance", "project"],
    "pulumi-cloudinfra/emulator": ["startEmulator"],
    "pulumi-cloudinfra/testing": ["mocks", "withEmulator"],
  };

  it("are those that are tested here", () => {
    const subpaths = Object.keys(names).map((name) => name.replace("pulumi-cloudinfra", "."));
    expect(Object.keys(packed.manifest.exports).sort()).toEqual([...subpaths, "./package.json"].sort());
  });

  it.each(Object.entries(names))("%s loads in a CommonJS program", async (module, exported) => {
    const script = `console.log(JSON.stringify(Object.keys(require("${module}")).sort()))`;
    expect(await printed(script)).toEqual(expect.arrayContaining(exported));
  });

  it.each(Object.entries(names))("%s has its names in an ECMAScript module", async (module, exported) => {
    const script = `import { ${exported.join(", ")} } from "${module}";
      console.log(JSON.stringify([${exported.join(", ")}].map((value) => typeof value)));`;
    const kinds = exported.map(() => expect.stringMatching(/function|object/));
    expect(await printed(script, "--input-type=module")).toEqual(kinds);
  });

  it("let tools read package.json", async () => {
    const script = `console.log(JSON.stringify(require("pulumi-cloudinfra/package.json").version))`;
    expect(await printed(script)).toBe(packed.manifest.version);
  });
});

describe("importing the package", () => {
  it("loads its own files beside the Pulumi SDK, and nothing that only the provider needs", async () => {
    const loaded = await printed(`
      require("@pulumi/pulumi");
      const files = [];
      const load = (url, context, next) => {
        if (url.startsWith("file:")) files.push(require("node:url").fileURLToPath(url));
        return next(url, context);
      };
      const before = new Set(Object.keys(require.cache));
      require("node:module").registerHooks({ load });
      require("pulumi-cloudinfra");
      const cached = Object.keys(require.cache).filter((file) => !before.has(file));
      console.log(JSON.stringify([...files, ...cached]));`);
    expect([...new Set(packagesOf(loaded))].sort()).toEqual(["pulumi-cloudinfra"]);
  });
});

describe("the provider, as a state names it", () => {
  const args = { project: "prj-1", image: "debian-13", flavor: "small", network: "default" };
  /** The text that the engine stores, taken up by a process that has neither endpoint nor token. */
  const checked = async (kind: "Project" | "Instance", inputs: object): Promise<unknown> => {
    const seen = await registered(() => [new Project("a", { region: "eu-1" }), new Instance("b", args)]);
    const text = String(seen.find(({ type }) => type.endsWith(`:${kind}`))?.inputs.__provider);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(100);
    return printed(`
      ${text};
      exports.handler().check({}, ${JSON.stringify(inputs)}).then(
        ({ failures }) => console.log(JSON.stringify(failures.map(({ reason }) => reason))));`);
  };

  it("takes at most 100 bytes of the state, and checks an instance where nothing is set", async () => {
    expect(await checked("Instance", args)).toEqual([]);
    expect(await checked("Instance", { ...args, flavor: 1 })).toEqual([expect.stringMatching(/^flavor: /)]);
  });

  it("takes at most 100 bytes of the state, and checks a project where nothing is set", async () => {
    expect(await checked("Project", { region: "eu-1" })).toEqual([]);
    expect(await checked("Project", {})).toEqual(["region: is required"]);
  });
});

/** The packages that files belong to: that of the nearest package.json with a name. */
function packagesOf(files: unknown): string[] {
  const nameAbove = (folder: string): string => {
    try {
      const { name }: { name?: unknown } = JSON.parse(
        readFileSync(path.join(folder, "package.json"), "utf8"),
      );
      if (typeof name === "string") return name;
    } catch {
      if (folder === path.dirname(folder)) return "none";
    }
    return nameAbove(path.dirname(folder));
  };
  return Array.isArray(files) ? files.map((file) => nameAbove(path.dirname(String(file)))) : [];
}
