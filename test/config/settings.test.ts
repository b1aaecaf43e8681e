import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { readSettings, type Setting, type Settings, settings as table } from "../../src/config/settings";
import { isCloudInfraError } from "../../src/diagnostics/error";
import { formatError } from "../../src/diagnostics/format";
import { REPOSITORY } from "../harness/modules";

type Texts = Readonly<Record<string, string>>;

const needed = { endpoint: "https://api.example.com", token: "t-stack" };
const stackOf = (texts: Texts) => (key: string) =>
  Object.entries(texts).find(([name]) => `cloudinfra:${name}` === key)?.[1];
const settings = (stack: Texts, environment: Texts = {}): Settings =>
  readSettings(stackOf({ ...needed, ...stack }), environment);

/** Returns the error message of a function that reads settings. */
function messageOf(read: () => Settings, action: string): string {
  try {
    read();
  } catch (error) {
    expect(isCloudInfraError(error)).toBe(true);
    return formatError(error, { action });
  }
  return "";
}

/** Returns the error message for these settings. */
const words = (stack: Texts, environment: Texts = {}): string =>
  messageOf(() => readSettings(stackOf(stack), environment), 'creating instance "web"');

describe("an error about a missing setting", () => {
  test("names the setting, the command that sets it, and the variable", () => {
    expect(words({})).toBe(
      [
        `creating instance "web" failed: the required setting cloudinfra:endpoint (the address of the service) is not set`,
        "  code config_missing",
        "  hint: Run `pulumi config set cloudinfra:endpoint https://api.example.com`, or set the environment variable CLOUDINFRA_ENDPOINT.",
        "  docs: pulumi-cloudinfra/docs/errors.md#config_missing",
      ].join("\n"),
    );
  });

  test("names the other token sources, too", () => {
    expect(words({ endpoint: needed.endpoint })).toBe(
      [
        'creating instance "web" failed: the required setting cloudinfra:token is not set',
        "  code config_missing",
        "  hint: Run `pulumi config set --secret cloudinfra:token`, or set the environment variable CLOUDINFRA_TOKEN. Alternatively, set " +
          "cloudinfra:tokenFile, cloudinfra:tokenCommand, cloudinfra:oidcTokenEndpoint or cloudinfra:oidcIssuer.",
        "  docs: pulumi-cloudinfra/docs/errors.md#config_missing",
      ].join("\n"),
    );
  });

  test("appears for an empty setting, too", () => {
    expect(words({ ...needed, endpoint: " " })).toContain(
      "the required setting cloudinfra:endpoint (the address of the service) is not set",
    );
  });
});

describe("an error about an invalid setting names its source and the correction, but not the value", () => {
  test.each([
    ["operationTimeout", "soon", "CLOUDINFRA_OPERATION_TIMEOUT"],
    ["operationTimeout", "0s", "CLOUDINFRA_OPERATION_TIMEOUT"],
    ["concurrency", "many", "CLOUDINFRA_CONCURRENCY"],
    ["concurrency", "-1", "CLOUDINFRA_CONCURRENCY"],
    ["maxRequestsPerSecond", "0", "CLOUDINFRA_MAX_REQUESTS_PER_SECOND"],
    ["maxRequestsPerSecond", "Infinity", "CLOUDINFRA_MAX_REQUESTS_PER_SECOND"],
    ["formerEndpoints", '["https://a', "CLOUDINFRA_FORMER_ENDPOINTS"],
  ])("%s: %s", (name, value, variable) => {
    const inStack = words({ ...needed, [name]: value });
    expect(inStack).toContain(`the stack setting cloudinfra:${name} must be `);
    expect(inStack).toContain(`pulumi config set cloudinfra:${name}`);
    expect(inStack, "the stack takes precedence").not.toContain(variable);
    expect(inStack).not.toContain(`${value} `);
    const inVariable = words(needed, { [variable]: value });
    expect(inVariable).toContain(`the environment variable ${variable} must be `);
    expect(inVariable).toContain(
      `pulumi config set cloudinfra:${name} …\`, or set the environment variable ${variable}.`,
    );
  });
});

