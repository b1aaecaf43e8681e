import { describe, expect, test } from "vitest";
import { isCloudInfraError } from "../../../src/diagnostics/error";
import { inWords } from "../../../src/diagnostics/words";
import { readSettings, type Settings } from "../../../src/provider/settings/settings";

type Texts = Readonly<Record<string, string>>;

const needed = { endpoint: "https://api.example.com", token: "t-general" };
const eu = { endpoint: "https://eu.example.com", token: "t-eu" };

function read(profiles: unknown, stack: Texts = {}, environment: Texts = {}, profile = "eu"): Settings {
  const all: Texts = { ...needed, ...stack, profiles: JSON.stringify(profiles) };
  return readSettings((key) => all[key.replace("cloudinfra:", "")], environment, profile);
}

/** What a person would see. */
function words(...args: Parameters<typeof read>): string {
  try {
    read(...args);
  } catch (error) {
    expect(isCloudInfraError(error)).toBe(true);
    return inWords(error, { doing: "reading" });
  }
  return "";
}

describe("a profile's settings", () => {
  test("win over the stack's and the environment's; what it leaves out is theirs", () => {
    const found = read(
      { eu: { ...eu, concurrency: 4, allowHttp: true }, us: { concurrency: 9 } },
      { operationTimeout: "7m", concurrency: "2", journalDir: "notes" },
      { CLOUDINFRA_MAX_REQUESTS_PER_SECOND: "3", CLOUDINFRA_CONCURRENCY: "5" },
    );
    expect(found).toMatchObject({
      profile: "eu",
      endpoint: eu.endpoint,
      token: {
        kind: "token",
        value: "t-eu",
        source: `the stack's setting cloudinfra:profiles ("eu", token)`,
      },
      concurrency: 4,
      allowHttp: true,
      operationTimeoutMs: 420_000,
      maxRequestsPerSecond: 3,
      journalDir: "notes",
    });
  });

  test("keep each digit of a number that `pulumi config set --path` has made of a text", () => {
    const profiles = `{"eu":{"oidcClientId":271828182845904523,"oidcIssuer":"https://sts.example.com","oidcSubject":"github"}}`;
    const { token } = readSettings(
      (key) => ({ ...needed, profiles })[key.replace("cloudinfra:", "")],
      {},
      "eu",
    );
    expect(token).toMatchObject({ clientId: "271828182845904523" });
  });

  test("may be of another account at the same endpoint, or the same account", () => {
    expect(read({ eu: { token: "t-eu" } })).toMatchObject({
      endpoint: needed.endpoint,
      token: { value: "t-eu" },
    });
    expect(read({ eu: {} })).toMatchObject({ endpoint: needed.endpoint, token: { value: "t-general" } });
  });

  test("may be an exchange, whose settings are the profile's own", () => {
    const exchange = { oidcIssuer: "https://sts.example.com", oidcSubject: "github", oidcAudience: "eu" };
    const { token } = read({ eu: { ...exchange } }, { oidcScope: "general", oidcClientSecret: "general" });
    expect(token).toMatchObject({ kind: "oidcIssuer", audience: "eu", subject: { kind: "github" } });
    expect(token).not.toMatchObject({ scope: "general" });
    expect(token).not.toMatchObject({ clientSecret: "general" });
  });

  test.each(["stack", "environment"])(
    "may be other settings of the exchange that the %s names: audience, scope, client",
    (place) => {
      const stack = { oidcTokenEndpoint: "https://sts.example.com/token", oidcSubject: "github" };
      const inEnvironment = {
        CLOUDINFRA_OIDC_TOKEN_ENDPOINT: stack.oidcTokenEndpoint,
        CLOUDINFRA_OIDC_SUBJECT: stack.oidcSubject,
      };
      const { token } = read(
        { eu: { oidcAudience: "eu", oidcClientId: "eu" } },
        { token: "", oidcAudience: "general", oidcScope: "general", ...(place === "stack" && stack) },
        place === "environment" ? inEnvironment : {},
      );
      expect(token).toMatchObject({
        kind: "oidcTokenEndpoint",
        value: stack.oidcTokenEndpoint,
        audience: "eu",
        clientId: "eu",
        scope: "general",
      });
    },
  );

  test.each([
    ["no token to exchange", {}],
    ["none that can be read", { oidcSubject: "t-secret" }],
  ])("may be an exchange with %s: what is to be set is the profile's", (_what, more) => {
    const said = words(
      { eu: { oidcTokenEndpoint: "https://sts.example.com/token", ...more } },
      { oidcSubject: "github" },
    );
    expect(said).toContain(
      "hint: pulumi config set --path cloudinfra:profiles.eu.oidcSubject github, file:<path>",
    );
    expect(said).not.toContain("t-secret");
  });

  test("may stand in the environment", () => {
    const environment = { CLOUDINFRA_PROFILES: JSON.stringify({ eu }) };
    expect(readSettings(() => undefined, environment, "eu")).toMatchObject({
      endpoint: eu.endpoint,
      token: { source: `the variable CLOUDINFRA_PROFILES ("eu", token)` },
    });
  });

  test("may be lists, numbers and truth values, as `pulumi config set --path` makes them", () => {
    const formerEndpoints = ["https://a.example.com", "https://b.example.com"];
    expect(read({ eu: { ...eu, formerEndpoints, maxRequestsPerSecond: 0.5 } })).toMatchObject({
      formerEndpoints,
      maxRequestsPerSecond: 0.5,
    });
  });
});

