import { createServer } from "node:net";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { startRaw } from "../api/raw";
import { type Answer, inTurn, startService } from "../api/service";
import { FakeClock } from "../polling/fake-clock";
import { expectSilentOn, failureOf, sourceOf, wordsOf } from "./sources";

const ISSUED = { access_token: "t-1", token_type: "Bearer", expires_in: 60 };
const SUBJECT = "subject-abcdefgh";
const SECRET = "client-secret-abcdefgh";
/** What a token service may put into a reply that the client can't use. */
const LEAKED = "leaked-token-abcdefgh";

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

describe("an exchange with a transient failure", () => {
  test.each<Answer>([
    { status: 503 },
    { status: 429, headers: { "retry-after": "3" } },
    { status: 500, body: { error: "server_error" } },
    { fault: "lost" },
    { fault: "cut", body: ISSUED },
  ])("is retried after %j", async (answer) => {
    const { service, source, clock } = await exchange(answer, answer, { body: ISSUED });
    expect(await source.get()).toBe("t-1");
    expect(service.seen).toHaveLength(3);
    expect(clock.sleeps).toHaveLength(2);
    if (answer.headers) expect(Math.min(...clock.sleeps)).toBeGreaterThanOrEqual(3_000);
  });

  test("is attempted five times", async () => {
    const { service, source } = await exchange({ status: 503, body: { error: "temporarily_unavailable" } });
    const error = await failureOf(source.get());
    expect(error.code).toBe("unavailable");
    expect(error.summary).toBe(
      `the token exchange at ${service.origin}/token failed: temporarily_unavailable (503)`,
    );
    expect(service.seen).toHaveLength(5);
  });

  test("times out after a minute if the token service doesn't respond", async () => {
    const { source, service } = await exchange({ fault: "silent" });
    const clock = new FakeClock();
    const settings = { oidcTokenEndpoint: `${service.origin}/token`, oidcSubject: "env:ID_TOKEN" };
    const slow = sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock });
    const failed = failureOf(slow.get());
    while (service.seen.length === 0) await new Promise(setImmediate);
    await clock.advance(60_000);
    const error = await failed;
    expect(error.code).toBe("unreachable");
    expect(error.summary).toContain("timed out after 60 s");
    expect(source.origin).toBe(slow.origin);
  });
});

test("optional members of a reply can be null", async () => {
  const none = { refresh_token: null, scope: null, expires_in: null, id_token: null };
  const { source } = await exchange({ body: { ...ISSUED, ...none } });
  expect(await source.get()).toBe("t-1");
});

/** A token service that answers each connection with these bytes, whatever HTTP says about them. */
async function rawService(reply: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => socket.end(reply));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}/token`;
}

describe("a reply that is not HTTP is retried, and its error contains no part of it", () => {
  test.each([
    ["a control character in a header", `HTTP/1.1 200 OK\r\nx: \u0001\r\n\r\n{"access_token":"${LEAKED}"}`],
    [
      "an invalid chunk size",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{"access_token":"${LEAKED}"}`,
    ],
    ["no status line", `{"access_token":"${LEAKED}"}`],
    ["a status that is no number", `HTTP/1.1 OK\r\nx-token: ${LEAKED}\r\n\r\n`],
  ])("%s", async (_what, reply) => {
    const settings = { oidcTokenEndpoint: await rawService(reply), oidcSubject: "env:ID_TOKEN" };
    const clock = new FakeClock({ auto: true });
    const source = sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock });
    await expectSilentOn(source.get(), LEAKED, SUBJECT);
    expect((await failureOf(source.get())).code).toBe("unreachable");
    expect(clock.sleeps.length).toBeGreaterThan(0);
  });
});

