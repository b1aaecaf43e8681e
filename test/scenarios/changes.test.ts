import { expect, it } from "vitest";
import { changesOf, expectConverged, expectOk, requestsDuring } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";

/** An update of each argument that can change in place. Each has its own instance, so that one `up` tests them all. */
const updates: Record<string, { from: string; to: string; wire: Record<string, unknown> }> = {
  name: { from: 'name: "one"', to: 'name: "two"', wire: { name: "two" } },
  flavor: { from: 'flavor: "small"', to: 'flavor: "large"', wire: { flavor: "large" } },
  network: { from: 'network: "n1"', to: 'network: "n2"', wire: { network: "n2" } },
  publicIp: { from: 'publicIp: "none"', to: 'publicIp: "auto"', wire: { public_ip: "auto" } },
  sshKeys: {
    from: 'sshKeys: ["ssh-rsa AAAA"]',
    to: 'sshKeys: ["ssh-rsa BBBB"]',
    wire: { ssh_keys: ["ssh-rsa BBBB"] },
  },
  labels: { from: 'labels: { a: "1", b: "2" }', to: 'labels: { a: "3" }', wire: { labels: { a: "3" } } },
  noKeys: { from: 'sshKeys: ["ssh-rsa AAAA"]', to: "", wire: { ssh_keys: [] } },
  noLabels: { from: 'labels: { a: "1" }', to: "", wire: { labels: {} } },
};

const programOf = (state: "from" | "to"): string => `
  const project = new Project("p", { region: "eu-1" });
  const common = { project: project.id, image: "ubuntu", flavor: "small", network: "n1" };
  ${Object.entries(updates)
    .map(([name, change]) => `new Instance("${name}", { ...common, ${change[state]} });`)
    .join("\n")}
`;

