import assert from "node:assert/strict";
import { test } from "node:test";
import * as pulumi from "@pulumi/pulumi";

/** The arguments of each resource that the program declares, by its name. */
const declared = new Map<string, Record<string, unknown>>();

pulumi.runtime.setAllConfig({ "testing:workers": "2" });
await pulumi.runtime.setMocks(
  {
    newResource: ({ name, inputs }) => {
      declared.set(name, inputs);
      return { id: `id-of-${name}`, state: { ...inputs, ipAddress: "192.0.2.1" } };
    },
    call: ({ inputs }) => inputs,
  },
  "testing",
);
const program = await import("./index.ts");
await pulumi.runtime.disconnect(); // when all is declared

test("there are as many workers as the stack says", () => {
  assert.deepEqual([...declared.keys()].sort(), ["shop", "web", "worker-1", "worker-2"]);
});

test("every instance has a label that tells whose it is", () => {
  const { shop, ...instances } = Object.fromEntries(declared);
  for (const [name, { project, labels }] of Object.entries(instances)) {
    assert.equal(project, "id-of-shop", name);
    assert.deepEqual(labels, { team: "shop" }, name);
  }
});

test("the shop is reached at the address of `web`", async () => {
  const address = await new Promise((resolve) => program.address.apply(resolve));
  assert.equal(address, "192.0.2.1");
});
