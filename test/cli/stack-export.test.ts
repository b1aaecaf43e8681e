import { expect, it } from "vitest";
import { explicitProvider, parseExport } from "../../src/cli/stack-export";
import { readSettings } from "../../src/config/settings";
import { exported, TOKEN, urnOf } from "./exports";

const text = JSON.stringify(exported());

/** Parses an export, and drops the functions. */
const comparable = (json: string): unknown => JSON.parse(JSON.stringify(parseExport(json)));

it("reads an export of version 4 like one of version 3", () => {
  const newer = { ...exported(), version: 4, features: ["taint"] };
  expect(comparable(JSON.stringify(newer))).toEqual(comparable(text));
});

it("reads an export without resources and pending operations as an empty stack", () => {
  const empty = { resources: [], pendingCreations: [] };
  expect(parseExport('{"version":3,"deployment":{}}')).toMatchObject(empty);
  expect(parseExport('{"version":3,"deployment":{"resources":null}}')).toMatchObject(empty);
});

it("ignores a byte order mark, which some shells write", () => {
  expect(comparable(`\uFEFF${text}`)).toEqual(comparable(text));
});

it.each([
  ["an old version", '{"version":2,"latest":{}}', "version 2, but this package reads versions 3 and 4"],
  ["a newer version", '{"version":5,"deployment":{}}', "version 5"],
  ["damaged JSON", text.slice(0, -20), "not valid JSON"],
  ["an empty string", "", "not valid JSON"],
  ["other JSON", "[]", "the input is not a stack export"],
  ["a resource without URN", '{"version":3,"deployment":{"resources":[{}]}}', "deployment.resources.0.urn"],
])("rejects %s", (_, wrong, words) => {
  expect(() => parseExport(wrong)).toThrow(words);
});

it("never includes a part of the export in an error", () => {
  const wrongs = [`${TOKEN}{`, `{"version":3,"deployment":"${TOKEN}"}`, `"${TOKEN}"`];
  for (const wrong of wrongs) {
    expect(() => parseExport(wrong)).toThrow();
    expect(() => parseExport(wrong)).not.toThrow(TOKEN);
  }
});

it("requires the URN of an explicit provider if several have its name", () => {
  const [type, id] = ["pulumi:providers:pulumi-nodejs", "c0ffee"];
  const urns = [urnOf(type, "eu"), urnOf(`app:Site$${type}`, "eu")];
  const resources = urns.map((urn) => ({ urn, id, type, inputs: { "cloudinfra:providerName": "eu" } }));
  const stack = (...some: typeof resources) => parseExport(JSON.stringify(exported({ resources: some })));
  expect(() => explicitProvider(stack(...resources), "eu")).toThrow(`such as ${urns.join(" and ")}`);
  for (const urn of urns)
    expect(explicitProvider(stack(...resources), urn)).toMatchObject({ urn, name: "eu" });
  // The state contains a provider twice while the deletion of its former version is pending.
  const [eu] = resources;
  expect(eu && explicitProvider(stack(eu, eu), "eu").urn).toBe(urns[0]);
});

it("reads a setting without surrounding white space, as the provider does", () => {
  const type = "pulumi:providers:pulumi-nodejs";
  const inputs = { "cloudinfra:providerName": "eu", "cloudinfra:journalDir": "journal\n" };
  const resources = [{ urn: urnOf(type, "eu"), id: "c0ffee", type, inputs }];
  const { setting } = explicitProvider(parseExport(JSON.stringify(exported({ resources }))), "eu");
  expect(setting("cloudinfra:journalDir")).toBe("journal");
});

it("doesn't use a token of the environment instead of the empty token of an explicit provider", () => {
  const type = "pulumi:providers:pulumi-nodejs";
  const inputs = { "cloudinfra:providerName": "eu", "cloudinfra:token": "" };
  const resources = [{ urn: urnOf(type, "eu"), id: "c0ffee", type, inputs }];
  const { setting } = explicitProvider(parseExport(JSON.stringify(exported({ resources }))), "eu");
  const environment = { CLOUDINFRA_ENDPOINT: "https://api.example.com", CLOUDINFRA_TOKEN: TOKEN };
  expect(() => readSettings(setting, environment)).toThrow("is empty");
});
