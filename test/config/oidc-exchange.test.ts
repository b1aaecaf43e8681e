import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "../polling/fake-clock";
import { expectSilentOn, sourceOf, wordsOf } from "./sources";
import { CLIENT, startTokenService, type TokenService } from "./token-service";

const SUBJECT = "subject-1-abcdefgh";

let service: TokenService;
let folder: string;
beforeEach(async () => {
  service = await startTokenService();
  service.subjects.add(SUBJECT);
  folder = mkdtempSync(path.join(tmpdir(), "exchange-"));
});
afterEach(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

const env = { ID_TOKEN: SUBJECT };
const settings = (): Record<string, string> => ({
  oidcTokenEndpoint: service.tokenEndpoint,
  oidcSubject: "env:ID_TOKEN",
  oidcClientId: CLIENT.id,
  oidcClientSecret: CLIENT.secret,
});

describe("a token exchange", () => {
  test("works at an endpoint with a query, such as the policy of Azure AD B2C", async () => {
    const oidcTokenEndpoint = `${service.tokenEndpoint}?p=policy`;
    const source = sourceOf({ settings: { ...settings(), oidcTokenEndpoint }, env });
    expect(await source.get()).toBe(service.issued[0]);
    expect(service.exchanges[0]?.query).toEqual({ p: "policy" });
    expect(source.origin).toBe(
      `the token exchange at ${service.tokenEndpoint} (the stack setting cloudinfra:oidcTokenEndpoint)`,
    );
  });

  test("sends the configured parameters to the configured endpoint", async () => {
    const source = sourceOf({
      settings: { ...settings(), oidcAudience: "https://api.example.com", oidcScope: "instances" },
      env,
    });
    expect(await source.get()).toBe(service.issued[0]);
    const [{ parameters, authorization } = { parameters: {}, authorization: "" }] = service.exchanges;
    expect(parameters).toMatchObject({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: SUBJECT,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
      audience: "https://api.example.com",
      scope: "instances",
    });
    expect(authorization).toMatch(/^Basic /);
    expect(source.origin).toBe(
      `the token exchange at ${service.tokenEndpoint} (the stack setting cloudinfra:oidcTokenEndpoint)`,
    );
  });

  test("uses the endpoint in the issuer's configuration", async () => {
    const { oidcTokenEndpoint: _, ...others } = settings();
    const source = sourceOf({ settings: { ...others, oidcIssuer: service.issuer }, env });
    expect(await source.get()).toBe(service.issued[0]);
  });

  test("supports a client without a secret, and another token type", async () => {
    const { oidcClientSecret: _, ...others } = settings();
    const type = "urn:ietf:params:oauth:token-type:id_token";
    const source = sourceOf({
      settings: { ...others, oidcClientId: "open", oidcSubjectTokenType: type },
      env,
    });
    expect(await source.get()).toBe(service.issued[0]);
    expect(service.exchanges[0]).toMatchObject({
      authorization: undefined,
      parameters: { client_id: "open", subject_token_type: type },
    });
  });

  test("works with environment variables only", async () => {
    const source = sourceOf({
      settings: {},
      env: {
        ...env,
        CLOUDINFRA_OIDC_ISSUER: service.issuer,
        CLOUDINFRA_OIDC_SUBJECT: "env:ID_TOKEN",
        CLOUDINFRA_OIDC_CLIENT_ID: CLIENT.id,
        CLOUDINFRA_OIDC_CLIENT_SECRET: CLIENT.secret,
      },
    });
    expect(await source.get()).toBe(service.issued[0]);
    expect(source.origin).toContain("the environment variable CLOUDINFRA_OIDC_ISSUER");
  });
});

describe("the new token", () => {
  test("is renewed shortly before it expires, with the subject token that the file contains then", async () => {
    const clock = new FakeClock();
    const file = path.join(folder, "token");
    writeFileSync(file, `${SUBJECT}\n`);
    const source = sourceOf({ settings: { ...settings(), oidcSubject: `file:${file}` }, clock });
    const first = await source.get();
    await clock.advance(3_539_000);
    expect(await source.get()).toBe(first);
    writeFileSync(file, "subject-2-abcdefgh");
    service.subjects.add("subject-2-abcdefgh");
    await clock.advance(2_000);
    const second = await source.get();
    expect(second).not.toBe(first);
    expect(second).toBe(service.issued[1]);
    expect(service.exchanges.map(({ parameters }) => parameters.subject_token)).toEqual([
      SUBJECT,
      "subject-2-abcdefgh",
    ]);
  });

  test("is renewed once for concurrent callers if the service rejects it", async () => {
    const source = sourceOf({ settings: settings(), env });
    const all = await Promise.all([source.get(), source.get(), source.get()]);
    expect(new Set(all).size).toBe(1);
    const [refused = ""] = all;
    const renewed = await Promise.all([source.renew(refused), source.renew(refused), source.get()]);
    expect(renewed.slice(0, 2)).toEqual([service.issued[1], service.issued[1]]);
    expect(service.issued).toHaveLength(2);
  });

  test("is renewed after four fifths of a short lifetime", async () => {
    service.lifetimeS = 10;
    const clock = new FakeClock();
    const source = sourceOf({ settings: settings(), env, clock });
    await source.get();
    await clock.advance(7_900);
    await source.get();
    expect(service.issued).toHaveLength(1);
    await clock.advance(200);
    await source.get();
    expect(service.issued).toHaveLength(2);
  });
});

describe("a rejected exchange", () => {
  test("causes an error with the reason, the address and a hint, but without the token", async () => {
    const source = sourceOf({ settings: settings(), env: { ID_TOKEN: "other-subject-token" } });
    const words = await wordsOf(source.get());
    expect(words).toBe(
      [
        `reading failed: the token exchange at ${service.tokenEndpoint} rejected the request: invalid_grant: the subject token [secret] is not known here (400)`,
        "  code unauthorized",
        "  hint: Check cloudinfra:oidcSubject, cloudinfra:oidcSubjectAudience and cloudinfra:oidcSubjectTokenType. " +
          "The token service must accept the token's issuer, audience and type.",
        "  docs: pulumi-cloudinfra/docs/errors.md#unauthorized",
      ].join("\n"),
    );
    await expectSilentOn(source.get(), "other-subject-token", CLIENT.secret);
  });

  test("causes an error that names the client's settings, but not its secret, if the client is invalid", async () => {
    const wrong = { ...settings(), oidcClientSecret: "another secret of it" };
    const source = sourceOf({ settings: wrong, env });
    const words = await wordsOf(source.get());
    expect(words).toContain("rejected the request: invalid_client");
    expect(words).toContain("Check cloudinfra:oidcClientId and cloudinfra:oidcClientSecret");
    await expectSilentOn(source.get(), SUBJECT, "another secret of it", "another+secret");
  });

  test("is repeated by the next caller", async () => {
    service.subjects.clear();
    const source = sourceOf({ settings: settings(), env });
    await wordsOf(source.get());
    service.subjects.add(SUBJECT);
    expect(await source.get()).toBe(service.issued[0]);
  });

  test("is repeated once the current token has expired", async () => {
    const clock = new FakeClock();
    service.lifetimeS = 100;
    const source = sourceOf({ settings: settings(), env, clock });
    const first = await source.get();
    service.subjects.clear();
    await clock.advance(95_000);
    expect(await source.get()).toBe(first);
    service.subjects.add(SUBJECT);
    await clock.advance(6_000);
    expect(await source.get()).toBe(service.issued[1]);
  });

  test("is not an error while the current token is valid", async () => {
    const clock = new FakeClock();
    const source = sourceOf({ settings: settings(), env, clock });
    const first = await source.get();
    service.subjects.clear();
    await clock.advance(3_545_000);
    expect(await source.get()).toBe(first);
    expect(await source.get()).toBe(first);
    expect(service.exchanges).toHaveLength(2); // not with each request
    await clock.advance(60_000);
    expect(await wordsOf(source.get())).toContain("invalid_grant");
  });
});
