// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Pulumi's name patterns use this syntax
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import type { Engine, EngineEvent } from "../harness/engine";
import { type Scenario, withStack } from "../harness/scenario";

const program = (...names: string[]): string =>
  names.map((name) => `new Project("${name}", { region: "eu-1" });`).join("\n");

/** Sets `pulumi:autonaming`. The CLI can't set a structured value in one command, so this edits the file. */
async function setAutonaming(engine: Engine, { stack, dir }: Scenario, setting: object): Promise<void> {
  if (engine.name === "fake") return stack.setConfig("pulumi:autonaming", JSON.stringify(setting));
  const file = path.join(dir, "Pulumi.dev.yaml");
  const settings = parse(readFileSync(file, "utf8"));
  writeFileSync(
    file,
    stringify({ ...settings, config: { ...settings.config, "pulumi:autonaming": setting } }),
  );
}

const projectNames = ({ emulator }: Scenario): unknown[] =>
  [...emulator.projects.values()].map(({ fields }) => fields.name).sort();

/** The names that a preview shows for the projects that it creates. */
async function previewedNames({ stack }: Scenario): Promise<unknown[]> {
  const names: unknown[] = [];
  const onEvent = (event: EngineEvent): void => {
    if (event.kind === "step-done" && event.op === "create" && event.type.endsWith(":Project"))
      names.push(event.shown?.outputs.name);
  };
  expectOk(await stack.run("preview", { onEvent }));
  return names;
}

describeLongOnEngines("the setting pulumi:autonaming", (engine) => {
  it("names new resources as the preview shows, and renames no existing ones", async () => {
    await withStack(engine, { program: program("shop") }, async (scenario) => {
      const { stack, write } = scenario;
      await setAutonaming(engine, scenario, { pattern: "${name}-${stack}" });
      expect(await previewedNames(scenario)).toEqual(["shop-dev"]);
      expectOk(await stack.run("up"));
      expect(projectNames(scenario)).toEqual(["shop-dev"]);

      await setAutonaming(engine, scenario, { pattern: "x-${name}-${hex(5)}" });
      await expectConverged(scenario);
      write(program("shop", "store"));
      expectOk(await stack.run("up"));
      expect(projectNames(scenario)).toEqual(["shop-dev", expect.stringMatching(/^x-store-[0-9a-f]{5}$/)]);

      await setAutonaming(engine, scenario, { mode: "disabled" });
      await expectConverged(scenario);
      write(program("shop", "store", "market"));
      const failed = await stack.run("preview");
      expect(failed.ok).toBe(false);
      expect(failed.output).toContain("name: is required, because pulumi:autonaming has the mode disabled");
    });
  });
});