describe("a token goes to no other endpoint than its own", () => {
  test.each([
    ["token", {}],
    ["token", { CLOUDINFRA_TOKEN: "t-env" }],
    ["token", { CLOUDINFRA_OIDC_ISSUER: "https://sts.example.com", CLOUDINFRA_OIDC_SUBJECT: "github" }],
  ])("a profile with an endpoint needs a %s of its own, whatever else is set: %j", (name, environment) => {
    const said = words({ eu: { endpoint: eu.endpoint } }, {}, environment);
    expect(said).toContain(`the profile "eu" has no ${name}`);
    expect(said).toContain("pulumi config set --secret --path cloudinfra:profiles.eu.token");
    expect(said).toContain("CLOUDINFRA_PROFILES");
  });

  test("nor are the former addresses of another endpoint its own", () => {
    const stack = { formerEndpoints: "https://old.example.com" };
    expect(read({ eu }, stack).formerEndpoints).toEqual([]);
    expect(read({ eu: { token: "t-eu" } }, stack).formerEndpoints).toEqual(["https://old.example.com"]);
  });
});

describe("what is wrong with profiles is said without a value of theirs", () => {
  test.each<[string, unknown, string]>([
    ["another name", { us: eu, asia: eu }, `there is no profile "eu"; there are: "us", "asia"`],
    ["none at all", {}, `there is no profile "eu"; there are: none`],
    ["inherited", { __proto__: null }, `there is no profile "eu"`],
    [
      "a misspelt setting",
      { eu: { ...eu, tokn: "t-secret" } },
      `("eu") has a setting that no profile has: tokn`,
    ],
    ["one of the machine", { eu: { ...eu, journalDir: "t-secret" } }, "that no profile has: journalDir"],
    ["no map", ["t-secret"], "cloudinfra:profiles is not a map of profiles"],
    ["no settings", { eu: "t-secret" }, "cloudinfra:profiles is not a map of profiles"],
    [
      "a wrong setting",
      { eu: { ...eu, concurrency: "t-secret" } },
      `cloudinfra:profiles ("eu", concurrency) is not a number above zero`,
    ],
    [
      "two tokens",
      { eu: { ...eu, tokenFile: "t-secret" } },
      `("eu", token) and the stack's setting cloudinfra:profiles ("eu", tokenFile)`,
    ],
  ])("%s", (_what, profiles, why) => {
    const said = words(profiles);
    expect(said).toContain(why);
    expect(said).toContain("hint: ");
    if (why.startsWith("there is no")) expect(said).toContain("keep it beside the new one until an `up`");
    expect(said).not.toContain("t-secret");
    expect(said).not.toContain("t-eu");
  });

  test("no JSON", () => {
    expect(() =>
      readSettings((key) => (key.endsWith("profiles") ? '{"eu": t-secret' : "x"), {}, "eu"),
    ).toThrow(/^the stack's setting cloudinfra:profiles is not a map of profiles, each a map of settings$/);
  });

  test("a name that is no word is spelt as Pulumi wants it", () => {
    expect(words({}, {}, {}, "e.u")).toContain(`'cloudinfra:profiles["e.u"].endpoint'`);
  });

  test("they are no matter of settings without a profile", () => {
    expect(
      readSettings((key) => ({ ...needed, profiles: "{" })[key.replace("cloudinfra:", "")], {}).profile,
    ).toBe(undefined);
  });
});
