import { describe, expect, it } from "vitest";
import { isFailure, isSuccess, isTerminal, type Operation } from "../../src/polling/wait";

const at = (status: string, more: Partial<Operation> = {}): Operation => ({
  id: "op-1",
  url: "/v1/operations/op-1",
  status,
  ...more,
});
const error = { detail: "no room", errors: [], extensions: {} };

describe("an operation", () => {
  it.each(["done", "Done", "DONE", " done "])("with status %j succeeded", (status) => {
    expect([isTerminal(at(status)), isSuccess(at(status)), isFailure(at(status))]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each(["failed", "error", "Cancelled", "canceled", "ABORTED"])("with status %j failed", (status) => {
    expect([isTerminal(at(status)), isFailure(at(status))]).toEqual([true, true]);
  });

  it.each(["pending", "running", "Running"])("with status %j is running, even with finished_at", (status) => {
    expect(isTerminal(at(status, { finishedAt: 1 }))).toBe(false);
  });

  it.each(["succeeded", "completed", "success", "rolled_back"])(
    "with the unknown status %j is running until it has finished_at, and then failed",
    (status) => {
      expect(isTerminal(at(status))).toBe(false);
      expect(isFailure(at(status, { finishedAt: 1 }))).toBe(true);
    },
  );

  it.each(["pending", "running", "done", "whatever"])(
    "with an error failed, even with status %j",
    (status) => {
      expect([
        isTerminal(at(status, { error })),
        isSuccess(at(status, { error })),
        isFailure(at(status, { error })),
      ]).toEqual([true, false, true]);
    },
  );

  it("with a link to its result is still running if the status says so", () => {
    expect(isTerminal(at("running", { resultUrl: "/v1/instances/ins-1", progress: 1 }))).toBe(false);
  });
});
