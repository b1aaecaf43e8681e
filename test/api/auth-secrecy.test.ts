import { describe, expect, it } from "vitest";
import { clientOf, failureOf, inTurn, startService, TOKEN } from "./service";

const page = { items: [], next_cursor: null };

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
    const operation = await client.operations.get("op-1", call);
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
    await client.operations.poll({ id: "op-1", url: `${other.origin}/jobs/1`, status: "running" }, call);
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