describe("a setting", () => {
  test("can come from its environment variable", () => {
    const found = readSettings(() => undefined, {
      CLOUDINFRA_ENDPOINT: "https://env.example.com",
      CLOUDINFRA_TOKEN: "t-env",
      CLOUDINFRA_OPERATION_TIMEOUT: "5m",
      CLOUDINFRA_CONCURRENCY: "4",
      CLOUDINFRA_MAX_REQUESTS_PER_SECOND: "0.5",
      CLOUDINFRA_REVISION_FIELD: "rev",
      CLOUDINFRA_IP_ADDRESS_FIELD: "floating_ip",
      CLOUDINFRA_FORMER_ENDPOINTS: "https://a.example.com, https://b.example.com",
    });
    expect(found).toEqual({
      endpoint: "https://env.example.com",
      allowHttp: false,
      token: { kind: "token", value: "t-env", source: "the environment variable CLOUDINFRA_TOKEN" },
      operationTimeoutMs: 300_000,
      concurrency: 4,
      maxRequestsPerSecond: 0.5,
      revisionField: "rev",
      ipAddressField: "floating_ip",
      formerEndpoints: ["https://a.example.com", "https://b.example.com"],
    });
  });

  test("of the stack takes precedence over the same setting of the environment", () => {
    const found = settings(
      { operationTimeout: "1h" },
      {
        CLOUDINFRA_ENDPOINT: "https://env.example.com",
        CLOUDINFRA_OPERATION_TIMEOUT: "5m",
        CLOUDINFRA_CONCURRENCY: "4",
      },
    );
    expect(found).toMatchObject({ endpoint: needed.endpoint, operationTimeoutMs: 3_600_000, concurrency: 4 });
  });

  test("that is not set has its default, such as 30 minutes for operations", () => {
    expect(settings({})).toMatchObject({ operationTimeoutMs: 1_800_000, formerEndpoints: [] });
  });

  test("is trimmed", () => {
    expect(settings({ endpoint: " https://api.example.com\n" }).endpoint).toBe("https://api.example.com");
  });
});

describe("the token's source", () => {
  test.each(["token", "tokenFile", "tokenCommand"] as const)("can be %s", (kind) => {
    const found = readSettings(stackOf({ endpoint: needed.endpoint, [kind]: "x" }), {});
    expect(found.token).toEqual({ kind, value: "x", source: `the stack setting cloudinfra:${kind}` });
  });

  test.each(["oidcTokenEndpoint", "oidcIssuer"] as const)("can be an exchange: %s", (kind) => {
    const found = readSettings(
      stackOf({ endpoint: needed.endpoint, [kind]: "https://sts.example.com", oidcAudience: "a" }),
      { CLOUDINFRA_OIDC_SUBJECT: "file: /run/token", CLOUDINFRA_OIDC_AUDIENCE: "b" },
    );
    expect(found.token).toEqual({
      kind,
      value: "https://sts.example.com",
      source: `the stack setting cloudinfra:${kind}`,
      subject: { kind: "file", path: "/run/token" },
      subjectAudience: "a",
      subjectTokenType: "urn:ietf:params:oauth:token-type:jwt",
      audience: "a",
    });
  });

  test.each([
    [
      undefined,
      "the required setting cloudinfra:oidcSubject is not set: the stack setting cloudinfra:oidcIssuer requires a token",
    ],
    ["eyJ-a-token", "the stack setting cloudinfra:oidcSubject must be github, file:<path> or env:<variable>"],
    ["file:", "cloudinfra:oidcSubject must be github"],
  ])("causes an error that lists the valid subjects if the subject is %s", (oidcSubject, wanted) => {
    const oidcIssuer = "https://sts.example.com";
    const said = words({ endpoint: needed.endpoint, oidcIssuer, ...(oidcSubject && { oidcSubject }) });
    expect(said).toContain(wanted);
    expect(said).toContain("hint: Run `pulumi config set cloudinfra:oidcSubject …`");
    expect(said).toContain("The value must be github, file:<path> or env:<variable>.");
    expect(said.includes("CLOUDINFRA_OIDC_SUBJECT")).toBe(oidcSubject === undefined);
    expect(said).not.toContain("eyJ-a-token");
  });

  test("in the stack takes precedence over all sources in the environment", () => {
    const environment = { CLOUDINFRA_TOKEN: "t-env", CLOUDINFRA_TOKEN_COMMAND: "print-token" };
    const found = readSettings(stackOf({ endpoint: needed.endpoint, tokenFile: "token.txt" }), environment);
    expect(found.token.kind).toBe("tokenFile");
  });

  test.each([
    [{ token: "t-1", tokenFile: "f" }, {}, "cloudinfra:token and the stack setting cloudinfra:tokenFile"],
    [
      { tokenFile: "f", oidcIssuer: "https://sts.example.com" },
      {},
      "cloudinfra:tokenFile and the stack setting cloudinfra:oidcIssuer",
    ],
    [
      {},
      { CLOUDINFRA_TOKEN: "t-1", CLOUDINFRA_TOKEN_COMMAND: "c" },
      "CLOUDINFRA_TOKEN and the environment variable CLOUDINFRA_TOKEN_COMMAND",
    ],
  ])("must be unique: two in one place cause an error that names both", (stack, environment, names) => {
    const said = words({ endpoint: needed.endpoint, ...stack }, environment);
    expect(said).toContain("more than one token source is set");
    expect(said).toContain(names);
    expect(said).toContain("hint: Remove all token sources except one.");
    expect(said).not.toContain("t-1");
  });
});

