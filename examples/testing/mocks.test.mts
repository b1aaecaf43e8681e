import assert from "node:assert/strict";
import { test } from "node:test";
import { mocks } from "pulumi-cloudinfra/testing";

const shop = await mocks(() => import("./index.ts"), { project: "testing", config: { workers: "2" } });

test("the program declares the configured number of workers", () => {
  const names = shop.resources.map(({ name }) => name);
  assert.deepEqual(names, ["shop", "web", "worker-1", "worker-2"]);
});

test("every instance is in the project and has the team's label", () => {
  for (const name of ["web", "worker-1", "worker-2"]) {
    const { project, labels } = shop.resource(name).args;
    assert.deepEqual({ project, labels }, { project: shop.resource("shop").id, labels: { team: "shop" } });
  }
});

test("the program exports the address of `web`", () => {
  assert.match(shop.exports.address ?? "", /^192\.0\.2\./);
});
