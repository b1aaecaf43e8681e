import { describe, expect, it } from "vitest";
import { classifyAttempt } from "../../src/api/retry";
import type { Attempt, WireReply } from "../../src/api/transport";
import { parseProblem } from "../../src/diagnostics/problem";

const creation = { needsBody: true };
const REJECTIONS = [400, 401, 402, 403, 404, 405, 407, 409, 410, 411, 412, 413, 414, 415, 422, 428, 429, 431];

function reply(status: number, body: WireReply["body"], headers: Record<string, string> = {}): Attempt {
  const problem = body.kind === "json" ? parseProblem(body.value) : undefined;
  return { kind: "reply", reply: { status, body, problem, header: (name) => headers[name] } };
}
const json = (value: unknown) => ({ kind: "json", value }) as const;

describe("the outcome of an attempt", () => {
  it.each(REJECTIONS)("is rejected after %i, which services send before any work", (status) => {
    expect(classifyAttempt(creation, reply(status, json({ code: "no" })))).toBe("rejected");
    expect(classifyAttempt(creation, reply(status, { kind: "empty" }))).toBe("rejected");
  });

  it("is unknown after any other status that isn't a success", () => {
    const others = Array.from({ length: 700 }, (_, index) => 300 + index).filter(
      (status) => !REJECTIONS.includes(status),
    );
    const outcomes = others.map((status) => classifyAttempt(creation, reply(status, json({ code: "no" }))));
    expect(new Set(outcomes)).toEqual(new Set(["unknown"]));
  });

  it.each([
    ["empty", { kind: "empty" }],
    ["a web page", { kind: "unreadable", what: "html", excerpt: "", length: 0 }],
    ["truncated", { kind: "unreadable", what: "broken JSON", excerpt: "", length: 0 }],
    ["too large", { kind: "too large" }],
    ["in an unknown content encoding", { kind: "undecodable", coding: "zstd" }],
  ] as const)("is unknown after a success that is %s", (_what, body) => {
    expect(classifyAttempt(creation, reply(202, body))).toBe("unknown");
  });

  it("is done after a success that is readable or names an operation", () => {
    expect(classifyAttempt(creation, reply(202, json({ id: "op-1" })))).toBe("done");
    expect(
      classifyAttempt(creation, reply(202, { kind: "empty" }, { location: "/v1/operations/op-1" })),
    ).toBe("done");
    expect(classifyAttempt({}, reply(204, { kind: "empty" }))).toBe("done");
  });

  it.each([
    [409, { code: "idempotency_request_in_progress" }],
    [409, { type: "https://e.example/idempotency" }],
    [422, { code: "idempotency_key_reused" }],
    [422, { type: "https://e.example/idempotency-key-reused" }],
    [400, { code: "IDEMPOTENT_PARAMETER_MISMATCH" }],
  ])(
    "is unknown after %i %j, because the service may have carried out the first request with the key",
    (status, problem) => {
      expect(classifyAttempt(creation, reply(status, json(problem)))).toBe("unknown");
    },
  );

  it.each([
    [409, { code: "name_taken", detail: 'the name "in-progress" is taken' }],
    [409, { code: "conflict", title: "idempotency", detail: "a request for idempotency-web is outstanding" }],
    [409, { code: "operation_in_progress", detail: "another change is still being processed" }],
    [422, { code: "ssh_key_reused" }],
    [400, { code: "invalid_idempotency_key" }],
  ])(
    "is rejected after %i %j, because neither code nor type is about the idempotency key",
    (status, problem) => {
      expect(classifyAttempt(creation, reply(status, json(problem)))).toBe("rejected");
    },
  );

  it("depends on whether a connection was established if there is no reply", () => {
    const failure = { description: "", final: false, cause: new Error() };
    const outcomes = [true, false].flatMap((neverSent) => [
      classifyAttempt(creation, { kind: "failure", failure: { ...failure, neverSent } }),
      classifyAttempt(creation, { kind: "timeout", neverSent }),
    ]);
    expect(outcomes).toEqual(["rejected", "rejected", "unknown", "unknown"]);
  });
});