describe("a list setting", () => {
  test.each([
    ['["https://a", "https://b"]', ["https://a", "https://b"]],
    ["https://a,https://b,", ["https://a", "https://b"]],
    ["https://a", ["https://a"]],
    ["[]", []],
  ])("can be written as %s", (text, list) => {
    expect(settings({ formerEndpoints: text }).formerEndpoints).toEqual(list);
  });
});

describe("under the testing kit, which sets CLOUDINFRA_EMULATED", () => {
  const emulated = {
    CLOUDINFRA_EMULATED: "true",
    CLOUDINFRA_ENDPOINT: "http://127.0.0.1:8787/v1",
    CLOUDINFRA_TOKEN: "t-emulator",
    CLOUDINFRA_JOURNAL_DIR: "/tmp/journal",
  };
  const elsewhere = {
    endpoint: "https://api.example.com",
    token: "t-real",
    tokenFile: "/etc/token",
    tokenCommand: "print-token",
    oidcIssuer: "https://issuer.example.com",
    oidcSubject: "github",
    formerEndpoints: "https://old.example.com",
    journalDir: "/home/me/journal",
    caFile: "/etc/missing.pem",
    concurrency: "3",
  };
  const expected = {
    endpoint: emulated.CLOUDINFRA_ENDPOINT,
    token: { kind: "token", value: emulated.CLOUDINFRA_TOKEN },
    formerEndpoints: [],
    journalDir: emulated.CLOUDINFRA_JOURNAL_DIR,
    caFile: undefined,
    concurrency: 3,
  };

  test.each([
    ["the stack's settings", {}],
    ["the arguments of an explicit provider", { providerName: "eu" }],
  ])("%s don't change the endpoint, the token or the journal, but other settings apply", (_, provider) => {
    expect(settings({ ...elsewhere, ...provider }, emulated)).toMatchObject(expected);
  });
});

const eu = { endpoint: "https://eu.example.com", token: "t-eu" };

/** The settings of the explicit provider "eu" with these arguments. */
function providerSettings(args: Texts, environment: Texts = {}): Settings {
  const all: Texts = { providerName: "eu", ...args };
  return readSettings((key) => all[key.replace("cloudinfra:", "")], environment);
}

/** Returns the error message for the explicit provider "eu". */
const providerWords = (...args: Parameters<typeof providerSettings>): string =>
  messageOf(() => providerSettings(...args), "reading");

describe("an explicit provider", () => {
  test("reads omitted arguments from the environment", () => {
    const environment = { CLOUDINFRA_MAX_REQUESTS_PER_SECOND: "3", CLOUDINFRA_CONCURRENCY: "5" };
    expect(providerSettings({ ...eu, concurrency: "4", allowHttp: "true" }, environment)).toMatchObject({
      provider: "eu",
      endpoint: eu.endpoint,
      token: { kind: "token", value: "t-eu", source: 'the `token` argument of the provider "eu"' },
      concurrency: 4,
      allowHttp: true,
      maxRequestsPerSecond: 3,
    });
  });

  test.each(["token", "endpoint"])("doesn't use the environment's %s if its own is empty", (name) => {
    const environment = { CLOUDINFRA_ENDPOINT: "https://api.example.com", CLOUDINFRA_TOKEN: "t-general" };
    const said = providerWords({ ...eu, [name]: " " }, environment);
    expect(said).toContain(`the \`${name}\` argument of the provider "eu" is empty or undefined`);
    // A provider with its own endpoint doesn't use the token of the environment.
    const mayOmit = said.includes("To use the environment variable CLOUDINFRA_ENDPOINT, omit the argument");
    expect(mayOmit).toBe(name === "endpoint");
    expect(said).not.toContain("CLOUDINFRA_TOKEN");
    expect(said).toContain("code config_invalid");
  });

  test("ignores other empty arguments", () => {
    expect(providerSettings({ ...eu, journalDir: "", caFile: "" })).toMatchObject({ journalDir: undefined });
  });

  test("can use another account at the endpoint of the environment, or only the environment", () => {
    const environment = { CLOUDINFRA_ENDPOINT: "https://api.example.com", CLOUDINFRA_TOKEN: "t-general" };
    expect(providerSettings({ token: "t-eu" }, environment)).toMatchObject({
      endpoint: environment.CLOUDINFRA_ENDPOINT,
      token: { value: "t-eu" },
    });
    expect(providerSettings({}, environment)).toMatchObject({ token: { value: "t-general" } });
  });

  test("reads no setting of its token exchange from the environment", () => {
    const exchange = { oidcIssuer: "https://sts.example.com", oidcSubject: "github", oidcAudience: "eu" };
    const environment = {
      CLOUDINFRA_ENDPOINT: "https://api.example.com",
      ...{ CLOUDINFRA_OIDC_SCOPE: "general", CLOUDINFRA_OIDC_CLIENT_SECRET: "general" },
    };
    const { token } = providerSettings(exchange, environment);
    expect(token).toMatchObject({ kind: "oidcIssuer", audience: "eu", subject: { kind: "github" } });
    expect(token).toMatchObject({ scope: undefined, clientSecret: undefined });
  });

  test("can override settings of the exchange that the environment sets", () => {
    const environment = {
      ...{ CLOUDINFRA_ENDPOINT: "https://api.example.com", CLOUDINFRA_OIDC_SUBJECT: "github" },
      ...{
        CLOUDINFRA_OIDC_TOKEN_ENDPOINT: "https://sts.example.com/token",
        CLOUDINFRA_OIDC_SCOPE: "general",
      },
    };
    expect(providerSettings({ oidcAudience: "eu" }, environment).token).toMatchObject({
      ...{ kind: "oidcTokenEndpoint", audience: "eu", scope: "general" },
    });
  });
});

