import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { inTurn, type Seen, startService } from "../api/service";
import { FakeClock } from "../polling/fake-clock";
import { expectSilentOn, sourceOf, wordsOf } from "./sources";

const GITHUB = { value: "github-id-token" };
const ISSUED = { access_token: "t-1", token_type: "Bearer", expires_in: 60 };

/** GitHub's token service and the exchange, in one. */
async function both(github: object = { body: GITHUB }) {
  const service = await startService(({ path }) => (path === "/token" ? { body: ISSUED } : github));
  const env = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `${service.origin}/job?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: "pass-of-the-job",
  };
  const settings = { oidcTokenEndpoint: `${service.origin}/token`, oidcSubject: "github" };
  return { service, env, settings };
}

const queryOf = (seen: readonly Seen[]): string => String(seen[0]?.query);
const bodyOf = (seen: readonly Seen[]): string => seen[1]?.body ?? "";

describe("the identity token of GitHub Actions", () => {
  test("is requested with the job's request token and sent only to the token endpoint", async () => {
    const { service, env, settings } = await both();
    expect(await sourceOf({ settings, env }).get()).toBe("t-1");
    const [asked, exchanged] = service.seen;
    expect(asked?.headers.authorization).toBe("Bearer pass-of-the-job");
    expect(queryOf(service.seen)).toBe("api-version=2.0");
    expect(new URLSearchParams(bodyOf(service.seen)).get("subject_token")).toBe("github-id-token");
    expect(exchanged?.headers.authorization).toBeUndefined();
  });

  test.each([
    [{ oidcAudience: "https://a" }, "https://a", "https://a"],
    [{ oidcAudience: "https://a", oidcSubjectAudience: "https://b" }, "https://b", "https://a"],
    [{ oidcSubjectAudience: "https://b" }, "https://b", null],
  ])("has the audience that %j sets", async (more, ofGitHub, ofNew) => {
    const { service, env, settings } = await both();
    await sourceOf({ settings: { ...settings, ...more }, env }).get();
    expect(new URLSearchParams(queryOf(service.seen)).get("audience")).toBe(ofGitHub);
    expect(new URLSearchParams(bodyOf(service.seen)).get("audience")).toBe(ofNew);
  });

  test.each(["ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"])(
    "is missing without %s, and the error says so",
    async (name) => {
      const { env, settings } = await both();
      const words = await wordsOf(sourceOf({ settings, env: { ...env, [name]: undefined } }).get());
      expect(words).toContain("GitHub Actions provides no token");
      expect(words).toContain(`${name} is not set`);
    },
  );

  test.each([
    [{ body: { token: "x" } }, `has no valid "value"`],
    [{ body: { value: "" } }, "the token from GitHub Actions is empty"],
    [{ status: 403, body: { error: "forbidden" } }, "rejected the request: forbidden (403)"],
    [
      { status: 302, headers: { location: "https://elsewhere.example.com/x?y=1" } },
      "redirect (302) to https://elsewhere.example.com",
    ],
  ])(
    "that GitHub doesn't return (%j) causes an error without the job's request token",
    async (answer, why) => {
      const { env, settings } = await both(answer);
      expect(await wordsOf(sourceOf({ settings, env }).get())).toContain(why);
      await expectSilentOn(sourceOf({ settings, env }).get(), "pass-of-the-job");
    },
  );
});

describe("another subject token", () => {
  const settings = { oidcTokenEndpoint: "https://sts.example.com/token" };

  test.each([
    ["env:ID_TOKEN", "the variable ID_TOKEN from cloudinfra:oidcSubject is not set"],
    [
      `file:${tmpdir()}/none-such`,
      `the file ${tmpdir()}/none-such from cloudinfra:oidcSubject can't be read`,
    ],
  ])("causes an error that names its source if it is missing: %s", async (oidcSubject, why) => {
    expect(await wordsOf(sourceOf({ settings: { ...settings, oidcSubject } }).get())).toContain(why);
  });

  test.each([
    "env:eyJhb-Gci.eyJzdWIi.c2ln_bmF0",
    "env:pat_4f9a7be21c0d",
    "file:eyJhb-Gci.eyJzdWIi.c2ln_bmF0",
  ])(
    "that is missing causes an error without its source if that may be the token itself: %s",
    async (oidcSubject) => {
      const getting = () => sourceOf({ settings: { ...settings, oidcSubject } }).get();
      expect(await wordsOf(getting())).toMatch(/^.*the (variable|file) from cloudinfra:oidcSubject /);
      await expectSilentOn(getting(), oidcSubject.replace(/^\w+:/, ""));
    },
  );

  test.each(["", "two words"])(
    "in a variable that contains %j causes an error without the content",
    async (text) => {
      const source = sourceOf({
        settings: { ...settings, oidcSubject: "env:ID_TOKEN" },
        env: { ID_TOKEN: text },
      });
      expect(await wordsOf(source.get())).toMatch(
        /the variable ID_TOKEN.* is empty|contains more than a token/,
      );
      await expectSilentOn(source.get(), "two words");
    },
  );

  test("in a file that is being replaced is read again after a pause", async () => {
    const service = await startService(inTurn({ body: ISSUED }));
    const file = path.join(mkdtempSync(path.join(tmpdir(), "subject-")), "token");
    writeFileSync(file, "");
    const clock = new FakeClock();
    const settings = { oidcTokenEndpoint: `${service.origin}/token`, oidcSubject: `file:${file}` };
    const source = sourceOf({ settings, clock });
    const getting = source.get();
    while (clock.sleeping === 0) await new Promise(setImmediate);
    writeFileSync(file, "subject");
    await clock.advance(500);
    expect(await getting).toBe("t-1");
    writeFileSync(file, "");
    const empty = sourceOf({ settings, clock: new FakeClock({ auto: true }) });
    expect(await wordsOf(empty.get())).toContain(`the file ${file} from cloudinfra:oidcSubject is empty`);
    rmSync(path.dirname(file), { recursive: true });
  });

  test("is sent once for concurrent callers", async () => {
    const service = await startService(inTurn({ body: ISSUED }));
    const source = sourceOf({
      settings: { oidcTokenEndpoint: `${service.origin}/token`, oidcSubject: "env:ID_TOKEN" },
      env: { ID_TOKEN: "subject" },
    });
    await Promise.all([source.get(), source.get()]);
    expect(service.seen.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /token"]);
  });
});
