import assert from "node:assert/strict";
import { test } from "node:test";
import { withEmulator } from "pulumi-cloudinfra/testing";

test("`up` creates each instance only once, even if a reply is lost, and `destroy` deletes everything", async () => {
  await withEmulator({ program: import.meta.dirname }, async ({ stack, emulator, fault }) => {
    const lost = fault("lost-reply");
    const { outputs } = await stack.up();
    assert.equal(lost.used, 1);
    assert.equal(emulator.instances.size, 2);
    const addresses = [...emulator.instances.values()].map((instance) => instance.address);
    assert.ok(addresses.includes(outputs.address?.value));

    await stack.preview({ expectNoChanges: true });
    await stack.destroy();
    assert.equal(emulator.instances.size + emulator.projects.size, 0);
  });
});
