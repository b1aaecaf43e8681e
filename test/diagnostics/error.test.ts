import { describe, expect, it } from "vitest";
import { CloudInfraError, isCloudInfraError, withDetails } from "../../src/diagnostics/error";
import { parseProblem } from "../../src/diagnostics/problem";
import { formatDuration } from "../../src/polling/clock";

describe("an error", () => {
  it("says verb and path after what happened, and keeps its cause", () => {
    const cause = new Error("socket");
    const error = new CloudInfraError("unreachable", "no answer", {
      method: "GET",
      path: "/v1/projects",
      cause,
    });
    expect(String(error)).toBe("CloudInfraError: no answer [GET /v1/projects]");
    expect(error.cause).toBe(cause);
  });

  it("has the trace id of its problem document", () => {
    expect(new CloudInfraError("refused", "x", { problem: parseProblem({ trace_id: "tr-1" }) }).traceId).toBe(
      "tr-1",
    );
  });

  it("is known by its name and code, also when another copy of the package made it", () => {
    const foreign = Object.assign(new Error("x"), { name: "CloudInfraError", code: "not_found" });
    expect(isCloudInfraError(foreign)).toBe(true);
    expect(isCloudInfraError(new CloudInfraError("aborted", "x"))).toBe(true);
  });

  it.each([
    new Error("x"),
    Object.assign(new Error("x"), { code: "not_found" }),
    { name: "CloudInfraError", code: "not_found" },
    "x",
    undefined,
  ])("is not what only resembles one: %j", (value) => {
    expect(isCloudInfraError(value)).toBe(false);
  });

  it("can be told more, and stays the cause", () => {
    const error = new CloudInfraError("forbidden", "no", {
      status: 403,
      method: "GET",
      path: "/v1/x",
      sent: true,
    });
    const more = withDetails(error, { operation: { id: "op-1", status: "running" } });
    expect(more).toMatchObject({
      code: "forbidden",
      message: "no [GET /v1/x]",
      status: 403,
      sent: true,
      cause: error,
    });
    expect(more.operation?.id).toBe("op-1");
  });
});

it.each([
  [0, "0 ms"],
  [250, "250 ms"],
  [30_000, "30 s"],
  [60_000, "1 min"],
  [200_000, "3 min 20 s"],
  [1_800_000, "30 min"],
  [7_500_000, "2 h 5 min"],
])("%i ms are %s", (ms, words) => {
  expect(formatDuration(ms)).toBe(words);
});
