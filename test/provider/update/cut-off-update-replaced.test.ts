import { expect, test } from "vitest";
import { OneInstance } from "../one-instance";
import { startService } from "../service";

test("a replacement after an interrupted update creates another instance before it deletes the old one", async () => {
  const service = await startService({ behaviour: { putReply: 202, operationMs: 5_000 } });
  const stack = new OneInstance(service);
  const args = { name: undefined, __timeouts: { update: "2s" } };
  expect(await stack.up(args)).toBeUndefined();
  const { id } = stack.inState();
  expect(await stack.up({ ...args, flavor: "m1.large" })).toContain("Run `pulumi up` again");
  service.emulator.finishOperations();
  service.emulator.clearRequests();
  expect(await stack.up({ ...args, flavor: "m1.large", image: "alpine-3" })).toBeUndefined();
  const writes = service.emulator.requests.filter(({ method }) => method !== "GET");
  expect(writes.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
  expect(stack.inState().id).not.toBe(id);
  expect([...service.emulator.instances.keys()]).toEqual([stack.inState().id]);
});
