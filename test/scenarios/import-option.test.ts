import { expect, it } from "vitest";
import type { Emulator } from "../../src/emulator";
import { changesOf, expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf } from "../harness/state";

interface Declared {
  readonly image?: string;
  readonly flavor?: string;
  readonly ids?: { readonly project: string; readonly web: string };
  /** Timeout of a creation of the instance. */
  readonly create?: string;
}

/** A program that declares a project and an instance, and imports them if `ids` are given. */
const programOf = ({ image = "debian-13", flavor = "small", ids, create }: Declared): string => `
  const project = new Project("shop", { name: "shop", region: "eu-1" }, ${options(ids?.project)});
  new Instance("web", { project: project.id, name: "web", image: "${image}", flavor: "${flavor}", network: "n1" }, ${options(ids?.web, create)});
`;
const options = (id: string | undefined, create?: string): string =>
  id === undefined
    ? "{}"
    : `{ import: "${id}"${create === undefined ? "" : `, customTimeouts: { create: "${create}" }`} }`;

/** Adds a project and an instance that no program manages. */
function addUnmanaged(emulator: Emulator): { project: string; web: string } {
  const project = emulator.addProject({ name: "shop", region: "eu-1" }).id;
  const fields = { project, name: "web", image: "debian-13", flavor: "large", network: "n1" };
  return { project, web: emulator.addInstance(fields).id };
}

/** The requests that changed something. */
const writes = (emulator: Emulator): string[] =>
  emulator.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);

describeLongOnEngines("the import option", (engine) => {
  it("adopts objects, and may stay in the program or be removed from it afterwards", async () => {
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const ids = addUnmanaged(emulator);
      write(programOf({ ids }));
      const preview = expectOk(await stack.run("preview"));
      expect(preview.diagnostics.map(({ message }) => message).join("\n")).toContain(
        `adopting instance ${ids.web}`,
      );
      expect(emulator.requests).toEqual([]);

      expectOk(await stack.run("up"));
      expect(writes(emulator)).toEqual([`PUT /v1/instances/${ids.web}`]); // updates the flavor
      expect(stateOf(await stack.deployment(), "shop").id).toBe(ids.project);
      expect(stateOf(await stack.deployment(), "web").id).toBe(ids.web);

      await expectConverged({ stack, emulator });
      write(programOf({}));
      await expectConverged({ stack, emulator });
      write(programOf({ ids }));
      await expectConverged({ stack, emulator });

      const web = stateOf(await stack.deployment(), "web").urn;
      const again = await stack.run("up", { targetReplace: [web] });
      expect(again.ok).toBe(false);
      expect(again.output).toContain("was not replaced, because it was adopted again");
      expectOk(await stack.run("up"));
      expect(emulator.instances.has(ids.web)).toBe(true);
      expect(stateOf(await stack.deployment(), "web").id).toBe(ids.web);

      write(programOf({ ids, image: "debian-14" }));
      const replaced = expectOk(await stack.run("up"));
      expect(changesOf(replaced)).toMatchObject({ replace: 1 });
      const { id = "" } = stateOf(await stack.deployment(), "web");
      expect([...emulator.instances.keys()]).toEqual([id]);
      expect(id).not.toBe(ids.web);

      write("");
      expectOk(await stack.run("up"));
      expect([emulator.instances.size, emulator.projects.size]).toEqual([0, 0]);
    });
  });

  it("rejects an object that would have to be replaced, and changes nothing", async () => {
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const ids = addUnmanaged(emulator);
      write(programOf({ ids, image: "ubuntu" }));
      const refused = await stack.run("up");
      expect(refused.ok).toBe(false);
      const words = refused.diagnostics.map(({ message }) => message).join("\n");
      expect(words).toMatch(/image +debian-13 +ubuntu/);
      expect(writes(emulator)).toEqual([]);
      write(programOf({ ids }));
      expectOk(await stack.run("up"));
      await expectConverged({ stack, emulator });
      expect([...emulator.instances.keys()]).toEqual([ids.web]);
    });
  });

  it("ignores differences that `ignoreChanges` lists until that option is removed", async () => {
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const ids = addUnmanaged(emulator);
      const ignoring = programOf({ ids }).replace(/ \}\);\s*$/, ', ignoreChanges: ["flavor"] });');
      write(ignoring);
      expectOk(await stack.run("up"));
      expect(writes(emulator)).toEqual([]);
      expect(stateOf(await stack.deployment(), "web").outputs).toMatchObject({ flavor: "large" });
      await expectConverged({ stack, emulator });
      write(programOf({ ids }));
      expect(changesOf(expectOk(await stack.run("preview")))).toEqual({ update: 1 });

      write(ignoring);
      expect(changesOf(expectOk(await stack.run("refresh")))).toEqual({});
      await expectConverged({ stack, emulator });
      write(programOf({ ids }));
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ update: 1 });
      expect(emulator.instances.get(ids.web)?.fields).toMatchObject({ flavor: "small" });
      await expectConverged({ stack, emulator });
    });
  });

  it.each(["before", "after"])(
    "fails for an object of another resource if it is declared %s that resource",
    async (where) => {
      const own = 'new Project("own", { name: "shop", region: "eu-1" }';
      await withStack(engine, { program: `${own});` }, async ({ stack, emulator, write }) => {
        expectOk(await stack.run("up"));
        const { id } = stateOf(await stack.deployment(), "own");
        const other = `const other = new Project("other", { name: "shop", region: "eu-1" }, { import: "${id}" });`;
        write(
          where === "before" ? `${other} ${own}, { dependsOn: [other] });` : `const own = ${own}); ${other}`,
        );
        for (const command of ["preview", "up"] as const) {
          const refused = await stack.run(command);
          expect(refused.ok, refused.output).toBe(false);
          expect(refused.output.replaceAll(/\s+/g, " ")).toContain(`project ${id} is already managed by`);
        }
        write(`${own});`);
        expectOk(await stack.run("up"));
        await expectConverged({ stack, emulator });
        expect([...emulator.projects.keys()]).toEqual([id]);
      });
    },
  );

  it("has no effect on replacements after the import", async () => {
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const ids = addUnmanaged(emulator);
      write(programOf({ flavor: "large", ids }));
      expectOk(await stack.run("up"));
      for (const image of ["debian-14", "debian-15"]) {
        write(programOf({ image, flavor: "large", ids }));
        const { output } = expectOk(await stack.run("preview"));
        expect(output).not.toContain("adopting instance");
        expectOk(await stack.run("up"));
        expect([...emulator.instances.values()].map(({ fields }) => fields.image)).toEqual([image]);
      }
      emulator.behaviour.operationMs = 3_600_000;
      write(programOf({ image: "debian-16", flavor: "large", ids, create: "3s" }));
      expect((await stack.run("up")).ok).toBe(false);
      emulator.finishOperations();
      emulator.behaviour.operationMs = 100;
      expectOk(await stack.run("up"));
      expect([...emulator.instances.keys()]).toEqual([stateOf(await stack.deployment(), "web").id]);
    });
  });

  it.each(["created", "imported"])("can rename a resource that was %s, as an alias does", async (how) => {
    await withStack(engine, { program: programOf({}) }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      const { id = "" } = stateOf(await stack.deployment(), "web");
      const renamed = (name: string): string =>
        programOf({})
          .replace('"web", {', `"${name}", {`)
          .replace(/\{\}\);\s*$/, `{ import: "${id}" });`);
      if (how === "imported") {
        write(renamed("first"));
        expectOk(await stack.run("up"));
      }
      write(renamed("renamed"));
      expect(changesOf(expectOk(await stack.run("preview")))).toEqual({ create: 1, delete: 1 });
      const { diagnostics } = expectOk(await stack.run("up"));
      expect(diagnostics.map(({ message }) => message).join()).toContain(
        `kept instance ${id}: another resource in the program uses it`,
      );
      expect(stateOf(await stack.deployment(), "renamed").id).toBe(id);
      expect([...emulator.instances.keys()]).toEqual([id]);
      await expectConverged({ stack, emulator });
    });
  });

  it("added to a resource with an unfinished creation deletes the object of that creation", async () => {
    const ids = { project: "", web: "" };
    await withStack(engine, { program: programOf({}) }, async ({ stack, emulator, write }) => {
      const lost = emulator.fail({ kind: "gateway", method: "POST", path: "/v1/instances", times: 99 });
      expect((await stack.run("up")).ok).toBe(false);
      lost.off();
      const project = [...emulator.projects.keys()].join();
      const { id } = emulator.addInstance({
        project,
        name: "web",
        image: "debian-13",
        flavor: "small",
        network: "n1",
      });
      write(programOf({ ids: { ...ids, web: id } }).replace('import: ""', ""));
      const preview = expectOk(await stack.run("preview"));
      const rows = preview.diagnostics.map(({ message }) => message).join("\n");
      expect(rows).toContain(`resuming its creation; then instance ${id} is imported in its place`);
      expect(rows).toContain(`adopting instance ${id}`);
      expectOk(await stack.run("up"));
      expect([...emulator.instances.keys()]).toEqual([id]);
      await expectConverged({ stack, emulator });
    });
  });
});