describeOnEngines("a changed argument", (engine) => {
  it("is updated in place by a PUT with If-Match and a complete body", async () => {
    await withStack(engine, { program: programOf("from") }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      const ids = Object.fromEntries(
        await Promise.all(
          Object.keys(updates).map(async (name) => [name, stateOf(await stack.deployment(), name).id ?? ""]),
        ),
      );
      write(programOf("to"));
      const preview = expectOk(await stack.run("preview"));
      expect(changesOf(preview)).toEqual({ update: Object.keys(updates).length });
      const shown = preview.steps.filter(({ op }) => op === "update").map(({ name, diffs }) => [name, diffs]);
      const argument = (name: string): string => ({ noKeys: "sshKeys", noLabels: "labels" })[name] ?? name;
      expect(new Map(shown.map(([name, diffs]) => [name, diffs]))).toEqual(
        new Map(Object.keys(updates).map((name) => [name, [argument(name)]])),
      );
      const before = emulator.requests.length;
      const done = expectOk(await stack.run("up"));
      expect(changesOf(done)).toEqual(changesOf(preview));
      const puts = emulator.requests.slice(before).filter(({ method }) => method === "PUT");
      expect(puts).toHaveLength(Object.keys(updates).length);
      for (const put of puts) {
        expect(put.headers["if-match"]).toMatch(/^".+"$/);
        expect(JSON.parse(put.body ?? "")).toMatchObject({ image: "ubuntu" });
        expect(JSON.parse(put.body ?? "")).not.toHaveProperty("status");
      }
      for (const [name, { wire }] of Object.entries(updates)) {
        expect(emulator.instances.get(ids[name] ?? "")?.fields, name).toMatchObject(wire);
      }
      await expectConverged({ stack, emulator });
    });
  });

  it("replaces the resource and its dependents if it can't be updated in place", async () => {
    const program = (change: {
      name?: string;
      region?: string;
      image?: string;
      project?: string;
    }): string => `
      const named = new Project("named", { name: "${change.name ?? "n1"}", region: "eu-1" });
      const placed = new Project("placed", { region: "${change.region ?? "eu-1"}" });
      const common = { flavor: "small", network: "n" };
      new Instance("inNamed", { ...common, project: named.id, image: "ubuntu" });
      new Instance("imaged", { ...common, project: placed.id, image: "${change.image ?? "ubuntu"}" });
      new Instance("moved", { ...common, project: ${change.project ?? "placed"}.id, image: "ubuntu" });
    `;
    await withStack(engine, { program: program({}) }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      const before = await stack.deployment();
      const id = (deployment: typeof before, name: string) => stateOf(deployment, name).id;

      write(program({ image: "debian", project: "named" }));
      const replaced = expectOk(await stack.run("up"));
      expect(changesOf(replaced)).toEqual({ replace: 2 });
      await expectConverged({ stack, emulator });

      write(program({ image: "debian", project: "named", name: "n2", region: "us-1" }));
      const preview = expectOk(await stack.run("preview"));
      const again = expectOk(await stack.run("up"));
      expect(changesOf(again)).toEqual(changesOf(preview));
      expect(changesOf(again)).toEqual({ replace: 5 });
      const after = await stack.deployment();
      for (const name of ["named", "placed", "inNamed", "imaged", "moved"]) {
        expect(id(after, name), name).not.toBe(id(before, name));
      }
      expect(emulator.projects.size).toBe(2);
      expect(emulator.instances.size).toBe(3);
      await expectConverged({ stack, emulator });
    });
  });

  it("replaces the resource if replaceOnChanges lists it, and changes nothing if ignoreChanges lists it", async () => {
    const program = (flavor: string): string => `
      const project = new Project("p", { region: "eu-1" });
      const args = { project: project.id, image: "ubuntu", network: "n", flavor: "${flavor}" };
      new Instance("replaced", args, { replaceOnChanges: ["flavor"] });
      new Instance("ignored", args, { ignoreChanges: ["flavor"] });
    `;
    await withStack(engine, { program: program("small") }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      write(program("large"));
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ replace: 1 });
      expect([...emulator.instances.values()].map(({ fields }) => fields.flavor).sort()).toEqual([
        "large",
        "small",
      ]);
      await expectConverged({ stack, emulator });
    });
  });

  it("is an update after `ignoreChanges` is removed, if the creation failed to set it", async () => {
    const program = (options: string): string => `
      const project = new Project("p", { region: "eu-1" });
      const args = { project: project.id, image: "u", flavor: "small", network: "n", labels: { team: "web" } };
      new Instance("web", args, ${options});
    `;
    const behaviour = { postIgnores: ["labels"] };
    await withStack(engine, { program: program("{}"), behaviour }, async ({ stack, emulator, write }) => {
      emulator.fail({ kind: "status", method: "PUT", status: 422, times: 1 });
      expect((await stack.run("up")).output).toContain("refused (422)");
      write(program('{ ignoreChanges: ["labels"] }'));
      expectOk(await stack.run("up"));
      await expectConverged({ stack, emulator });

      write(program("{}"));
      expect(changesOf(expectOk(await stack.run("preview")))).toEqual({ update: 1 });
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ update: 1 });
      expect([...emulator.instances.values()][0]?.fields.labels).toEqual({ team: "web" });
      await expectConverged({ stack, emulator });
    });
  });

  it("is an update after `ignoreChanges` is removed, if a timed-out update has set another value", async () => {
    const program = (flavor: string, ignores: string): string => `
      const project = new Project("p", { region: "eu-1" });
      const args = { project: project.id, image: "u", flavor: "${flavor}", network: "n" };
      new Instance("web", args, { customTimeouts: { update: "5s" }, ignoreChanges: [${ignores}] });
    `;
    await withStack(engine, { program: program("small", "") }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      Object.assign(emulator.behaviour, { putReply: 202, operationMs: 600_000 });
      write(program("large", ""));
      expect((await stack.run("up")).output).toContain("operation_timeout");
      emulator.behaviour.operationMs = 0;
      emulator.finishOperations();
      write(program("large", '"flavor"'));
      expectOk(await stack.run("up"));

      write(program("small", ""));
      expect(changesOf(expectOk(await stack.run("preview")))).toEqual({ update: 1 });
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ update: 1 });
      expect([...emulator.instances.values()][0]?.fields.flavor).toBe("small");
      await expectConverged({ stack, emulator });
    });
  });

  it("is named in the preview, also together with another change, if only `ignoreChanges` was removed", async () => {
    const program = (options: string, labels: string): string => `
      const project = new Project("p", { region: "eu-1" });
      const args = { project: project.id, name: "web", image: "u", flavor: "small", network: "n", labels: ${labels} };
      new Instance("web", args, { ${options} });
    `;
    await withStack(
      engine,
      { program: 'new Project("p", { region: "eu-1" });' },
      async ({ stack, emulator, write }) => {
        expectOk(await stack.run("up"));
        const project = stateOf(await stack.deployment(), "p").id ?? "";
        const other = { project, name: "web", image: "u", flavor: "large", network: "n" };
        const { id } = emulator.addInstance(other);
        write(program(`ignoreChanges: ["flavor"], import: "${id}"`, "{}"));
        expectOk(await stack.run("up"));

        write(program("", '{ team: "web" }'));
        const preview = expectOk(await stack.run("preview"));
        expect(changesOf(preview)).toEqual({ update: 1 });
        expect(preview.output).toContain("changing flavor, because the state differs from the program");
        expectOk(await stack.run("up"));
        expect(emulator.instances.get(id)?.fields).toMatchObject({
          flavor: "small",
          labels: { team: "web" },
        });
        await expectConverged({ stack, emulator });
      },
    );
  });

  it("causes a replacement if SSH keys in replaceOnChanges differ, but not if only their format differs", async () => {
    const program = (keys: string, flavor: string): string => `
      const project = new Project("p", { region: "eu-1" });
      const args = { project: project.id, image: "u", flavor: "${flavor}", network: "n", sshKeys: ${keys} };
      new Instance("web", args, { replaceOnChanges: ["sshKeys"] });
    `;
    const options = { program: program('["ssh-rsa AAAA me", "ssh-rsa BBBB"]', "small") };
    await withStack(engine, options, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      write(program('["no-pty ssh-rsa BBBB you", "ssh-rsa AAAA"]', "large"));
      expect(changesOf(expectOk(await stack.run("preview")))).toEqual({ update: 1 });
      const updated = expectOk(await stack.run("up"));
      expect(changesOf(updated)).toEqual({ update: 1 });
      expect(updated.output).not.toContain("sshKeys");
      await expectConverged({ stack, emulator });
      write(program('["ssh-rsa CCCC"]', "large"));
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ replace: 1 });
      await expectConverged({ stack, emulator });
    });
  });

  it("causes no diff if only the order or the comments of sshKeys differ", async () => {
    const program = (keys: string): string => `
      const project = new Project("p", { region: "eu-1" });
      new Instance("web", { project: project.id, image: "u", flavor: "s", network: "n", sshKeys: ${keys} });
    `;
    const options = { program: program('["ssh-rsa AAAA me", "ssh-rsa BBBB"]') };
    await withStack(engine, options, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      write(program('["ssh-rsa BBBB you", "ssh-rsa AAAA"]'));
      await expectConverged({ stack, emulator });
    });
  });
});

