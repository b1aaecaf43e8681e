import { describe, expect, it } from "vitest";
import { CloudInfraError, isCloudInfraError, withDetails } from "../../src/diagnostics/error";
import { parseProblem } from "../../src/diagnostics/problem";

describe("an error", () => {
  it("has method and path after the message, and keeps its cause", () => {
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

  it("is recognized by its name and code, even if another copy of the package created it", () => {
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
  ])("is distinguished from similar values: %j", (value) => {
    expect(isCloudInfraError(value)).toBe(false);
  });

  it("gets details in a copy whose cause is the original", () => {
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
