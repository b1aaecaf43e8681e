import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { startRaw } from "../api/raw";
import { type Answer, inTurn, startService } from "../api/service";
import { FakeClock } from "../operations/fake-clock";
import { expectSilentOn, failureOf, sourceOf, wordsOf } from "./sources";

const ISSUED = { access_token: "t-1", token_type: "Bearer", expires_in: 60 };
const SUBJECT = "subject-abcdefgh";
const SECRET = "client-secret-abcdefgh";

/** An exchange that answers so, in turn. */
async function exchange(...answers: Answer[]) {
  const service = await startService(inTurn(...answers));
  const clock = new FakeClock({ auto: true });
  const settings = {
    ...{ oidcTokenEndpoint: `${service.origin}/token`, oidcSubject: "env:ID_TOKEN" },
    ...{ oidcClientId: "ci", oidcClientSecret: SECRET },
  };
  return { service, clock, source: sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock }) };
}

describe("what may pass is tried again", () => {
  test.each<Answer>([
    { status: 503 },
    { status: 429, headers: { "retry-after": "3" } },
    { status: 500, body: { error: "server_error" } },
    { fault: "lost" },
    { fault: "cut", body: ISSUED },
  ])("%j", async (answer) => {
    const { service, source, clock } = await exchange(answer, answer, { body: ISSUED });
    expect(await source.get()).toBe("t-1");
    expect(service.seen).toHaveLength(3);
    expect(clock.sleeps).toHaveLength(2);
    if (answer.headers) expect(Math.min(...clock.sleeps)).toBeGreaterThanOrEqual(3_000);
  });

  test("a few times", async () => {
    const { service, source } = await exchange({ status: 503, body: { error: "temporarily_unavailable" } });
    const error = await failureOf(source.get());
    expect(error.code).toBe("unavailable");
    expect(error.summary).toBe(
      `the token exchange at ${service.origin}/token answered temporarily_unavailable (503)`,
    );
    expect(service.seen).toHaveLength(5);
  });

  test("not longer than a minute, however long the token service is silent", async () => {
    const { source, service } = await exchange({ fault: "silent" });
    const clock = new FakeClock();
    const settings = { oidcTokenEndpoint: `${service.origin}/token`, oidcSubject: "env:ID_TOKEN" };
    const slow = sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock });
    const failed = failureOf(slow.get());
    while (service.seen.length === 0) await new Promise(setImmediate);
    await clock.advance(60_000);
    const error = await failed;
    expect(error.code).toBe("unreachable");
    expect(error.summary).toContain("took longer than 60 s");
    expect(source.origin).toBe(slow.origin);
  });
});

describe("what can't pass is an error at once, without the tokens", () => {
  test.each<[Answer, string]>([
    [
      { status: 400, body: { error: "invalid_target" } },
      "check cloudinfra:oidcAudience and cloudinfra:oidcScope",
    ],
    [{ status: 403, body: `<h1>no</h1> ${SUBJECT}` }, "refused: without saying why (403)"],
    [
      { status: 401, headers: { "www-authenticate": "Basic" }, body: { error: "invalid_client" } },
      "invalid_client (401)",
    ],
    [
      { status: 307, headers: { location: `https://elsewhere.example.com/?t=${SUBJECT}` } },
      "redirect (307) to https://elsewhere.example.com",
    ],
    [{ body: "<html>" }, "something that can't be used"],
    [{ body: { token_type: "Bearer" } }, `"access_token" property must be a string`],
    [{ body: { ...ISSUED, token_type: "mac" } }, "unsupported `token_type` value"],
    [{ body: { ...ISSUED, expires_in: "soon" } }, `"expires_in"`],
    [{ status: 204 }, "something that can't be used"],
  ])("%j", async (answer, why) => {
    const { service, source } = await exchange(answer);
    expect(await wordsOf(source.get())).toContain(why);
    expect(service.seen).toHaveLength(1);
    await expectSilentOn(source.get(), SUBJECT, SECRET, "t-1");
  });

  test("a malformed reply of the token service, without its rest, which may hold a token", async () => {
    const { port } = await startRaw({
      onRequest: (socket) =>
        socket.write('HTTP/1.1 200 OK\r\nx y: 1\r\ncontent-length: 24\r\n\r\n{"access_token":"t-0815"}'),
    });
    const endpoint = `http://127.0.0.1:${port}/token`;
    const settings = { oidcTokenEndpoint: endpoint, oidcSubject: "env:ID_TOKEN" };
    const clock = new FakeClock({ auto: true });
    const error = await failureOf(sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock }).get());
    expect(error).toMatchObject({ code: "unreachable" });
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain("t-0815");
  });

  test("a token service that is not there, by its address", async () => {
    const settings = { oidcTokenEndpoint: "http://127.0.0.1:1/token", oidcSubject: "env:ID_TOKEN" };
    const words = await wordsOf(
      sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock: new FakeClock({ auto: true }) }).get(),
    );
    expect(words).toContain("the token exchange at http://127.0.0.1:1/token can't be reached: ");
    expect(words).toContain("hint: check its address, and that this machine can reach it");
  });
});

