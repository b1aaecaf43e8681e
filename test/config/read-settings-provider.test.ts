import { describe, expect, test } from "vitest";
import { readSettings, type Settings } from "../../src/config/read-settings";
import { isCloudInfraError } from "../../src/diagnostics/error";
import { formatError } from "../../src/diagnostics/format";

type Texts = Readonly<Record<string, string>>;

const eu = { endpoint: "https://eu.example.com", token: "t-eu" };

/** The settings of the explicit provider "eu" with these arguments. */
function read(args: Texts, environment: Texts = {}): Settings {
  const all: Texts = { providerName: "eu", ...args };
  return readSettings((key) => all[key.replace("cloudinfra:", "")], environment);
}

/** What a person would see. */
function words(...args: Parameters<typeof read>): string {
  try {
    read(...args);
  } catch (error) {
    expect(isCloudInfraError(error)).toBe(true);
    return formatError(error, { action: "reading" });
  }
  return "";
}

describe("an explicit provider", () => {
  test("reads omitted arguments from the environment", () => {
    const environment = { CLOUDINFRA_MAX_REQUESTS_PER_SECOND: "3", CLOUDINFRA_CONCURRENCY: "5" };
    expect(read({ ...eu, concurrency: "4", allowHttp: "true" }, environment)).toMatchObject({
      provider: "eu",
      endpoint: eu.endpoint,
      token: { kind: "token", value: "t-eu", source: 'the `token` argument of the provider "eu"' },
      concurrency: 4,
      allowHttp: true,
      maxRequestsPerSecond: 3,
    });
  });

  test("can use another account at the endpoint of the environment, or only the environment", () => {
    const environment = { CLOUDINFRA_ENDPOINT: "https://api.example.com", CLOUDINFRA_TOKEN: "t-general" };
    expect(read({ token: "t-eu" }, environment)).toMatchObject({
      endpoint: environment.CLOUDINFRA_ENDPOINT,
      token: { value: "t-eu" },
    });
    expect(read({}, environment)).toMatchObject({ token: { value: "t-general" } });
  });

  test("reads no setting of its token exchange from the environment", () => {
    const exchange = { oidcIssuer: "https://sts.example.com", oidcSubject: "github", oidcAudience: "eu" };
    const environment = {
      CLOUDINFRA_ENDPOINT: "https://api.example.com",
      ...{ CLOUDINFRA_OIDC_SCOPE: "general", CLOUDINFRA_OIDC_CLIENT_SECRET: "general" },
    };
    const { token } = read(exchange, environment);
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
    expect(read({ oidcAudience: "eu" }, environment).token).toMatchObject({
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
    const said = words({ endpoint: eu.endpoint }, environment);
    expect(said).toContain('the required argument `token` of the provider "eu" is not set');
    expect(said).toContain('Set the `token` argument of the provider "eu" in the program');
  });

  test("a provider with its own endpoint ignores the former endpoints of the environment", () => {
    const environment = { CLOUDINFRA_FORMER_ENDPOINTS: "https://old.example.com" };
    expect(read(eu, environment).formerEndpoints).toEqual([]);
    const general = { ...environment, CLOUDINFRA_ENDPOINT: "https://api.example.com" };
    expect(read({ token: "t-eu" }, general).formerEndpoints).toEqual(["https://old.example.com"]);
  });
});

test("the hint for an invalid variable of an explicit provider names the variable, because the stack's configuration doesn't apply", () => {
  const said = words(eu, { CLOUDINFRA_CONCURRENCY: "many" });
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
  const said = words(args);
  expect(said).toContain(why);
  expect(said).toContain("hint: ");
  expect(said).not.toContain("cloudinfra:");
  expect(said).not.toContain("t-secret");
  expect(said).not.toContain("t-eu");
});
