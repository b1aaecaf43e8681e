import { expect, test } from "vitest";
import { oneInstance } from "../one-instance";

test.each([40_000, 60_000])(
  "an update that reverts the previous one is sent if reads lag %d ms, because the object that they return is outdated",
  async (lagMs) => {
    const { service, web } = await oneInstance();
    const own = { role: "web" };
    expect(await web.up({ labels: own })).toBeUndefined();
    const now = () => service.emulator.instances.get(web.inState().id)?.fields;
    await service.clock.sleep(300_000);
    Object.assign(service.emulator.behaviour, { lagMs, lagIn: "both" });
    expect(await web.up({ flavor: "m1.large", labels: { ...own, public: "yes" } })).toBeUndefined();
    expect(now()).toMatchObject({ flavor: "m1.large", labels: { ...own, public: "yes" } });
    expect(await web.up({ labels: own })).toBeUndefined();
    expect(now()).toMatchObject({ flavor: "m1.small", labels: own });
  },
);

test("a read from a replica that lags 10 s causes no conflict", async () => {
  let latest: object = {};
  let former: object | undefined;
  let isBehind = () => false;
  const spelling = (now: object): object => {
    if (former !== undefined && isBehind()) return former;
    latest = now;
    return now;
  };
  const { service, web } = await oneInstance({ behaviour: { spelling, revision: "body" } });
  expect(await web.up()).toBeUndefined();
  former = latest;
  expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
  const end = service.clock.now() + 10_000;
  isBehind = () => service.clock.now() < end;
  expect(await web.up({ flavor: "m1.xlarge" })).toBeUndefined();
  expect(service.emulator.instances.get(web.inState().id)?.fields).toMatchObject({ flavor: "m1.xlarge" });
});