describeOnEngines("a resource", (engine) => {
  const program = (lines: string): string => `
    const project = new Project("p", { region: "eu-1" });
    const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n" };
    ${lines}
  `;

  it("keeps its object if it is renamed with an alias, and is deleted if it is removed", async () => {
    const options = { program: program('new Instance("old", args); new Instance("other", args);') };
    await withStack(engine, options, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      const id = stateOf(await stack.deployment(), "old").id;
      write(
        program('new Instance("new", args, { aliases: [{ name: "old" }] }); new Instance("other", args);'),
      );
      const { value, requests } = await requestsDuring(emulator, () => stack.run("up"));
      expect(changesOf(expectOk(value))).toEqual({});
      expect(requests).toEqual([]);
      expect(stateOf(await stack.deployment(), "new").id).toBe(id);
      expect(statesOf(await stack.deployment(), "old")).toEqual([]);

      write(program('new Instance("new", args, { aliases: [{ name: "old" }] });'));
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ delete: 1 });
      expect([...emulator.instances.keys()]).toEqual([id]);
    });
  });

  it("is replaced if replaceOnChanges lists the changed label, whether it was created or imported", async () => {
    const declared = (name: string, env: string, options: string): string =>
      `new Instance("${name}", { ...args, name: "${name}", labels: { env: "${env}" } }, { replaceOnChanges: ["labels.env"], ${options} });`;
    await withStack(engine, { program: program("") }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      const [project = ""] = emulator.projects.keys();
      const fields = { image: "ubuntu", flavor: "small", network: "n", labels: { env: "dev" } };
      const { id } = emulator.addInstance({ project, name: "imported", ...fields });
      const both = (env: string) =>
        program(declared("created", env, "") + declared("imported", env, `import: "${id}"`));
      write(both("dev"));
      expectOk(await stack.run("up"));
      const before = [...emulator.instances.keys()];
      write(both("prod"));
      expect(changesOf(expectOk(await stack.run("preview")))).toEqual({ replace: 2 });
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ replace: 2 });
      expect([...emulator.instances.keys()].filter((one) => before.includes(one))).toEqual([]);
      await expectConverged({ stack, emulator });
    });
  });

  it("keeps its object after its removal from the program if it has retainOnDelete", async () => {
    const kept = 'new Instance("kept", args, { retainOnDelete: true });';
    await withStack(engine, { program: program(kept) }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      write(program(""));
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ delete: 1 });
      expect(emulator.instances.size).toBe(1);
    });
  });
});
