import { describe, expect, it } from "vitest";
import { isFailure, isSuccess, isTerminal, type Operation } from "../../src/polling/operation";

const at = (status: string, more: Partial<Operation> = {}): Operation => ({
  id: "op-1",
  url: "/v1/operations/op-1",
  status,
  ...more,
});
const error = { detail: "no room", errors: [], extensions: {} };

describe("an operation", () => {
  it.each(["done", "Done", "DONE", " done "])("with the status %j is a success", (status) => {
    expect([isTerminal(at(status)), isSuccess(at(status)), isFailure(at(status))]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each(["failed", "error", "Cancelled", "canceled", "ABORTED"])("with the status %j failed", (status) => {
    expect([isTerminal(at(status)), isFailure(at(status))]).toEqual([true, true]);
  });

  it.each(["pending", "running", "Running"])(
    "with the status %j goes on, also with a date of its end",
    (status) => {
      expect(isTerminal(at(status, { finishedAt: 1 }))).toBe(false);
    },
  );

  it.each(["succeeded", "completed", "success", "rolled_back"])(
    "with the unknown status %j goes on until it has ended, and then failed",
    (status) => {
      expect(isTerminal(at(status))).toBe(false);
      expect(isFailure(at(status, { finishedAt: 1 }))).toBe(true);
    },
  );

  it.each(["pending", "running", "done", "whatever"])(
    "with an error failed, also with the status %j",
    (status) => {
      expect([
        isTerminal(at(status, { error })),
        isSuccess(at(status, { error })),
        isFailure(at(status, { error })),
      ]).toEqual([true, false, true]);
    },
  );

  it("with a link to its result goes on as long as it runs", () => {
    expect(isTerminal(at("running", { resultUrl: "/v1/instances/ins-1", progress: 1 }))).toBe(false);
  });
});
