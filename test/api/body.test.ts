import { inspect } from "node:util";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limitNesting, MAX_BODY_BYTES, redactJson } from "../../src/api/body";
import { formatError } from "../../src/diagnostics/format";
import { clientOf, failureOf, inTurn, startService, TOKEN } from "./service";

const html = {
  headers: { "content-type": "text/html" },
  body: "<html><head><style>p{}</style></head><h1>Welcome</h1></html>",
};

describe("another service at the endpoint", () => {
  it("is recognized by a web page instead of a list", async () => {
    const { origin } = await startService(inTurn(html));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "not_this_service",
      summary: `the endpoint returned a web page (200, text/html, ${html.body.length} characters)`,
      attempts: 3,
    });
  });

  it.each([[[]], [{ data: [] }], [5], ["text"]])(
    "is recognized by JSON that isn't a page: %j",
    async (body) => {
      const { origin } = await startService(inTurn({ body: JSON.stringify(body) }));
      const { client, call } = clientOf(origin);
      expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "not_this_service" });
    },
  );

  it.each([4, 7])(
    "doesn't reveal the first %i characters of a secret at the end of its excerpt",
    async (shown) => {
      const [secret, before] = ["Sup3rGeheim!", "Invalid value "];
      const style = "x".repeat(4_000 - shown - `<html><style></style>${before}`.length);
      const body = `<html><style>${style}</style>${before}${secret} in the label.</html>`;
      const { origin } = await startService(inTurn({ ...html, status: 400, body }));
      const { client, call } = clientOf(origin);
      const said = formatError(await failureOf(client.instances.create("{}", "k", call)), {
        action: "creating",
        secrets: [secret],
      });
      expect(said).toContain(before);
      expect(said).not.toContain(secret.slice(0, shown));
    },
  );

  it.each([html, { body: "" }, { body: {} }])(
    "is recognized by a 404 for a list without a problem document: %j",
    async (answer) => {
      const { origin } = await startService(inTurn({ ...answer, status: 404 }));
      const { client, call } = clientOf(origin);
      expect(await failureOf(client.projects.list(call))).toMatchObject({
        code: "not_this_service",
        status: 404,
      });
      expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({
        code: "not_this_service",
      });
    },
  );

  it("isn't assumed after a 404 with a problem document or a 404 for an object", async () => {
    const { origin } = await startService(
      inTurn({ status: 404, body: { code: "project_not_found" } }, { ...html, status: 404 }),
    );
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({ code: "not_found" });
    expect(await failureOf(client.instances.get("ins-1", call))).toMatchObject({ code: "not_found" });
  });
});

