import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { oneInstance } from "../one-instance";

type Fields = Readonly<Record<string, unknown>>;

const PINNED = "203.0.113.77";

/** How services show the public address as an object, in place of `public_ip` and of `ip_address`. */
const OBJECTS: [string, (address: unknown) => object][] = [
  ["Hetzner's", (ip) => ({ id: 42, ip, blocked: false, dns_ptr: "static.example.com" })],
  ["DigitalOcean's", (ip) => ({ ip, region: { slug: "nyc3" }, locked: false })],
  ["Scaleway's", (address) => ({ id: `uuid-${address}`, address, dynamic: true })],
];

describe.each(OBJECTS)("a public address that the service shows as an object, as %s,", (_service, object) => {
  const started = (behaviour: Partial<Behaviour> = {}) =>
    oneInstance({
      behaviour: {
        ...behaviour,
        spelling: ({ ip_address: address, ...now }: Fields) => ({
          ...now,
          public_ip: (address ?? null) === null ? null : object(address),
        }),
      },
    });

  test.each([[[]], [["publicIp"]]])(
    "is kept by an update if somebody else has set it, with ignoreChanges: %j",
    async (__ignoreChanges) => {
      const { service, web } = await started();
      expect(await web.up()).toBeUndefined();
      const { id } = web.inState();
      service.emulator.edit(id, { public_ip: PINNED });
      await web.refresh();
      expect(await web.up({ flavor: "m1.large", __ignoreChanges })).toBeUndefined();
      expect(service.emulator.instances.get(id)?.fields.public_ip).toBe(PINNED);
    },
  );

  test.each([{}, { putReply: 204 }] as const)(
    'is not overwritten by an update of another property if somebody has pinned it in place of "auto": %j',
    async (behaviour) => {
      const { service, web } = await started(behaviour);
      expect(await web.up({ publicIp: "auto" })).toBeUndefined();
      const { id } = web.inState();
      service.emulator.edit(id, { public_ip: PINNED });
      const said = await web.up({ publicIp: "auto", flavor: "m1.large" });
      expect(said).toContain("another client changed publicIp");
      expect(service.emulator.instances.get(id)?.fields).toMatchObject({
        public_ip: PINNED,
        flavor: "m1.small",
      });
      await web.refresh();
      expect(web.inState().inputs.publicIp).toBe(PINNED);
      expect(await web.up({ publicIp: "auto", flavor: "m1.large" })).toBeUndefined();
      expect(service.emulator.instances.get(id)?.fields).toMatchObject({
        public_ip: "auto",
        flavor: "m1.large",
      });
    },
  );

  test('is the output ipAddress, and can be pinned, become "auto" again, and be removed', async () => {
    const { service, web } = await started();
    expect(await web.up({ publicIp: PINNED })).toBeUndefined();
    expect(web.inState().state).toMatchObject({ publicIp: PINNED, ipAddress: PINNED });
    for (const publicIp of ["auto", "203.0.113.78", undefined]) {
      expect(await web.up({ publicIp })).toBeUndefined();
      await web.refresh();
      expect(web.inState().inputs.publicIp).toBe(publicIp);
      service.emulator.clearRequests();
      expect(await web.up({ publicIp })).toBeUndefined();
      expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
      expect(service.emulator.instances.get(web.inState().id)?.fields.public_ip).toBe(publicIp);
    }
  });

  test("is drift if it differs from the program's", async () => {
    const { service, web } = await started();
    expect(await web.up({ publicIp: PINNED })).toBeUndefined();
    service.emulator.edit(web.inState().id, { public_ip: "198.51.100.9" });
    await web.refresh();
    expect(web.inState().inputs.publicIp).toBe("198.51.100.9");
  });
});

test('a pinned address in place of "auto" is not overwritten if the service shows a reference beside the address', async () => {
  const spelling = (now: Fields) => ({
    ...now,
    public_ip: { id: `/publicIPAddresses/pip-${now.ip_address}` },
  });
  const { service, web } = await oneInstance({ behaviour: { spelling } });
  expect(await web.up({ publicIp: "auto" })).toBeUndefined();
  service.emulator.edit(web.inState().id, { public_ip: PINNED });
  expect(await web.up({ publicIp: "auto", flavor: "m1.large" })).toContain("another client changed publicIp");
  expect(service.emulator.instances.get(web.inState().id)?.fields.public_ip).toBe(PINNED);
});
