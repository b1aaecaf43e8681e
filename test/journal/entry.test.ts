import { expect, test } from "vitest";
import { unfinishedWarning } from "../../src/journal/entry";

test("a warning about an unfinished creation contains no control characters from the id of its object", () => {
  const urn = "urn:pulumi:dev::shop::pulumi-nodejs:dynamic/cloudinfra:Instance::web";
  const entry = {
    urn,
    endpoint: "https://api.example.com/v1",
    at: 0,
    id: "ins-1\u001b]0;owned\u0007\u001b[2J",
  };
  const words = { one: "its object may exist", several: "their objects may exist", hints: [] };
  expect(unfinishedWarning([entry], words).split("\n")[1]).toBe(
    '  instance "web" with the id ins-1, started 1970-01-01T00:00:00Z',
  );
});
