import { describe, expect, it, vi } from "vitest";
import { createAuth, type TokenSource } from "../../src/api/auth";
import { clientOf, failureOf, inTurn, type Seen, startService, TOKEN } from "./service";

const page = { items: [], next_cursor: null };
const refused = { status: 401, body: { code: "token_expired", trace_id: "tr-3" } };

/** A source whose token is "old-token" until it is renewed. */
function renewable(next: string | undefined) {
  const calls: string[] = [];
  let current = "old-token";
  const source: TokenSource = {
    origin: "the setting cloudinfra:tokenFile (/run/token)",
    get: async () => current,
    async renew(was) {
      calls.push(was);
      current = next ?? current;
      return next;
    },
  };
  return { source, calls };
}

const onlyNewToken = (request: Seen) =>
  request.headers.authorization === "Bearer new-token" ? { body: page } : refused;

describe("the token", () => {
  it("is sent as bearer", async () => {
    const { origin, seen } = await startService(inTurn({ body: page }));
    const { client, call } = clientOf(origin);
    await client.projects.list(call);
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it("is renewed once when it is refused, and the request goes again", async () => {
    const { origin, seen } = await startService(onlyNewToken);
    const { source, calls } = renewable("new-token");
    const { client, call } = clientOf(origin, { token: source });
    await client.projects.list(call);
    await client.projects.list(call);
    expect(calls).toEqual(["old-token"]);
    expect(seen).toHaveLength(3);
  });

  it("is asked for when a request's turn has come: while it waits for that, a token may end", async () => {
    const { origin, seen } = await startService(inTurn({ body: page }, { body: page }));
    let isOver = false;
    const source: TokenSource = { origin: "the test", get: async () => (isOver ? "new-token" : "old-token") };
    const { client, call } = clientOf(origin, {
      token: source,
      concurrency: 1,
      onRequest: () => {
        isOver = true;
      },
    });
    await Promise.all([client.projects.list(call), client.projects.list(call)]);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer old-token",
      "Bearer new-token",
    ]);
  });

  it("is renewed once for all requests that were refused at the same time", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const renew = vi.fn(() => promise);
    const auth = createAuth({ origin: "the test", get: async () => "old-token", renew });
    const never = new AbortController().signal;
    const renewed = Promise.all([1, 2, 3].map(() => auth.renewed("old-token", never)));
    resolve("new-token");
    expect(await renewed).toEqual(["new-token", "new-token", "new-token"]);
    expect(renew).toHaveBeenCalledTimes(1);
  });

  it("that another request has renewed meanwhile is taken, not renewed again", async () => {
    const renew = vi.fn();
    const auth = createAuth({ origin: "the test", get: async () => "new-token", renew });
    expect(await auth.renewed("old-token", new AbortController().signal)).toBe("new-token");
    expect(renew).not.toHaveBeenCalled();
  });

  it("is renewed to the end although the request that was first to need it gives up", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const auth = createAuth({ origin: "the test", get: async () => "old-token", renew: () => promise });
    const first = new AbortController();
    const gone = auth.renewed("old-token", first.signal);
    const stays = auth.renewed("old-token", new AbortController().signal);
    first.abort(new Error("enough"));
    await expect(gone).rejects.toThrow("enough");
    resolve("new-token");
    expect(await stays).toBe("new-token");
  });

  it("that is refused again is an error that says where it came from", async () => {
    const { origin, seen } = await startService(inTurn(refused));
    const { source } = renewable("new-token");
    const { client, call } = clientOf(origin, { token: source });
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "unauthorized",
      summary:
        "the service rejected the token from the setting cloudinfra:tokenFile (/run/token) (401)",
      traceId: "tr-3",
    });
    expect(seen).toHaveLength(2);
  });

  it("that can't be renewed is not tried again", async () => {
    const { origin, seen } = await startService(inTurn(refused));
    const { client, call } = clientOf(origin, { token: renewable(undefined).source });
    expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "unauthorized" });
    expect(seen).toHaveLength(1);
  });

  it.each(["", "two words", "line\nbreak", "naïve"])(
    "%j is refused before anything is sent, and not shown",
    async (bad) => {
      const { origin, seen } = await startService(inTurn({ body: page }));
      const { client, call } = clientOf(origin, {
        token: { origin: "CLOUDINFRA_TOKEN", get: async () => bad },
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

  it("does not keep a call waiting beyond its deadline when its source hangs", async () => {
    const token = { origin: "a command", get: () => new Promise<string>(() => {}) };
    const { client, clock, call } = clientOf("http://127.0.0.1:1", { token });
    const failed = failureOf(client.projects.list(call));
    await clock.advance(600_000);
    expect(await failed).toMatchObject({ code: "timeout", sent: false });
  });
});
