import * as pulumi from "@pulumi/pulumi";
import { expect, test } from "vitest";
import { resolved } from "../../src/resources/sdk";

/** An output that fails, as the URN of a resource does that could not be registered. */
function failing(): pulumi.Output<string> {
  const output = pulumi.output(Promise.reject<string>(new Error("not registered")));
  pulumi.recover(output, () => ""); // or the run would end with an unhandled rejection
  return output;
}

test("resolving the URN of a parent fails if the parent was not registered", async () => {
  await expect(resolved(failing())).rejects.toThrow("not registered");
});

test("a value that is unknown in a preview resolves to undefined", async () => {
  expect(await resolved(pulumi.output<string>(pulumi.unknown as never))).toBeUndefined();
});
