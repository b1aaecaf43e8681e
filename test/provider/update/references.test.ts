import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";
import { existingInstance, failureOf } from "../service";
import { startRaced } from "./raced-service";

type Fields = Readonly<Record<string, unknown>>;

/** Returns each network as an object with an id and a name. Two networks have the same name. */
const asObject = (now: Fields): object => {
  const id = now.network === "default" ? "net-1" : String(now.network);
  return { ...now, network: { id, name: ["net-1", "net-2"].includes(id) ? "default" : id } };
};

describe("a network with the same name but another id", () => {
  test("is drift", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling: asObject } });
    expect(await web.up()).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs.network).toBe("default");
    service.emulator.edit(web.inState().id, { network: "net-2" });
    await web.refresh();
    expect(web.inState().inputs.network).toBe("net-2");
  });

  test("is a conflict", async () => {
    const service = await startRaced({ behaviour: { spelling: asObject } });
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { network: "net-2" });
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(message).toContain("another client changed network");
    expect(service.fieldsOf(saved).network).toBe("net-2");
  });

  test("can be set by its id", async () => {
    const service = await startRaced({ behaviour: { spelling: asObject } });
    const saved = await existingInstance(service);
    const { outs } = await service.updated(saved, { network: "net-2" });
    expect(service.fieldsOf(saved).network).toBe("net-2");
    expect(outs.network).toBe("net-2");
  });
});

test("an id in the state can be replaced with the name of the same network", async () => {
  const service = await startRaced({ behaviour: { spelling: asObject } });
  const saved = await existingInstance(service, { network: "net-1" });
  const { outs } = await service.updated(saved, { network: "default" });
  expect(outs.network).toBe("default");
});

test("a network that is null while the instance is created is no drift when its id and name appear", async () => {
  let isNull = true;
  const spelling = (now: Fields): object => (isNull ? { ...now, network: null } : asObject(now));
  const { service, web } = await oneInstance({ behaviour: { spelling } });
  expect(await web.up()).toBeUndefined();
  isNull = false;
  service.emulator.edit(web.inState().id, { description: "new revision" });
  await web.refresh();
  expect(web.inState().inputs.network).toBe("default");
});

describe("a name that ends like a link to the former name", () => {
  test("is drift", async () => {
    const { service, web } = await oneInstance();
    expect(await web.up({ name: "web" })).toBeUndefined();
    service.emulator.edit(web.inState().id, { name: "/team/web" });
    await web.refresh();
    expect(web.inState().inputs.name).toBe("/team/web");
  });

  test("is a conflict", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { name: "/team/web" });
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(message).toContain("another client changed name");
    expect(service.fieldsOf(saved).name).toBe("/team/web");
  });
});

test("an id can be replaced with a link to the same network, and back", async () => {
  const { service, web } = await oneInstance();
  const link = `${service.emulator.endpoint}/networks/net-1`;
  for (const network of ["net-1", link, "net-1"]) {
    expect(await web.up({ network })).toBeUndefined();
    await web.expectOne();
    expect([...service.emulator.instances.values()].map(({ fields }) => fields.network)).toEqual([network]);
    await web.refresh();
    expect(web.inState().inputs.network).toBe(network);
  }
});