test("an id token beside the token is nothing that has to be right", async () => {
  const { source } = await exchange({ body: { ...ISSUED, id_token: "a.b.c" } });
  expect(await source.get()).toBe("t-1");
});

test("a lifetime that is not told has no end, nor has one of zero", async () => {
  const { service, source, clock } = await exchange({ body: { ...ISSUED, expires_in: 0 } });
  await source.get();
  await clock.advance(1e9);
  await source.get();
  expect(service.seen).toHaveLength(1);
});

describe("addresses", () => {
  const open = (settings: Readonly<Record<string, string>>) => () =>
    sourceOf({ settings: { oidcSubject: "github", ...settings } });

  test.each([
    ["sts.example.com", "is not a URL that begins with https://"],
    [
      "http://sts.example.com/token",
      "must begin with https://: over http a token could be read on the way to sts.example.com",
    ],
    ["https://user:pass@sts.example.com", "must not contain a user name or password"],
    ["https://sts.example.com/#x", 'must not contain "?" or "#"'],
  ])("%s is none for tokens", (address, why) => {
    for (const name of ["oidcTokenEndpoint", "oidcIssuer"])
      expect(open({ [name]: address })).toThrow(`the stack's setting cloudinfra:${name} ${why}`);
  });

  test("over http are taken where that is allowed", () => {
    expect(open({ oidcIssuer: "http://sts.example.com", allowHttp: "true" })).not.toThrow();
  });
});

describe("an issuer", () => {
  const ofIssuer = (issuer: string) =>
    sourceOf({
      settings: { oidcIssuer: issuer, oidcSubject: "env:ID_TOKEN" },
      env: { ID_TOKEN: SUBJECT },
      clock: new FakeClock({ auto: true }),
    });

  test.each([
    [
      "elsewhere",
      { token_endpoint: "https://elsewhere.example.com/token" },
      "names a token endpoint elsewhere, at https://elsewhere.example.com: no token was sent there",
    ],
    ["over http", { token_endpoint: "http://elsewhere.example.com/token" }, "must begin with https://"],
    ["nowhere", {}, "names no token endpoint"],
  ])("that names a token endpoint %s is an error", async (_where, document, why) => {
    const service = await startService(({ headers }) => ({
      body: { issuer: `http://${headers.host}`, ...document },
    }));
    expect(await wordsOf(ofIssuer(service.origin).get())).toContain(why);
    expect(service.seen.map(({ path }) => path)).toEqual(["/.well-known/openid-configuration"]);
  });

  test("that calls itself otherwise is not believed", async () => {
    const service = await startService(({ headers }) => ({
      body: { issuer: "https://elsewhere.example.com", token_endpoint: `http://${headers.host}/token` },
    }));
    expect(await wordsOf(ofIssuer(service.origin).get())).toContain(
      "the issuer's configuration answered with",
    );
    expect(service.seen).toHaveLength(1);
  });

  test("is asked once where it answered, and again where it did not", async () => {
    const service = await startService(({ path, headers }, index) => {
      if (index === 0) return { status: 404 };
      const here = `http://${headers.host}`;
      return { body: path === "/token" ? ISSUED : { issuer: here, token_endpoint: `${here}/token` } };
    });
    const source = ofIssuer(service.origin);
    expect(await wordsOf(source.get())).toContain("the issuer's configuration at");
    await source.get();
    await source.renew?.("t-1");
    const asked = service.seen.filter(({ path }) => path !== "/token");
    expect(asked).toHaveLength(2);
  });
});
