import { describe, expect, it, vi } from "vitest";
import { createAuth, type IssuedToken, type TokenSource } from "../../src/api/auth";
import { FakeClock } from "../polling/fake-clock";
import { clientOf, failureOf, inTurn, type Seen, startService, TOKEN } from "./service";

const page = { items: [], next_cursor: null };
const refused = { status: 401, body: { code: "token_expired", trace_id: "tr-3" } };

/** Creates a source whose token is "old-token" until it is fetched again. */
function renewable(next = "old-token") {
  const fetched: string[] = [];
  const source: TokenSource = {
    origin: "the setting cloudinfra:tokenFile (/run/token)",
    async fetch() {
      const token = fetched.length === 0 ? "old-token" : next;
      fetched.push(token);
      return { token };
    },
  };
  return { source, fetched };
}

const onlyNewToken = (request: Seen) =>
  request.headers.authorization === "Bearer new-token" ? { body: page } : refused;

describe("the token", () => {
  it("is sent as a bearer token", async () => {
    const { origin, seen } = await startService(inTurn({ body: page }));
    const { client, call } = clientOf(origin);
    await client.projects.list(call);
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it("is renewed once if the service rejects it, and the request is retried", async () => {
    const { origin, seen } = await startService(onlyNewToken);
    const { source, fetched } = renewable("new-token");
    const { client, call } = clientOf(origin, { token: source });
    await client.projects.list(call);
    await client.projects.list(call);
    expect(fetched).toEqual(["old-token", "new-token"]);
    expect(seen).toHaveLength(3);
  });

  it.each([
    { code: "token_expired" },
    { code: "invalid_token" },
    { code: "ExpiredToken" },
    { code: "ACCESS_TOKEN_EXPIRED" },
    { type: "https://errors.example/token-expired" },
  ])("is renewed after a 403 with the problem %j", async (problem) => {
    const body = { title: "Forbidden", ...problem };
    const { origin, seen } = await startService((request) =>
      request.headers.authorization === "Bearer new-token" ? { body: page } : { status: 403, body },
    );
    const { client, call } = clientOf(origin, { token: renewable("new-token").source });
    await client.projects.list(call);
    expect(seen).toHaveLength(2);
  });

  it("is named by the error if it is rejected with a 403 and can't be renewed", async () => {
    const { origin } = await startService(inTurn({ status: 403, body: { code: "token_expired" } }));
    const { client, call } = clientOf(origin, { token: renewable(undefined).source });
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "unauthorized",
      summary: "the service rejected the token from the setting cloudinfra:tokenFile (/run/token) (403)",
    });
  });

  it.each([
    { code: "forbidden", title: "The token has expired" },
    { code: "token_lacks_scope", detail: "invalid token" },
    { type: "https://tokens.example/invalid-region" },
  ])("isn't renewed after a 403 with the problem %j, which is about a permission", async (body) => {
    const { origin, seen } = await startService(inTurn({ status: 403, body }));
    const { source, fetched } = renewable("new-token");
    const { client, call } = clientOf(origin, { token: source });
    expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "forbidden" });
    expect(fetched).toEqual(["old-token"]);
    expect(seen).toHaveLength(1);
  });

  it("is fetched after the wait for the rate limit, during which a token may expire", async () => {
    let isOver = false;
    const { origin, seen } = await startService(() => {
      isOver = true;
      return { body: page };
    });
    const fetch = async () => ({ token: isOver ? "new-token" : "old-token", lifetimeMs: 0 });
    const source: TokenSource = { origin: "the test", fetch };
    const { client, call } = clientOf(origin, { token: source, concurrency: 1 });
    await Promise.all([client.projects.list(call), client.projects.list(call)]);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer old-token",
      "Bearer new-token",
    ]);
  });

  it("is renewed once for all requests that are rejected at the same time, and isn't renewed again afterwards", async () => {
    const { promise, resolve } = Promise.withResolvers<IssuedToken>();
    const fetch = vi.fn(() => promise).mockResolvedValueOnce({ token: "old-token" });
    const auth = createAuth({ origin: "the test", fetch }, new FakeClock());
    const { signal } = new AbortController();
    await auth.token(signal);
    const renewed = Promise.all([1, 2, 3].map(() => auth.renewed("old-token", signal)));
    resolve({ token: "new-token" });
    expect(await renewed).toEqual(["new-token", "new-token", "new-token"]);
    expect(await auth.renewed("old-token", signal)).toBe("new-token");
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it("isn't fetched again for a request that is rejected during a renewal that returns the same token", async () => {
    const { promise, resolve } = Promise.withResolvers<IssuedToken>();
    const fetch = vi.fn(() => promise).mockResolvedValueOnce({ token: "old-token" });
    const auth = createAuth({ origin: "the test", fetch }, new FakeClock());
    const { signal } = new AbortController();
    await auth.token(signal);
    const first = auth.renewed("old-token", signal);
    while (fetch.mock.calls.length < 2) await new Promise((later) => setImmediate(later));
    const second = auth.renewed("old-token", signal);
    resolve({ token: "old-token" });
    expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it("is renewed even if the first request that needs it is cancelled", async () => {
    const { promise, resolve } = Promise.withResolvers<IssuedToken>();
    const tokens = [Promise.resolve({ token: "old-token" }), promise];
    const fetch = () => tokens.shift() ?? promise;
    const auth = createAuth({ origin: "the test", fetch }, new FakeClock());
    const first = new AbortController();
    await auth.token(first.signal);
    const gone = auth.renewed("old-token", first.signal);
    const stays = auth.renewed("old-token", new AbortController().signal);
    first.abort(new Error("enough"));
    await expect(gone).rejects.toThrow("enough");
    resolve({ token: "new-token" });
    expect(await stays).toBe("new-token");
  });

  it("causes an error with its source if it is rejected again", async () => {
    const { origin, seen } = await startService(inTurn(refused));
    const { source } = renewable("new-token");
    const { client, call } = clientOf(origin, { token: source });
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "unauthorized",
      summary: "the service rejected the token from the setting cloudinfra:tokenFile (/run/token) (401)",
      traceId: "tr-3",
    });
    expect(seen).toHaveLength(2);
  });

  it("isn't sent again if it can't be renewed", async () => {
    const { origin, seen } = await startService(inTurn(refused));
    const { client, call } = clientOf(origin, { token: renewable(undefined).source });
    expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "unauthorized" });
    expect(seen).toHaveLength(1);
  });

  it.each(["", "two words", "line\nbreak", "naïve"])(
    "%j is rejected before a request, and isn't shown",
    async (bad) => {
      const { origin, seen } = await startService(inTurn({ body: page }));
      const { client, call } = clientOf(origin, {
        token: { origin: "CLOUDINFRA_TOKEN", fetch: async () => ({ token: bad }) },
      });
      const error = await failureOf(client.projects.list(call));
      expect(error).toMatchObject({
        code: "config_invalid",
        message: expect.stringContaining("CLOUDINFRA_TOKEN"),
      });
      if (bad !== "") expect(String(error)).not.toContain(bad);
      expect(seen).toHaveLength(0);
    },
  );

  it.each([
    ["two words", "the token from CLOUDINFRA_TOKEN contains more than a token"],
    [" ", "the token from CLOUDINFRA_TOKEN is empty"],
  ])("%j has the same message as a token in a file", async (bad, message) => {
    const source = { origin: "CLOUDINFRA_TOKEN", fetch: async () => ({ token: bad }) };
    const auth = createAuth(source, new FakeClock());
    await expect(auth.token(new AbortController().signal)).rejects.toMatchObject({ summary: message });
  });

  it("doesn't delay a call beyond its deadline if its source hangs", async () => {
    const token = { origin: "a command", fetch: () => new Promise<IssuedToken>(() => {}) };
    const { client, clock, call } = clientOf("http://127.0.0.1:1", { token });
    const failed = failureOf(client.projects.list(call));
    await clock.advance(600_000);
    expect(await failed).toMatchObject({ code: "timeout", sent: false });
  });
});