describe("a token is never sent to another endpoint", () => {
  test.each<Texts>([
    {},
    { CLOUDINFRA_TOKEN: "t-env" },
    { CLOUDINFRA_TOKEN_FILE: "/run/token" },
    { CLOUDINFRA_OIDC_ISSUER: "https://sts.example.com", CLOUDINFRA_OIDC_SUBJECT: "github" },
  ])("a provider with its own endpoint needs its own token source, even with %j", (environment) => {
    const said = providerWords({ endpoint: eu.endpoint }, environment);
    expect(said).toContain('the required argument `token` of the provider "eu" is not set');
    expect(said).toContain('Set the `token` argument of the provider "eu" in the program');
  });

  test("a provider with its own endpoint ignores the former endpoints of the environment", () => {
    const environment = { CLOUDINFRA_FORMER_ENDPOINTS: "https://old.example.com" };
    expect(providerSettings(eu, environment).formerEndpoints).toEqual([]);
    const general = { ...environment, CLOUDINFRA_ENDPOINT: "https://api.example.com" };
    expect(providerSettings({ token: "t-eu" }, general).formerEndpoints).toEqual(["https://old.example.com"]);
  });
});

test("the hint for an invalid variable of an explicit provider names the variable, because the stack's configuration doesn't apply", () => {
  const said = providerWords(eu, { CLOUDINFRA_CONCURRENCY: "many" });
  expect(said).toContain("hint: Correct the environment variable CLOUDINFRA_CONCURRENCY");
});

test.each<[string, Texts, string]>([
  [
    "a wrong setting",
    { ...eu, concurrency: "t-secret" },
    '`concurrency` argument of the provider "eu" must be a number',
  ],
  ["two tokens", { ...eu, tokenFile: "t-secret" }, 'the `tokenFile` argument of the provider "eu"'],
  [
    "no endpoint",
    { token: "t-secret" },
    'the required argument `endpoint` (the address of the service) of the provider "eu" is not set',
  ],
  [
    "an exchange whose subject can't be read",
    { endpoint: eu.endpoint, oidcIssuer: "https://sts.example.com", oidcSubject: "t-secret" },
    '`oidcSubject` argument of the provider "eu" must be github, file:<path> or env:<variable>',
  ],
])("an error about %s doesn't contain the value", (_what, args, why) => {
  const said = providerWords(args);
  expect(said).toContain(why);
  expect(said).toContain("hint: ");
  expect(said).not.toContain("cloudinfra:");
  expect(said).not.toContain("t-secret");
  expect(said).not.toContain("t-eu");
});

const types: Record<Setting["type"], string> = {
  string: "string | undefined",
  duration: "string | undefined",
  number: "number | undefined",
  boolean: "boolean | undefined",
  list: "pulumi.Input<string>[] | undefined",
};

test("each argument of Provider has the type and default that the table of settings has, and a secret one says so", () => {
  const source = readFileSync(path.join(REPOSITORY, "src/resources/provider.ts"), "utf8");
  const [, body = ""] = /^export interface ProviderArgs \{\n(.*?)^\}/ms.exec(source) ?? [];
  const found = [...body.matchAll(/\/\*\*(.*?)\*\/\s*(\w+)\?: pulumi\.Input<([^\n]*)>;/gs)].map(
    ([, comment = "", name, type]) => ({
      name,
      type,
      isSecret: comment.includes("It is always encrypted in the state."),
      default: /@default `([^`]*)`\s*$/.exec(comment)?.[1],
    }),
  );
  const expected = Object.entries<Setting>(table)
    .filter(([name]) => name !== "journalDir")
    .map(([name, setting]) => ({
      name,
      type: types[setting.type],
      isSecret: setting.isSecret === true,
      default: setting.default,
    }));
  expect(found).toEqual(expected);
});
