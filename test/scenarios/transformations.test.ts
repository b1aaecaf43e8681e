import { expect, it } from "vitest";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { inClear, stateOf } from "../harness/state";

/** A program with a stack transformation that changes each instance. */
const program = (flavor: string, props: string, opts: string): string => `
  pulumi.runtime.registerStackTransformation(({ type, props, opts }) => {
    if (!type.endsWith(":Instance")) return undefined;
    return { props: { ...props, ${props} }, opts: { ...opts, ${opts} } };
  });
  const project = new Project("p", { region: "eu-1" });
  new Instance("web", { project: project.id, name: "web", image: "ubuntu", flavor: "${flavor}", network: "n" });
`;

const SECRET_FLAVOR = "flavor: pulumi.secret(props.flavor)";
const TIMEOUT = 'customTimeouts: { create: "5s" }';

describeLongOnEngines("a stack transformation", (engine) => {
  it("can set a timeout, and can make an input secret in the state and in errors", async () => {
    const source = program("hush-hush-flavor", SECRET_FLAVOR, TIMEOUT);
    const behaviour = { operationMs: 600_000 };
    await withStack(engine, { program: source, behaviour }, async ({ stack, emulator, write }) => {
      const timedOut = await stack.run("up");
      expect(timedOut.ok).toBe(false);
      expect(timedOut.output).toMatch(/operation op-[0-9a-f]+ /);
      emulator.finishOperations();
      emulator.behaviour.operationMs = 100;
      write(program("hush-hush-flavor", SECRET_FLAVOR, ""));
      expectOk(await stack.run("up"));
      const { inputs } = stateOf(await stack.deployment(), "web");
      expect(inClear(inputs)).toMatchObject({ flavor: "hush-hush-flavor", __secrets: ["flavor"] });
      await expectConverged({ stack, emulator });
      write(program("unknown-hush-flavor", SECRET_FLAVOR, ""));
      const rejected = await stack.run("up");
      expect(rejected.ok).toBe(false);
      const words = rejected.diagnostics.map(({ message }) => message).join("\n");
      expect(words).toMatch(/flavor: .*\[secret\]/);
      expect(words).not.toContain("hush");
    });
  });

  it("can set the import option", async () => {
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const project = emulator.addProject({ name: "p", region: "eu-1" }).id;
      const fields = { project, name: "web", image: "ubuntu", flavor: "s", network: "n" };
      const id = emulator.addInstance(fields).id;
      write(program("s", `project: "${project}"`, `import: "${id}"`));
      expectOk(await stack.run("up"));
      expect(stateOf(await stack.deployment(), "web").id).toBe(id);
      expect([...emulator.instances.keys()]).toEqual([id]);
      await expectConverged({ stack, emulator });
    });
  });
});