describe("a permanent failure is reported immediately, without tokens", () => {
  test.each<[Answer, string]>([
    [
      { status: 400, body: { error: "invalid_target" } },
      "Check cloudinfra:oidcAudience and cloudinfra:oidcScope",
    ],
    [{ status: 403, body: `<h1>no</h1> ${SUBJECT}` }, "rejected the request: no reason given (403)"],
    [{ status: 404, body: "<h1>not found</h1>" }, "hint: Check the address"],
    [
      { status: 401, headers: { "www-authenticate": "Basic" }, body: { error: "invalid_client" } },
      "invalid_client (401)",
    ],
    [
      { status: 307, headers: { location: `https://elsewhere.example.com/?t=${SUBJECT}` } },
      "redirect (307) to https://elsewhere.example.com",
    ],
    [{ body: "<html>" }, "is not JSON"],
    [{ body: { token_type: "Bearer" } }, `has no valid "access_token"`],
    [{ body: { ...ISSUED, token_type: "mac" } }, `has no valid "token_type"`],
    [{ body: { ...ISSUED, expires_in: "soon" } }, `has no valid "expires_in"`],
    [{ body: "" }, "is not JSON"],
    [{ status: 201, body: { ...ISSUED, access_token: LEAKED } }, "has status 201 instead of 200"],
    [{ status: 204 }, "has status 204 instead of 200"],
    [{ status: 205 }, "has status 205 instead of 200"],
    [{ status: 206, body: { ...ISSUED, access_token: LEAKED } }, "has status 206 instead of 200"],
    [{ body: `{"access_token":"${LEAKED}",` }, "is not JSON"],
    [{ body: [LEAKED] }, `has no valid "access_token"`],
    [{ body: { ...ISSUED, access_token: { value: LEAKED } } }, `has no valid "access_token"`],
    [{ body: { ...ISSUED, access_token: `${LEAKED}\nx-admin: yes` } }, "contains more than a token"],
    [{ body: { ...ISSUED, access_token: `${LEAKED}\u{e9}` } }, "contains more than a token"],
    [{ body: `"${LEAKED.repeat(2 ** 20)}"` }, "too large"],
  ])("case %#: %.80j", async (answer, why) => {
    const { service, source } = await exchange(answer);
    expect(await wordsOf(source.get())).toContain(why);
    expect(service.seen).toHaveLength(1);
    await expectSilentOn(source.get(), SUBJECT, SECRET, "t-1", LEAKED);
  });

  test("after a rejection that repeats the client's encoded credentials", async () => {
    const given: string[] = [];
    const service = await startService(({ headers }) => {
      given.push(headers.authorization ?? "");
      const error_description = `not accepted: ${headers.authorization}`;
      return { status: 401, body: { error: "invalid_client", error_description } };
    });
    const settings = {
      ...{ oidcTokenEndpoint: `${service.origin}/token`, oidcSubject: "env:ID_TOKEN" },
      ...{ oidcClientId: "ci", oidcClientSecret: SECRET },
    };
    const source = sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock: new FakeClock({ auto: true }) });
    expect(await wordsOf(source.get())).toContain("not accepted: Basic [secret] (401)");
    expect(given).toEqual([`Basic ${Buffer.from(`ci:${SECRET}`).toString("base64")}`]);
  });

  test("after a rejection with a very long description", async () => {
    const { source } = await exchange({ status: 400, body: { error: "invalid_grant".padEnd(2 ** 20, "!") } });
    const { message } = await failureOf(source.get());
    expect(message).toContain("invalid_grant");
    expect(message.length).toBeLessThan(1_000);
  });

  test("after a malformed reply, whose rest may contain a token", async () => {
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

  test("with the address of a token service that can't be reached", async () => {
    const settings = { oidcTokenEndpoint: "http://127.0.0.1:1/token", oidcSubject: "env:ID_TOKEN" };
    const words = await wordsOf(
      sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock: new FakeClock({ auto: true }) }).get(),
    );
    expect(words).toContain("the token exchange at http://127.0.0.1:1/token can't be reached: ");
    expect(words).toContain("hint: Check the address, and make sure that this machine can reach the host");
  });
});

