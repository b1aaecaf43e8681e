import { expect, it } from "vitest";
import { changesOf, expectConverged, expectOk, noRequestsDuring } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf } from "../harness/state";

const program = (flavor: string): string => `
  const project = new Project("p", { region: "eu-1" });
  const web = new Instance("web", {
    project: project.id, image: "ubuntu", flavor: "${flavor}", network: project.name, publicIp: "auto",
    labels: { of: project.name },
  });
  exports.name = web.name;
  exports.flavor = web.flavor;
  exports.address = web.ipAddress;
`;

describeOnEngines("a preview", (engine) => {
  it("needs no settings and no service, and shows what up does", async () => {
    const settings = { "cloudinfra:endpoint": undefined, "cloudinfra:token": undefined };
    await withStack(
      engine,
      { program: program("small"), config: settings },
      async ({ stack, emulator, write }) => {
        const first = expectOk(await noRequestsDuring(emulator, () => stack.run("preview")));
        expect(changesOf(first)).toEqual({ create: 3 });

        await stack.setConfig("cloudinfra:endpoint", emulator.endpoint);
        await stack.setConfig("cloudinfra:token", { secret: emulator.token });
        const made = expectOk(await stack.run("up"));
        expect(changesOf(made)).toEqual(changesOf(first));
        const { name, address } = made.outputs;
        expect(name).toMatch(/^web-[0-9a-f]{7}$/);
        expect(address).toMatch(/^203\.0\.113\./);
        const instance = [...emulator.instances.values()][0];
        expect(instance?.fields.name).toBe(name);
        expect(instance?.fields.network).toBe([...emulator.projects.values()][0]?.fields.name);

        await stack.removeConfig("cloudinfra:token");
        write(program("large"));
        const second = expectOk(await noRequestsDuring(emulator, () => stack.run("preview")));
        expect(changesOf(second)).toEqual({ update: 1 });
        expect(stateOf(await stack.deployment(), "web").outputs?.flavor).toBe("small");

        await stack.setConfig("cloudinfra:token", { secret: emulator.token });
        const updated = expectOk(await stack.run("up"));
        expect(changesOf(updated)).toEqual(changesOf(second));
        expect(updated.outputs).toMatchObject({ name, address, flavor: "large" });
        await expectConverged({ stack, emulator });
      },
    );
  });

  it("never shows hidden inputs, even if they change together with an argument", async () => {
    const source = (name: string, args: string, options: string): string => `
      const project = new Project("p", { region: "eu-1" });
      const args = { project: project.id, image: "ubuntu", network: "n" };
      new Instance("${name}", { ...args, ${args} }, { ${options} });
    `;
    const program = source("web", 'flavor: "small", name: "given"', "");
    const hidden = /__\w+/;
    await withStack(engine, { program }, async ({ stack, emulator, write }) => {
      expect(expectOk(await stack.run("up")).output).not.toMatch(hidden);
      const [{ id = "" } = {}] = emulator.instances.values();
      emulator.edit(id, { network: "theirs" });
      const refreshed = expectOk(await stack.run("refresh"));
      expect(refreshed.output).toMatch(/\[diff: ~network\]/);
      const labels = 'labels: pulumi.secret({ tier: "a secret tier" })';
      const options = 'customTimeouts: { delete: "5m" }, aliases: [{ name: "web" }]';
      for (const args of [`flavor: "large", ${labels}`, `image: "debian-13", flavor: "large", ${labels}`]) {
        write(source("front", args, options));
        const { output } = expectOk(await stack.run("preview"));
        expect(output).toMatch(/\[diff: [^\]]*(?:labels|image)/);
        if (args.includes("image"))
          expect(output).toContain("requires replacement: image can't be changed in place");
        else expect(output).not.toContain("is replaced");
        for (const command of ["preview", "up"] as const)
          expect(expectOk(await stack.run(command)).output).not.toMatch(hidden);
        expect(expectOk(await stack.run("refresh")).output).not.toMatch(hidden);
      }
      await expectConverged({ stack, emulator });
    });
  });

  it("reports all invalid arguments of a resource at once", async () => {
    const wrong = `
      new Instance("web", {
        project: "prj-1", image: 7, flavor: "small", netwrok: "n", labels: { "a b": "1", c: 2 },
        sshKeys: ["ssh-rsa AAAA\\n", "-----BEGIN OPENSSH PRIVATE KEY-----"],
      });
    `;
    await withStack(engine, { program: wrong }, async ({ stack, emulator }) => {
      const result = await noRequestsDuring(emulator, () => stack.run("up"));
      expect(result.ok).toBe(false);
      const about = (name: string): string =>
        result.diagnostics
          .filter(({ severity, urn }) => severity === "error" && urn?.endsWith(`::${name}`))
          .map(({ message }) => message)
          .join("\n");
      expect(about("web")).toMatch(/image: must be a string, but is a number/);
      expect(about("web")).toMatch(/network: is required/);
      expect(about("web")).toMatch(/unknown argument "netwrok" of an instance; did you mean "network"\?/);
      expect(about("web")).toMatch(/sshKeys\[0\]: must be a single line/);
      expect(about("web")).toMatch(/sshKeys\[1\]: is a private key/);
      expect(about("web")).toMatch(/labels\.c: must be a string/);
      expect(result.output).not.toContain("BEGIN OPENSSH");
      expect(emulator.instances.size).toBe(0);
    });
  });
});
