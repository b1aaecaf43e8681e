import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  PROVIDER_NAME,
  readSettings,
  type SettingName,
  type Settings,
  settings,
  variableName,
} from "../../src/config/settings";
import { parseDuration } from "../../src/polling/clock";
import { REPOSITORY } from "../harness/modules";
import { readMarkdown } from "./markdown";

type Texts = Readonly<Record<string, string>>;

const table = (Object.keys(settings) as SettingName[]).map((setting) => ({
  setting,
  variable: variableName(setting),
}));

const usual = { endpoint: "https://usual.example.com", token: "usual" };
/** What must be set so that the settings of an exchange apply. */
const exchange = { oidcTokenEndpoint: "https://sts.example.com/token", oidcSubject: "env:ID_TOKEN" };
/** Values that differ from every default. A setting that is not here accepts any string. */
const values: Texts = {
  operationTimeout: "7m",
  allowHttp: "true",
  concurrency: "7",
  maxRequestsPerSecond: "7",
  oidcSubject: "github",
};
const unusual = (setting: string): string => values[setting] ?? "unusual";

/** Reads settings from a stack with these settings (by their names) and from these variables. */
const read = (stack: Texts, environment: Texts = {}): Settings =>
  readSettings((key) => stack[key.replace("cloudinfra:", "")], environment);

describe("the table of settings in docs/configuration.md", () => {
  it("lists each setting and variable that is read, and no other", () => {
    const names: string[] = [];
    const variables: string[] = [];
    const needed: Texts = {
      CLOUDINFRA_ENDPOINT: usual.endpoint,
      CLOUDINFRA_OIDC_TOKEN_ENDPOINT: exchange.oidcTokenEndpoint,
      CLOUDINFRA_OIDC_SUBJECT: exchange.oidcSubject,
    };
    const lookUp = (key: string): undefined => {
      names.push(key);
    };
    const environment = new Proxy<Texts>(needed, {
      get: (_, name) => {
        if (name !== "CLOUDINFRA_EMULATED") variables.push(String(name)); // only the testing kit sets it
        return needed[String(name)];
      },
    });
    readSettings(lookUp, environment);
    const lookedUp = new Set(names.filter((key) => key !== PROVIDER_NAME));
    expect(table.map(({ setting }) => `cloudinfra:${setting}`).sort()).toEqual([...lookedUp].sort());
    expect(table.map(({ variable }) => variable).sort()).toEqual([...new Set(variables)].sort());
  });

  describe.each(table)("$setting", ({ setting, variable }) => {
    const value = unusual(setting);
    const sources = ["token", "tokenFile", "tokenCommand", "oidcTokenEndpoint", "oidcIssuer"];
    const isSource = sources.includes(setting); // the token has only one
    const before: Texts = setting.startsWith("oidc") ? { endpoint: usual.endpoint, ...exchange } : usual;
    const others: Texts = Object.fromEntries(
      Object.entries(before).filter(([name]) => name !== setting && !(isSource && sources.includes(name))),
    );

    it("takes effect in the stack's configuration", () => {
      const found = read({ ...others, [setting]: value });
      expect(found).not.toEqual(read(before));
    });

    it(`has the same effect as ${variable} in the environment`, () => {
      const inStack = read({ ...others, [setting]: value });
      const inEnvironment = read(others, { [variable]: value });
      const source = `the environment variable ${variable}`;
      expect(inEnvironment).toEqual(isSource ? { ...inStack, token: { ...inStack.token, source } } : inStack);
    });

    it("takes precedence in the stack over the environment", () => {
      const found = read({ ...others, [setting]: value }, { [variable]: "9" });
      expect(found).toEqual(read({ ...others, [setting]: value }));
    });
  });

  it("gives the default of operationTimeout", () => {
    expect(read(usual).operationTimeoutMs).toBe(parseDuration(settings.operationTimeout.default));
  });
});

describe("the pages for users", () => {
  const known = table.flatMap(({ setting, variable }) => [`cloudinfra:${setting}`, variable]);
  const pages = globSync(["README.md", "docs/**/*.md", "examples/*/README.md"], { cwd: REPOSITORY });

  it.each(pages)("%s names only settings and variables that exist", (file) => {
    const named = readMarkdown(file).match(/\bcloudinfra:[a-z]\w+|\bCLOUDINFRA_\w+/g) ?? [];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});