describeLongOnEngines("an import through another provider process", (engine) => {
  const own = `
    const own = new (class extends pulumi.ProviderResource {
      constructor() {
        const settings = new pulumi.Config("cloudinfra");
        super("pulumi-nodejs", "own", {
          "cloudinfra:endpoint": settings.require("endpoint"),
          "cloudinfra:token": settings.requireSecret("token"),
        });
      }
    })();
  `;
  const instance = (name: string, project: string, options = "", more = {}): string => {
    const fields = { project, name: "web", image: "debian-13", flavor: "small", network: "n1", ...more };
    return `new Instance("${name}", ${JSON.stringify(fields)}, { ${options} });`;
  };

  it("keeps the instance if the rename is reverted after a failure", async () => {
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const { id: project } = emulator.addProject({ name: "shop", region: "eu-1" });
      write(instance("web", project));
      expectOk(await stack.run("up"));
      const { id = "" } = stateOf(await stack.deployment(), "web");
      const other = instance("other", project, "", { name: "other", image: "unknown-image" });
      write(own + instance("server", project, `import: "${id}", provider: own`) + other);
      expect((await stack.run("up")).ok).toBe(false);
      write(instance("web", project));
      expectOk(await stack.run("up"));
      expect([...emulator.instances.keys()]).toEqual([id]);
      expect(stateOf(await stack.deployment(), "web").id).toBe(id);
    });
  });

  it("fails if another resource of the program manages the instance", async () => {
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const { id: project } = emulator.addProject({ name: "shop", region: "eu-1" });
      const web = instance("web", project);
      write(web);
      expectOk(await stack.run("up"));
      const { id = "" } = stateOf(await stack.deployment(), "web");
      write(own + web + instance("server", project, `import: "${id}", provider: own`));
      const up = await stack.run("up");
      expect(up.ok).toBe(false);
      expect(up.output).toContain("is already managed by another resource");
      write(own + web);
      expectOk(await stack.run("up"));
      expect([...emulator.instances.keys()]).toEqual([id]);
    });
  });
});
