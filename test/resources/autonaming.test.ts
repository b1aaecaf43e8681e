// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expressions of Pulumi's patterns
import * as pulumi from "@pulumi/pulumi";
import { afterEach, describe, expect, test } from "vitest";
import { Instance, Project } from "../../src";
import { type Run, registered } from "./registered";

const args = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };

afterEach(() => {
  pulumi.runtime.setAllConfig({});
});

/** The hidden input `__autonaming` of a project and an instance, for this setting. */
async function namings(
  setting: unknown,
  config: Record<string, string> = {},
  run: Run = {},
): Promise<unknown[]> {
  const autonaming = setting === undefined ? {} : { "pulumi:autonaming": JSON.stringify(setting) };
  pulumi.runtime.setAllConfig({ ...autonaming, ...config });
  const program = () => [new Project("shop", { region: "eu-1" }), new Instance("web", args)];
  return (await registered(program, run)).map(({ inputs }) => inputs.__autonaming);
}

const INSTANCE = "pulumi-nodejs:dynamic/cloudinfra:Instance";

describe("the setting pulumi:autonaming", () => {
  test.each<[string, unknown, unknown[]]>([
    ["not at all without the setting", undefined, [undefined, undefined]],
    ["not at all in the mode default", { mode: "default" }, [undefined, undefined]],
    ["as the pattern ${name} in the mode verbatim", { mode: "verbatim" }, ["${name}", "${name}"]],
    ["as false in the mode disabled", { mode: "disabled" }, [false, false]],
    [
      "as its pattern",
      { pattern: "${name}-${hex(4)}", enforce: true },
      ["${name}-${hex(4)}", "${name}-${hex(4)}"],
    ],
    [
      "as the one of the provider pulumi-nodejs, if that has one",
      { pattern: "a", providers: { "pulumi-nodejs": { pattern: "b" }, aws: { pattern: "c" } } },
      ["b", "b"],
    ],
    [
      "as the one of the resource type, if that has one",
      {
        pattern: "a",
        providers: { "pulumi-nodejs": { pattern: "b", resources: { [INSTANCE]: { mode: "disabled" } } } },
      },
      ["b", false],
    ],
    [
      "not at all for other types of a provider that has a setting for one type only, as in Pulumi's engine",
      { pattern: "a", providers: { "pulumi-nodejs": { resources: { [INSTANCE]: { pattern: "b" } } } } },
      [undefined, "b"],
    ],
  ])("%s", async (_how, setting, expected) => {
    expect(await namings(setting)).toEqual(expected);
  });

  test("replaces the names of the organization, project and stack, and values of the project's configuration", async () => {
    const pattern = "${organization}-${project}-${stack}-${config.team}-${config.cost.center}-${name}";
    const config = { "app:team": "blue", "app:cost": '{"center":42}' };
    const [naming] = await namings({ pattern }, config, { organization: "acme" });
    expect(naming).toBe("acme-app-dev-blue-42-${name}");
    const [withoutOrganization] = await namings({ pattern: "${organization}" });
    expect(withoutOrganization).toBe("organization");
  });

  test("causes an error that names a missing configuration key", async () => {
    await expect(namings({ pattern: "${config.team}" })).rejects.toThrow(
      "cloudinfra: pulumi:autonaming: the pattern contains ${config.team}, but the project configuration doesn't set this key",
    );
  });
});