describe("an unusable reply", () => {
  it("is retried if it is truncated, even if the connection is intact", async () => {
    const page = { items: [{ id: "prj-1" }], next_cursor: null };
    const { origin, seen } = await startService(
      inTurn({ body: page, fault: "cut" }, { body: '{"items":[{"id":"pr' }, { body: "" }, { body: page }),
    );
    const { client, call } = clientOf(origin, { retry: { maxAttempts: 4 } });
    const first = await failureOf(client.projects.list(call));
    expect(first).toMatchObject({
      code: "bad_reply",
      summary: "the reply has no body (200)",
    });
    expect(await client.projects.list(call)).toHaveLength(1);
    expect(seen).toHaveLength(4);
  });

  it("is rejected in linear time if it is truncated in a string with many escaped quotes", async () => {
    const { origin } = await startService(inTurn({ body: `{"id":"${'\\"'.repeat(500_000)}` }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({ code: "bad_reply" });
  });

  it("is an error if all attempts are truncated", async () => {
    const { origin } = await startService(inTurn({ body: '{"items":[{"id":"pr' }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "bad_reply",
      summary: "the reply isn't complete JSON (200, application/json, 19 characters)",
    });
  });

  it("isn't read to its end if it is too large", async () => {
    const { origin, seen } = await startService(inTurn({ body: `"${"x".repeat(MAX_BODY_BYTES)}"` }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "bad_reply",
      summary: "the reply is larger than 16 MiB",
    });
    expect(seen).toHaveLength(1);
  });

  it("leaves the outcome of a POST unknown if it is truncated", async () => {
    const { origin } = await startService(inTurn({ status: 202, body: '{"id":"op-1","sta' }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({ sent: true });
  });

  it("leaves the outcome of a POST unknown if it is a web page, which a proxy may have sent instead of the service's reply", async () => {
    const { origin } = await startService(inTurn(html));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({
      code: "not_this_service",
      sent: true,
    });
  });

  it.each(["gzip", "deflate", "br"] as const)(
    "isn't one if it is compressed with %s without being requested",
    async (coding) => {
      const compress = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }[coding];
      const page = compress(JSON.stringify({ items: [{ id: "prj-1" }] }));
      const { origin, seen } = await startService(
        inTurn({ headers: { "content-encoding": coding.toUpperCase() }, body: page }),
      );
      const { client, call } = clientOf(origin);
      expect(await client.projects.list(call)).toMatchObject([{ id: "prj-1" }]);
      expect(seen[0]?.headers["accept-encoding"]).toBe("identity");
    },
  );

  it.each([
    ["gzip", gzipSync("{}").subarray(0, 12), 3],
    ["zstd", Buffer.from("28b52ffd2002110000", "hex"), 3],
    ["constructor", Buffer.from("28b52ffd2002110000", "hex"), 3],
  ])(
    "is reported with its content encoding, without its bytes, if its %s can't be decoded",
    async (coding, body, attempts) => {
      const { origin } = await startService(inTurn({ headers: { "content-encoding": coding }, body }));
      const { client, call } = clientOf(origin);
      expect(await failureOf(client.projects.list(call))).toMatchObject({
        code: "bad_reply",
        summary: `the reply can't be decoded (200, content encoding "${coding}")`,
        attempts,
      });
    },
  );

  it.each(["utf-8", "none", "gzip"])(
    "is read although it is not in its content encoding %s",
    async (coding) => {
      const page = JSON.stringify({ items: [{ id: "prj-1" }] });
      const { origin } = await startService(inTurn({ headers: { "content-encoding": coding }, body: page }));
      const { client, call } = clientOf(origin);
      expect(await client.projects.list(call)).toMatchObject([{ id: "prj-1" }]);
    },
  );

  it("isn't decompressed beyond the size limit", async () => {
    const bomb = gzipSync(Buffer.alloc(MAX_BODY_BYTES + 1, " "));
    const { origin } = await startService(inTurn({ headers: { "content-encoding": "gzip" }, body: bomb }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      summary: "the reply is larger than 16 MiB",
    });
  });

  it("isn't a redirect if it is a 304", async () => {
    const { origin } = await startService(inTurn({ status: 304 }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.projects.list(call))).toMatchObject({
      code: "bad_reply",
      summary: "the service returned an unexpected status: Not Modified (304)",
    });
  });

  it.each([
    [{ reason: "the flavor is sold out" }, '{"reason":"the flavor is sold out"}'],
    ["the flavor is sold out", "the flavor is sold out"],
  ])("is quoted if it isn't a problem document: %j", async (body, shown) => {
    const { origin } = await startService(inTurn({ status: 409, body }));
    const { client, call } = clientOf(origin);
    const error = await failureOf(client.instances.create("{}", "k", call));
    expect(formatError(error, { action: "creating" }).split("\n").slice(0, 2)).toEqual([
      "creating failed: Conflict (409)",
      `  ${shown}`,
    ]);
  });

  it.each([
    [200, '{"id":"ins-1","first_password":"initial-5e1f","na'],
    [409, '{"id":"ins-1","first_password":"initial-5e1f","na'],
    [200, '<instance><first_password value="initial-5e1f">initial-5e1f'],
    [200, "first_password: initial-5e1f"],
    [409, { id: "ins-1", first_password: "initial-5e1f" }],
    [412, { id: "ins-1", first_password: "initial-5e1f" }],
  ])(
    "isn't quoted if it is an object, which may contain an initial password: %i %j",
    async (status, body) => {
      const { origin } = await startService(inTurn({ status, body }));
      const { client, call } = clientOf(origin);
      const error = await failureOf(client.instances.update("ins-1", "{}", "r1", call));
      expect(formatError(error, { action: "updating" })).toMatch(new RegExp(`${status}`));
      expect(inspect(error, { depth: null })).not.toContain("initial-5e1f");
    },
  );

  it("leaves the outcome of a POST unknown if it has an unexpected structure", async () => {
    const { origin } = await startService(inTurn({ status: 201, body: { name: "web" } }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({
      code: "bad_reply",
      sent: true,
    });
  });
});

describe("unusual but valid replies", () => {
  it("may have a wrong content type, a byte order mark, numeric ids and unknown fields", async () => {
    const body = '\uFEFF{"items":[{"id":7,"new_field":{"a":[1]}}],"next_cursor":null}';
    const { origin } = await startService(inTurn({ headers: { "content-type": "text/plain" }, body }));
    const { client, call } = clientOf(origin);
    expect(await client.projects.list(call)).toEqual([
      { id: "7", fields: { id: "7", new_field: { a: [1] } }, revision: undefined },
    ]);
  });

  it.each([
    [[{ key: "tier", value: "a" }], { tier: "a" }],
    [[{ name: "tier", value: 4 }], { tier: 4 }],
    [["tier=a", " path=x=y"], { tier: "a", path: "x=y" }],
    [["tier:a", "cost:team=a7", "token:aGk="], { tier: "a", cost: "team=a7", token: "aGk=" }],
    [["tier=a", "aws:id=a7"], { tier: "a", "aws:id": "a7" }],
    [["url=http://x"], { url: "http://x" }],
    [
      [
        { id: 1, key: "tier", value: "a" },
        { id: 2, key: "team" },
      ],
      { tier: "a", team: "" },
    ],
    [["tier=a", { key: "team", value: "b" }], { tier: "a", team: "b" }],
    [[], {}],
  ])("may have labels as a list, which is converted to a map: %j", async (labels, map) => {
    const instance = { id: "ins-1", labels };
    const { origin } = await startService(
      inTurn({ body: { items: [instance], next_cursor: null } }, { body: instance }),
    );
    const { client, call } = clientOf(origin);
    const objects = [...(await client.instances.list({}, call)), await client.instances.get("ins-1", call)];
    for (const { fields } of objects) expect(fields).toEqual({ id: "ins-1", labels: map });
  });

  it.each([
    [["web", "tier=a"]],
    [[{ tier: "a", team: "b" }]],
    [[{ tier: "a" }, { key: "b" }]],
    ["web"],
    ["tier=a,team=b"],
    [{ tier: "a" }],
    [null],
    [["cost:team=a7"]],
    [["tier:a", "team=b"]],
    [[{ key: "tier" }, { key: "team" }]],
    [[{ name: "web", color: "red" }]],
    [["team=a", "team=b"]],
  ])("may have labels of any other form, which are kept: %j", async (labels) => {
    const { origin } = await startService(inTurn({ body: { id: "ins-1", labels } }));
    const { client, call } = clientOf(origin);
    expect((await client.instances.get("ins-1", call)).fields.labels).toEqual(labels);
  });

  it("may have integer ids beyond the safe range, which stay exact", async () => {
    const { origin } = await startService(inTurn({ body: '{"id":12345678901234567890,"size":12}' }));
    const { client, call } = clientOf(origin);
    const object = await client.instances.get("12345678901234567890", call);
    expect(object).toMatchObject({ id: "12345678901234567890", fields: { size: 12 } });
  });

  it("keep the fields of an object, even if they contain a secret", async () => {
    const { origin } = await startService(inTurn({ body: { id: "ins-1", note: "token" } }));
    const { client, call } = clientOf(origin, {
      token: { origin: "x", fetch: async () => ({ token: "token" }) },
    });
    expect((await client.instances.get("ins-1", call)).fields.note).toBe("token");
  });
});

describe("the status", () => {
  it.each([
    [400, "refused"],
    [403, "forbidden"],
    [404, "not_found"],
    [405, "unsupported"],
    [409, "conflict"],
    [410, "not_found"],
    [412, "revision_conflict"],
    [422, "refused"],
    [428, "refused"],
    [429, "rate_limited"],
    [500, "unavailable"],
    [501, "unsupported"],
    [503, "unavailable"],
  ])("%i causes the code %s", async (status, code) => {
    const { origin } = await startService(inTurn({ status, body: { code: "x", trace_id: "tr-1" } }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.update("ins-1", "{}", "r1", call))).toMatchObject({
      code,
      status,
      traceId: "tr-1",
      method: "PUT",
      path: "/v1/instances/ins-1",
    });
  });
});

describe("a large problem document", () => {
  const errors = Array.from({ length: 1_000 }, (_, at) => ({ detail: `fault ${at} ${"x".repeat(5_000)}` }));

  it("is redacted only in part, because redaction is slow", () => {
    let characters = 0;
    redactJson({ errors }, (text) => {
      characters += text.length;
      return text;
    });
    expect(characters).toBeLessThan(60_000);
  });

  it("has its code, its first faults and the number of faults in the error", async () => {
    const body = { errors, code: "many_faults" };
    const { origin } = await startService(inTurn({ status: 422, body }));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({
      problem: { code: "many_faults", errors: { length: 1_000, 0: errors[0], 999: { detail: "…" } } },
    });
  });

  it("contains no part of a token", async () => {
    const detail = `${"x".repeat(4_000)} ${TOKEN}`;
    const body = { errors: Array.from({ length: 100 }, () => ({ detail })) };
    const { origin } = await startService(inTurn({ status: 422, body }));
    const { client, call } = clientOf(origin);
    const error = await failureOf(client.instances.create("{}", "k", call));
    expect(inspect(error, { depth: 9, maxArrayLength: null, maxStringLength: null })).not.toContain(
      TOKEN.slice(0, 4),
    );
  });
});

const DEEP = 20_000;
const deepLists = "[".repeat(DEEP) + "]".repeat(DEEP);
const deepMaps = `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`;

/** Returns the nesting depth of a value, without recursion. */
function depthOf(value: unknown): number {
  let level: unknown[] = [value];
  for (let depth = 0; ; depth++) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
    if (level.length === 0) return depth;
  }
}

describe("a value that is nested too deeply", () => {
  it("becomes null, and its siblings are kept", () => {
    const text = `{"id":"ins-1","deep":${deepLists},"more":[${deepMaps},"]}{[\\"",2],"name":"web"}`;
    const value = limitNesting(JSON.parse(text));
    expect(value).toMatchObject({ id: "ins-1", name: "web", more: [{}, ']}{["', 2] });
    expect(depthOf(value)).toBeLessThanOrEqual(65);
  });

  it("doesn't occur in usual JSON, which stays the same", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(limitNesting(JSON.parse(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([deepLists, deepMaps])("doesn't make a request fail (%#)", async (deep) => {
    const { origin } = await startService(
      inTurn(
        { body: `{"id":"ins-1","extra":${deep}}` },
        { status: 409, body: `{"detail":${deep},"errors":${deep}}` },
        { body: `{"id":"op-1","status":"failed","error":{"detail":"no","more":${deep}}}` },
      ),
    );
    const { client, call } = clientOf(origin);
    expect(await client.instances.get("ins-1", call)).toMatchObject({ id: "ins-1" });
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({ code: "conflict" });
    expect(await client.operations.poll({ id: "op-1", url: "" }, call)).toMatchObject({
      error: { detail: "no" },
    });
  });
});
