import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";

type Fields = Readonly<Record<string, unknown>>;

/** The forms of an id that lists may contain if the result link of an operation ends in `ins-1`. */
const FORMS: readonly [string, (id: string) => string][] = [
  ["in upper case", (id) => id.toUpperCase()],
  ["percent-encoded", (id) => id.replace("-", "%2D")],
  ["as a path", (id) => `/v1/instances/${id}`],
  ["as a URL with a slash at the end", (id) => `https://api.example.com/v1/instances/${id}/`],
];

describe.each(FORMS)("a list that contains ids %s", (_form, formOf) => {
  const spelling = (instance: Fields, place: string): Fields =>
    place === "item" ? { ...instance, id: formOf(String(instance.id)) } : instance;

  test.each([405, 404] as const)("contains a new instance (GET: %d)", async (getObject) => {
    const { service, web } = await oneInstance({ behaviour: { getObject, spelling } });
    expect(await web.up()).toBeUndefined();
    expect(web.inState().id).toBe([...service.emulator.instances.keys()].join());
    await web.refresh();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    await web.expectOne();
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });

  test.each([405, 404] as const)(
    "contains the instance of a killed creation (GET: %d)",
    async (getObject) => {
      const { service, web } = await oneInstance({ behaviour: { getObject, spelling } });
      await web.killedUp();
      expect(await web.up()).toBeUndefined();
      expect(service.emulator.instances.size).toBe(1);
      expect(web.keys()).toBe(1);
    },
  );

  test("contains an instance that an outage hid", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    const outage = {
      method: "GET",
      path: /instances/,
      kind: "status",
      times: Number.POSITIVE_INFINITY,
    } as const;
    const { off } = service.emulator.fail(outage);
    expect(await web.up({ __timeouts: { create: "10s" } })).toContain("503");
    off();
    service.emulator.behaviour.getObject = 405;
    await web.refresh();
    expect(await web.up()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(1);
  });
});

test("the reply from an instance's own URL may contain the id in another form", async () => {
  const spelling = (instance: Fields): Fields => ({ ...instance, id: String(instance.id).toUpperCase() });
  const { service, web } = await oneInstance({ behaviour: { spelling } });
  await web.killedUp();
  expect(await web.up()).toBeUndefined();
  expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
  await web.refresh();
  await web.expectOne();
  expect(await web.destroy()).toBeUndefined();
  expect(service.emulator.instances.size).toBe(0);
});
