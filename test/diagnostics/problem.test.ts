import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseProblem } from "../../src/diagnostics/problem";

describe("a problem document", () => {
  it("is parsed with all members, and unknown ones are kept as extensions", () => {
    expect(
      parseProblem({
        type: "https://example.com/quota",
        title: "Quota exceeded",
        status: 422,
        detail: "no room",
        instance: "/v1/instances",
        code: "quota_exceeded",
        trace_id: "tr-1",
        errors: [{ pointer: "/flavor", detail: "too large", code: "size" }],
        limit: 5,
      }),
    ).toEqual({
      type: "https://example.com/quota",
      title: "Quota exceeded",
      status: 422,
      detail: "no room",
      instance: "/v1/instances",
      code: "quota_exceeded",
      traceId: "tr-1",
      errors: [{ pointer: "/flavor", detail: "too large", code: "size" }],
      extensions: { limit: 5 },
    });
  });

  it.each([
    [
      { code: 42, status: "422", detail: { a: 1 } },
      { code: "42", status: 422, detail: undefined },
    ],
    [
      { title: "Invalid", detail: ["no image", "no flavor"] },
      { title: "Invalid", detail: undefined, errors: [{ detail: "no image" }, { detail: "no flavor" }] },
    ],
    [
      {
        detail: [
          { loc: ["body", "ssh_keys", 0], msg: "not a key", type: "value_error" },
          { loc: ["query", "a/b"], msg: "no" },
          { loc: ["body"], msg: "is no object" },
        ],
      },
      {
        detail: undefined,
        errors: [
          { pointer: "/ssh_keys/0", detail: "not a key" },
          { pointer: "/query/a~1b", detail: "no" },
          { pointer: undefined, detail: "is no object" },
        ],
      },
    ],
    [{ detail: { code: "x", message: "no room" } }, { code: "x", detail: "no room" }],
    [{ error: "no room left", status: 409 }, { detail: "no room left" }],
    [{ message: "no room" }, { detail: "no room" }],
    [{ error: { code: "x", message: "no room" } }, { code: "x", detail: "no room" }],
    [{ errors: ["a", "", 5] }, { errors: [{ detail: "a" }] }],
    [
      { errors: { flavor: ["a", "b"], image: "c" } },
      {
        errors: [
          { field: "flavor", detail: "a" },
          { field: "flavor", detail: "b" },
          { field: "image", detail: "c" },
        ],
      },
    ],
    [{ "invalid-params": [{ name: "flavor", reason: "a" }] }, { errors: [{ field: "flavor", detail: "a" }] }],
  ])("is parsed from the variant %j", (body, problem) => {
    expect(parseProblem(body)).toMatchObject(problem);
  });

  it.each([
    undefined,
    null,
    5,
    "text",
    [],
    [{ code: "x" }],
    {},
    { items: [] },
    { type: "", code: null },
    { error: "Not Found", status: 404 },
  ])("isn't found in %j", (body) => {
    expect(parseProblem(body)).toBeUndefined();
  });

  it("is parsed from any value without an exception", () => {
    fc.assert(
      fc.property(fc.anything(), (body) => {
        const problem = parseProblem(body);
        if (problem !== undefined) expect(Array.isArray(problem.errors)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    const members = fc.constantFrom(
      "type",
      "title",
      "status",
      "detail",
      "code",
      "trace_id",
      "errors",
      "error",
      "__proto__",
    );
    fc.assert(
      fc.property(fc.dictionary(members, fc.jsonValue()), (body) => {
        const { code, detail, traceId } = parseProblem(body) ?? {};
        for (const text of [code, detail, traceId]) expect(["string", "undefined"]).toContain(typeof text);
      }),
      { numRuns: 2_000 },
    );
  });
});