test("an id token in the reply is ignored", async () => {
  const { source } = await exchange({ body: { ...ISSUED, id_token: "a.b.c" } });
  expect(await source.get()).toBe("t-1");
});

test("a token whose lifetime is missing or zero never expires", async () => {
  const { service, source, clock } = await exchange({ body: { ...ISSUED, expires_in: 0 } });
  await source.get();
  await clock.advance(1e9);
  await source.get();
  expect(service.seen).toHaveLength(1);
});

test("a reply that arrives too slowly times out after a minute", async () => {
  let drop = (): void => {};
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{"));
    drop = () => void socket.write(" ");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const clock = new FakeClock();
  const settings = {
    oidcTokenEndpoint: `http://127.0.0.1:${address.port}/token`,
    oidcSubject: "env:ID_TOKEN",
  };
  const failed = failureOf(sourceOf({ settings, env: { ID_TOKEN: SUBJECT }, clock }).get());
  for (let seconds = 0; seconds < 60; seconds += 10) {
    await clock.advance(10_000);
    drop();
  }
  expect((await failed).summary).toContain("timed out after 60 s");
});

describe("the address of a token service", () => {
  const open = (settings: Readonly<Record<string, string>>) => () =>
    sourceOf({ settings: { oidcSubject: "github", ...settings } });

  test.each([
    ["sts.example.com", "is not a URL that begins with https://"],
    [
      "http://sts.example.com/token",
      "must begin with https://: http would send tokens to sts.example.com unencrypted",
    ],
    ["https://user:pass@sts.example.com", "must not contain a user name or password"],
    ["https://sts.example.com/#x", 'must not contain "#"'],
  ])("is rejected if it is %s", (address, why) => {
    for (const name of ["oidcTokenEndpoint", "oidcIssuer"])
      expect(open({ [name]: address })).toThrow(`the stack setting cloudinfra:${name} ${why}`);
  });

  test("must not have a query if it is an issuer", () => {
    expect(open({ oidcIssuer: "https://sts.example.com/?x" })).toThrow(
      'cloudinfra:oidcIssuer must not contain "?"',
    );
  });

  test("can use http if allowHttp is set", () => {
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
      "has a token endpoint at a different origin, https://elsewhere.example.com: no token was sent there",
    ],
    ["over http", { token_endpoint: "http://elsewhere.example.com/token" }, "must begin with https://"],
    ["nowhere", {}, "doesn't contain a token endpoint"],
  ])("that names a token endpoint %s is an error", async (_where, document, why) => {
    const service = await startService(({ headers }) => ({
      body: { issuer: `http://${headers.host}`, ...document },
    }));
    expect(await wordsOf(ofIssuer(service.origin).get())).toContain(why);
    expect(service.seen.map(({ path }) => path)).toEqual(["/.well-known/openid-configuration"]);
  });

  test("whose configuration names another issuer is rejected", async () => {
    const service = await startService(({ headers }) => ({
      body: { issuer: "https://elsewhere.example.com", token_endpoint: `http://${headers.host}/token` },
    }));
    expect(await wordsOf(ofIssuer(service.origin).get())).toContain("belongs to a different issuer");
    expect(service.seen).toHaveLength(1);
  });

  test("is queried again only after a failure", async () => {
    const service = await startService(({ path, headers }, index) => {
      if (index === 0) return { status: 404 };
      const here = `http://${headers.host}`;
      return { body: path === "/token" ? ISSUED : { issuer: here, token_endpoint: `${here}/token` } };
    });
    const source = ofIssuer(service.origin);
    expect(await wordsOf(source.get())).toContain("the issuer's configuration at");
    await source.get();
    await source.renew("t-1");
    const asked = service.seen.filter(({ path }) => path !== "/token");
    expect(asked).toHaveLength(2);
  });
});