describe("the token isn't shown", () => {
  const echo = `your token ${TOKEN} and ${encodeURIComponent(TOKEN)}`;

  it.each([
    [
      "a problem document",
      { status: 403, body: { code: "forbidden", detail: echo, errors: [{ detail: echo }], extra: { echo } } },
    ],
    ["an error page", { status: 502, body: `<html><body>${echo}</body></html>` }],
    ["a page instead of JSON", { status: 200, body: `<html><body>${echo}</body></html>` }],
    ["a redirect", { status: 302, headers: { location: `https://elsewhere.example/${TOKEN}` } }],
  ])("if %s repeats it", async (_what, answer) => {
    const { origin } = await startService(inTurn(answer));
    const { client, call } = clientOf(origin);
    const error = await failureOf(client.instances.list({}, call));
    expect(error).toBeInstanceOf(Error);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(TOKEN);
    expect(JSON.stringify(Object(error).problem ?? null)).not.toContain(TOKEN);
    expect(String(error)).not.toContain(TOKEN);
  });

  it("if a failed operation repeats it", async () => {
    const body = { id: "op-1", status: "failed", error: { detail: echo } };
    const { origin } = await startService(inTurn({ body }));
    const { client, call } = clientOf(origin);
    const operation = await client.operations.poll({ id: "op-1", url: "" }, call);
    expect(operation.error?.detail).toContain("[secret]");
    expect(JSON.stringify(operation)).not.toContain(TOKEN);
  });

  it.each(["a problem document", "an error page"])(
    "if it is far from the start of a long text in %s",
    async (what) => {
      const detail = `${"&#38;%41".repeat(100_000)}${TOKEN}`;
      const body = what === "an error page" ? `<p>${detail}</p>` : { code: "forbidden", detail };
      const { origin } = await startService(inTurn({ status: 403, body }));
      const { client, call } = clientOf(origin);
      const error = await failureOf(client.instances.list({}, call));
      expect(JSON.stringify([String(error), Object(error).problem ?? null]).length).toBeLessThan(25_000);
    },
  );
});

