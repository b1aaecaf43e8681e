import { readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readSettings, type Settings } from "../../src/config/read-settings";
import { PROVIDER_NAME } from "../../src/config/settings";
import { parseDuration } from "../../src/polling/clock";
import { REPOSITORY } from "../harness/modules";
import { quoted, readMarkdown, section, tableRows } from "./markdown";

type Texts = Readonly<Record<string, string>>;

const readme = readMarkdown("README.md");
const table = tableRows(section(readme, "Settings")).map(([setting = "", variable = "", meaning = ""]) => ({
  setting: quoted(setting).join(),
  variable: quoted(variable).join(),
  meaning,
}));

const usual = { endpoint: "https://usual.example.com", token: "usual" };
/** What has to be there for an exchange's settings to count. */
const exchange = { oidcTokenEndpoint: "https://sts.example.com/token", oidcSubject: "env:ID_TOKEN" };
/** Values that differ from every default; a setting that is not here takes any text. */
const values: Texts = {
  operationTimeout: "7m",
  allowHttp: "true",
  concurrency: "7",
  maxRequestsPerSecond: "7",
  oidcSubject: "github",
};
const unusual = (setting: string): string => values[setting] ?? "unusual";

/** What is read from a stack with these settings (by their names) and from these variables. */
const read = (stack: Texts, environment: Texts = {}): Settings =>
  readSettings((key) => stack[key.replace("cloudinfra:", "")], environment);

describe("the README's table of settings", () => {
  it("lists each setting and variable that is looked up, and no other", () => {
    const settings: string[] = [];
    const variables: string[] = [];
    const needed: Texts = {
      CLOUDINFRA_ENDPOINT: usual.endpoint,
      CLOUDINFRA_OIDC_TOKEN_ENDPOINT: exchange.oidcTokenEndpoint,
      CLOUDINFRA_OIDC_SUBJECT: exchange.oidcSubject,
    };
    const lookUp = (key: string): undefined => {
      settings.push(key);
    };
    const environment = new Proxy<Texts>(needed, {
      get: (_, name) => {
        variables.push(String(name));
        return needed[String(name)];
      },
    });
    readSettings(lookUp, environment);
    const lookedUp = new Set(settings.filter((key) => key !== PROVIDER_NAME));
    expect(table.map(({ setting }) => `cloudinfra:${setting}`).sort()).toEqual([...lookedUp].sort());
    expect(table.map(({ variable }) => variable).sort()).toEqual([...new Set(variables)].sort());
  });

  describe.each(table)("$setting", ({ setting, variable }) => {
    const value = unusual(setting);
    const sources = ["token", "tokenFile", "tokenCommand", "oidcTokenEndpoint", "oidcIssuer"];
    const isSource = sources.includes(setting); // the token has one
    const before: Texts = setting.startsWith("oidc") ? { endpoint: usual.endpoint, ...exchange } : usual;
    const others: Texts = Object.fromEntries(
      Object.entries(before).filter(([name]) => name !== setting && !(isSource && sources.includes(name))),
    );

    it("changes what is read when it is set in the stack", () => {
      const found = read({ ...others, [setting]: value });
      expect(found).not.toEqual(read(before));
    });

    it(`does the same as ${variable} in the environment`, () => {
      const inStack = read({ ...others, [setting]: value });
      const inEnvironment = read(others, { [variable]: value });
      const source = `the variable ${variable}`;
      expect(inEnvironment).toEqual(isSource ? { ...inStack, token: { ...inStack.token, source } } : inStack);
    });

    it("has the stack's value where the environment has another", () => {
      const found = read({ ...others, [setting]: value }, { [variable]: "9" });
      expect(found).toEqual(read({ ...others, [setting]: value }));
    });
  });

  it("tells the default of operationTimeout", () => {
    const meaning = table.find(({ setting }) => setting === "operationTimeout")?.meaning ?? "";
    const [duration = ""] = quoted(meaning.slice(meaning.lastIndexOf("(")));
    expect(read(usual).operationTimeoutMs).toBe(parseDuration(duration));
  });
});

describe("what the READMEs say to set", () => {
  const known = table.flatMap(({ setting, variable }) => [`cloudinfra:${setting}`, variable]);

  const examples = readdirSync(path.join(REPOSITORY, "examples"));
  const files = examples.map((name) => `examples/${name}/README.md`);

  it.each(["README.md", ...files])("%s names no setting or variable that does not exist", (file) => {
    const named = readMarkdown(file).match(/\bcloudinfra:[a-z]\w+|\bCLOUDINFRA_\w+/g) ?? [];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});
