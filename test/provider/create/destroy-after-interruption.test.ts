import { expect, test } from "vitest";
import { oneInstance } from "../one-instance";

test.each([
  ["", {}],
  [" whose operation the service has purged", { operationKeptMs: 1_000 }],
])("`destroy` deletes both instances after an interrupted replacement%s", async (_, behaviour) => {
  const { service, web } = await oneInstance({ behaviour });
  await web.up();
  // The command is interrupted after the engine has saved the replacement, and before the program removes its journal entry.
  const image = { image: "debian-14" };
  await web.interruptedUp(image, { deleteBeforeReplace: false });
  expect(service.emulator.instances.size).toBe(2);
  await service.clock.sleep(100_000);
  const provider = await web.process();
  for (const { id, state } of [...web.replaced, web.inState()]) await provider.delete(id, state);
  expect(service.emulator.instances.size).toBe(0);
  expect(service.warnings).toEqual([]);
});
