import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { revisionOf } from "../../src/api/objects";
import { ifMatchOf } from "../../src/api/request";
import { clientOf, failureOf, inTurn, startService } from "./service";

describe("a revision", () => {
  it.each([
    ["in the header", {}, '"r1"', undefined, "r1"],
    ["weak in the header", {}, 'W/"r1"', undefined, "r1"],
    ["unquoted in the header", {}, "r1", undefined, "r1"],
    ["in the body", { revision: "r2" }, undefined, undefined, "r2"],
    ["a number in the body", { version: 3 }, undefined, undefined, "3"],
    ["quoted in the body", { etag: 'W/"r2"' }, undefined, undefined, "r2"],
    ["in both: the header's", { revision: "r2" }, '"r1"', undefined, "r1"],
    ["in the field that was named, before the header", { tag: "r3", revision: "r2" }, '"r1"', "tag", "r3"],
    ["in the header when the named field is missing", { revision: "r2" }, '"r1"', "tag", "r1"],
    ["nowhere", { revision: null, etag: "" }, undefined, undefined, undefined],
    [
      "nowhere if only another field than the configured one has it",
      { revision: "r2" },
      undefined,
      "tag",
      undefined,
    ],
  ])("is found %s", (_where, fields, etag, field, revision) => {
    expect(revisionOf(fields, etag, field).revision).toBe(revision);
  });

  it.each([
    ["a field has another value", { version: "2" }, '"r1"', undefined, true],
    ["a field has it, too", { version: "2", revision: "r1" }, 'W/"r1"', undefined, false],
    ["no field has a usual name", { name: "web" }, '"r1"', undefined, false],
    ["there is no header", { version: "2" }, undefined, undefined, false],
    ["the user named the field", { version: "2" }, '"r1"', "version", false],
  ])("is in the header only, or not, if %s", (_when, fields, etag, field, expected) => {
    expect(revisionOf(fields, etag, field).isInHeaderOnly ?? false).toBe(expected);
  });

  it("stays the same in If-Match", () => {
    const tags = fc.stringMatching(/^[\x21\x23-\x7e]+$/).filter((tag) => !/^w\//i.test(tag));
    fc.assert(
      fc.property(tags, (tag) => {
        expect(revisionOf({}, ifMatchOf(tag), undefined).revision).toBe(tag);
      }),
    );
  });

  it.each(["", 'a"b', "a\nb", "a b", "ключ"])(
    "with characters that a header doesn't allow is rejected: %j",
    (tag) => {
      expect(() => ifMatchOf(tag)).toThrow(expect.objectContaining({ code: "bad_reply" }));
    },
  );

  it("of an item in a list is its own and not that of the page", async () => {
    const body = { items: [{ id: "a", revision: "r1" }, { id: "b" }] };
    const { origin } = await startService(inTurn({ headers: { etag: '"page"' }, body }));
    const { client, call } = clientOf(origin);
    expect((await client.instances.list({}, call)).map(({ revision }) => revision)).toEqual([
      "r1",
      undefined,
    ]);
  });

  it("is sent as a strong, quoted tag", async () => {
    const { origin, seen } = await startService(
      inTurn({ headers: { etag: 'W/"r1"' }, body: { id: "a" } }, { status: 204 }),
    );
    const { client, call } = clientOf(origin);
    const { revision = "" } = await client.instances.get("a", call);
    expect(await client.instances.update("a", "{}", revision, call)).toEqual({ kind: "none" });
    expect(seen[1]?.headers["if-match"]).toBe('"r1"');
  });
});

const anotherObject = { body: { id: "ins-2", name: "db", status: "running" } };

describe("a reply with another object than the requested one", () => {
  it("is an error", async () => {
    const { origin } = await startService(inTurn(anotherObject));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.get("ins-1", call))).toMatchObject({
      code: "bad_reply",
      summary: "the service returned ins-2 instead of ins-1",
    });
  });

  it.each(["/v1/instances/ins-1", "/v1/servers/x"])(
    "is an error for the result of an operation (%s)",
    async (resultUrl) => {
      const { origin } = await startService(inTurn(anotherObject));
      const { client, call } = clientOf(origin);
      const operation = {
        id: "op-1",
        url: `${origin}/v1/operations/op-1`,
        status: "done",
        resultUrl,
        resource: "ins-1",
      };
      expect(await failureOf(client.readResult(operation, call))).toMatchObject({ code: "bad_reply" });
      const result = { ...operation, resultUrl: "/v1/servers/x", resource: undefined };
      expect(await client.readResult(result, call), "if no id is known").toMatchObject({ id: "ins-2" });
    },
  );
});
