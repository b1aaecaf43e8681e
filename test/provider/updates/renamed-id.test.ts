import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";

describe("an instance to which the service has given another id with its new name", () => {
  async function renamed() {
    const { service, web } = await oneInstance({ behaviour: { getObject: 405 } });
    await web.up({ name: "web" });
    service.emulator.behaviour.spelling = (now) => (now.name === "front" ? { ...now, id: "front" } : now);
    const said = [await web.up({ name: "front" }), await web.up({ name: "front" })];
    return { service, web, said };
  }

  test("is an error at each update, which names that id and doesn't lead to a second instance", async () => {
    const { service, said } = await renamed();
    for (const message of said) {
      expect(message).toMatch(/the service has given instance ins-\w+ another id with its new name: front/);
      expect(message).toContain("Don't recreate it: it exists under the id front");
      expect(message).not.toContain("pulumi refresh");
    }
    expect(service.emulator.instances.size).toBe(1);
  });

  test("is found by a refresh", async () => {
    const { web } = await renamed();
    await web.refresh();
    expect(web.there()).toMatchObject({ id: "front", inputs: { name: "front" } });
    expect(web.there().state).not.toHaveProperty("__pending");
    expect(await web.up({ name: "front" })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
  });

  test("is deleted under that id", async () => {
    const { service, web } = await renamed();
    await web.destroy();
    const deletions = service.emulator.requests.filter(({ method }) => method === "DELETE");
    expect(deletions.map(({ path }) => path)).toEqual(["/v1/instances/front"]);
  });
});
