import { expect, test } from "vitest";
import { oneInstance } from "../one-instance";

test.each([200, 404, 405] as const)(
  "what a failed creation has left is in the state, also where only lists show it (GET answers %d)",
  async (getObject) => {
    const { service, web } = await oneInstance({ behaviour: { getObject } });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    expect(await web.up()).toContain('ended as "failed"');
    const [id] = service.emulator.instances.keys();
    expect(web.saved?.id).toBe(id);
  },
);