describe("the token isn't sent to another origin", () => {
  it.each([301, 302, 303, 307, 308])("after a redirect with %i", async (status) => {
    const other = await startService(inTurn({ body: page }));
    const { origin } = await startService(
      inTurn({ status, headers: { location: `${other.origin}/v1/projects?x=1` } }),
    );
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "not_this_service",
      summary: `the endpoint returned a redirect (${status}) to ${other.origin}/v1/projects`,
    });
    expect(other.seen).toHaveLength(0);
  });

  it("after a Location with another origin, and the operation is polled at the endpoint", async () => {
    const other = await startService(inTurn({ body: page }));
    const { origin, seen } = await startService((request) =>
      request.method === "POST"
        ? { status: 202, headers: { location: `${other.origin}/v1/operations/op-1` } }
        : { body: { id: "op-1", status: "running" } },
    );
    const { client, call } = clientOf(origin);
    const accepted = await client.instances.create("{}", "k", call);
    if (accepted.kind !== "operation") throw new Error(accepted.kind);
    await client.operations.poll(accepted.operation, call);
    expect(seen.map(({ path }) => path)).toEqual(["/v1/instances", "/v1/operations/op-1"]);
    expect(other.seen).toHaveLength(0);
  });

  it("by the saved URL of an operation at another endpoint", async () => {
    const other = await startService(inTurn({ body: page }));
    const { origin, seen } = await startService(inTurn({ body: { id: "op-1", status: "running" } }));
    const { client, call } = clientOf(origin);
    await client.operations.poll({ id: "op-1", url: `${other.origin}/jobs/1` }, call);
    expect(seen.map(({ path }) => path)).toEqual(["/v1/operations/op-1"]);
    expect(other.seen).toHaveLength(0);
  });

  it("by a result_url with another origin", async () => {
    const other = await startService(inTurn({ body: { id: "ins-1" } }));
    const { origin, seen } = await startService(inTurn({ body: page }));
    const { client, call } = clientOf(origin);
    const operation = {
      id: "op-1",
      url: `${origin}/v1/operations/op-1`,
      status: "done",
      resultUrl: `${other.origin}/x`,
    };
    expect(await failureOf(client.readResult(operation, call))).toMatchObject({ code: "no_result" });
    expect([...other.seen, ...seen]).toEqual([]);
  });
});
