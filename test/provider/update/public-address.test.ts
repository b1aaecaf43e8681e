import { describe, expect, test } from "vitest";
import { OneInstance, oneInstance } from "../one-instance";
import { type Service, startService } from "../service";
import { startRaced } from "./raced-service";

type Fields = Readonly<Record<string, unknown>>;

const modesOf = ({ emulator }: Service) =>
  [...emulator.instances.values()].map(({ fields }) => fields.public_ip);

describe.each([200, 202, 204] as const)("a service that shows a boolean for the mode, PUT %d", (putReply) => {
  const spelling = (now: Fields) => ({
    ...now,
    public_ip: !["none", undefined].includes(now.public_ip as string),
  });

  test.each([
    ["auto", "none", "auto"],
    ["auto", undefined, "auto"],
    [undefined, "auto", undefined],
    ["auto", "203.0.113.9", "auto"],
  ])("accepts publicIp %j, then %j, then %j, and shows no drift", async (...modes) => {
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    for (const publicIp of modes) {
      const args = publicIp === undefined ? {} : { publicIp };
      expect(await web.up(args)).toBeUndefined();
      await web.refresh();
      expect(web.inState().inputs.publicIp).toBe(publicIp);
      expect(modesOf(service)).toEqual([publicIp]);
    }
  });

  test("keeps an unmanaged address in an update of the flavor", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up()).toBeUndefined();
    service.emulator.edit(web.inState().id, { public_ip: "auto" });
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(modesOf(service)).toEqual(["auto"]);
  });
});

describe("removing publicIp at a service that shows null for the mode of each instance", () => {
  const behaviour = { spelling: (now: Fields) => ({ ...now, public_ip: null }) };
  const timeouts = { __timeouts: { update: "10s" } };

  async function withAddress() {
    const { service, web } = await oneInstance({ behaviour });
    expect(await web.up({ publicIp: "auto", ...timeouts })).toBeUndefined();
    return { service, web };
  }

  test("removes the address although somebody else has changed the instance", async () => {
    const { service, web } = await withAddress();
    service.emulator.edit(web.inState().id, { labels: { theirs: "x" } });
    expect(await web.up(timeouts)).toBeUndefined();
    expect(modesOf(service)).toEqual([undefined]);
  });

  test("removes the address in the next update if the first one timed out", async () => {
    const { service, web } = await withAddress();
    const always = Number.POSITIVE_INFINITY;
    const fault = service.emulator.fail({ kind: "status", status: 504, method: "PUT", times: always });
    expect(await web.up(timeouts)).toContain("504");
    fault.off();
    expect(await web.up(timeouts)).toBeUndefined();
    expect(modesOf(service)).toEqual([undefined]);
  });

  test("removes the address if the reply to the update is lost", async () => {
    const { service, web } = await withAddress();
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    expect(await web.up(timeouts)).toBeUndefined();
    expect(modesOf(service)).toEqual([undefined]);
  });

  test.each([200, 202, 204] as const)(
    "is an error in each update if the instance keeps the address: PUT %d",
    async (putReply) => {
      const { service, web } = await withAddress();
      service.emulator.behaviour.putReply = putReply;
      service.emulator.ignoreUpdatesOf("public_ip");
      for (const _ of ["first", "again"]) {
        expect(await web.up(timeouts)).toContain("did not change publicIp");
        await web.refresh();
      }
    },
  );
});

describe("a pinned address at a service that shows null for the mode of each instance", () => {
  const ADDRESS = "203.0.113.5";

  describe.each([{}, { absentValues: "null" }] as const)("%j", (more) => {
    async function removed(args: Fields = {}) {
      const { service, web } = await oneInstance({ behaviour: { publicIpShows: "null", ...more } });
      expect(await web.up({ publicIp: ADDRESS, ...args })).toBeUndefined();
      service.emulator.edit(web.inState().id, { public_ip: undefined });
      return { service, web };
    }

    test("is not set again by an update of another property after somebody has removed it", async () => {
      const { service, web } = await removed();
      const said = await web.up({ publicIp: ADDRESS, flavor: "m1.large" });
      expect(said).toContain("another client changed publicIp");
      expect(modesOf(service)).toEqual([undefined]);
      await web.refresh();
      expect(web.inState().inputs.publicIp).toBeUndefined();
      expect(await web.up({ publicIp: ADDRESS, flavor: "m1.large" })).toBeUndefined();
      expect(modesOf(service)).toEqual([ADDRESS]);
    });

    test("can be removed from the program after somebody has removed it", async () => {
      const { service, web } = await removed();
      expect(await web.up()).toBeUndefined();
      expect(modesOf(service)).toEqual([undefined]);
    });

    test("doesn't stop an update of another property while it is ignored", async () => {
      const { service, web } = await removed();
      await web.refresh();
      const args = { publicIp: ADDRESS, __ignoreChanges: ["publicIp"], flavor: "m1.large" };
      expect(await web.up(args)).toBeUndefined();
      expect(modesOf(service)).toEqual([undefined]);
    });

    test.each(["203.0.113.6", "auto", undefined])(
      "becomes %s if the reply to the update is lost",
      async (publicIp) => {
        const { service, web } = await oneInstance({ behaviour: { publicIpShows: "null", ...more } });
        expect(await web.up({ publicIp: ADDRESS })).toBeUndefined();
        service.emulator.fail({ method: "PUT", kind: "lost-reply" });
        expect(await web.up({ publicIp, flavor: "m1.large" })).toBeUndefined();
        expect(modesOf(service)).toEqual([publicIp]);
        await web.refresh();
        expect(web.inState().inputs.publicIp).toBe(publicIp);
      },
    );
  });
});

describe('publicIp "auto" at a service that shows null beside the address', () => {
  const behaviour = { publicIpShows: "null" } as const;

  test.each([
    ["a pinned address", { publicIp: "203.0.113.200" }],
    ["nothing", {}],
  ])("replaces %s, also if a reply is lost, and survives a refresh", async (_what, first) => {
    const { service, web } = await oneInstance({ behaviour });
    expect(await web.up(first)).toBeUndefined();
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    expect(await web.up({ publicIp: "auto" })).toBeUndefined();
    expect(modesOf(service)).toEqual(["auto"]);
    await web.refresh();
    expect(await web.up({ publicIp: "auto" })).toBeUndefined();
    expect(web.inState().state).toMatchObject({ publicIp: "auto", ipAddress: expect.any(String) });
  });

  test("adopts an address that somebody else has assigned", async () => {
    const { service, web } = await oneInstance({ behaviour });
    expect(await web.up()).toBeUndefined();
    service.emulator.edit(web.inState().id, { public_ip: "auto" });
    await web.refresh();
    expect(await web.up({ publicIp: "auto" })).toBeUndefined();
    expect(modesOf(service)).toEqual(["auto"]);
  });
});

describe('publicIp "auto" at a service that shows the address in public_ip and in ip_address', () => {
  const spelling = (now: Fields) => (now.ip_address ? { ...now, public_ip: now.ip_address } : now);

  const converges = async (web: OneInstance, service: Service, args: Fields) => {
    await web.refresh();
    service.emulator.clearRequests();
    expect(await web.up(args)).toBeUndefined();
    expect(service.emulator.requests.map(({ method }) => method)).not.toContain("PUT");
    expect(web.inState().state).toMatchObject(args);
    expect(modesOf(service)).toEqual(["auto"]);
  };

  const replies = [
    {},
    { putReply: 204 },
    { putReply: 202 },
    { getObject: 405 },
    { revisionOf: "shown" },
  ] as const;

  describe.each(replies)("with %j", (more) => {
    const behaviour = { spelling, ...more };

    test.each([{}, { flavor: "m1.large" }])(
      "can be set although somebody else has assigned the address: %j",
      async (others) => {
        const { service, web } = await oneInstance({ behaviour });
        expect(await web.up()).toBeUndefined();
        service.emulator.edit(web.inState().id, { public_ip: "auto" });
        await web.refresh();
        expect(await web.up({ publicIp: "auto", ...others })).toBeUndefined();
        await converges(web, service, { publicIp: "auto", ...others });
      },
    );

    test("can be set again after somebody else has pinned another address", async () => {
      const { service, web } = await oneInstance({ behaviour });
      expect(await web.up({ publicIp: "auto" })).toBeUndefined();
      service.emulator.edit(web.inState().id, { public_ip: "203.0.113.50" });
      await web.refresh();
      expect(web.inState().inputs.publicIp).toBe("203.0.113.50");
      const args = { publicIp: "auto", flavor: "m1.large" };
      expect(await web.up(args)).toBeUndefined();
      await converges(web, service, args);
    });
  });

  test("replaces an address that the program pinned", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up({ publicIp: "203.0.113.200" })).toBeUndefined();
    expect(await web.up({ publicIp: "auto" })).toBeUndefined();
    await converges(web, service, { publicIp: "auto" });
  });

  test("doesn't show whether a pinned address is replaced together with another change, so the error doesn't suggest a replacement", async () => {
    const { web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up({ publicIp: "203.0.113.200" })).toBeUndefined();
    const said = await web.up({ publicIp: "auto", flavor: "m1.large" });
    expect(said).toContain("the service may return the address instead");
    expect(said).not.toContain("replaceOnChanges");
  });
});

describe('publicIp "auto" in place of a pinned address at a service that ignores the change of the mode that it shows', () => {
  test.each([
    ["alone", {}],
    ["beside another change", { flavor: "m1.large" }],
  ])("is an error: %s", async (_how, others) => {
    const { service, web } = await oneInstance();
    expect(await web.up({ publicIp: "203.0.113.200" })).toBeUndefined();
    service.emulator.ignoreUpdatesOf("public_ip");
    for (const _ of ["first", "again"])
      expect(await web.up({ publicIp: "auto", ...others })).toContain("did not change publicIp");
  });

  test.each([{}, { normalize: ["upper-case"] }] as const)(
    "is an error if somebody else has pinned it, and a refresh has seen that: %j",
    async (behaviour) => {
      const { service, web } = await oneInstance({ behaviour });
      expect(await web.up({ publicIp: "auto" })).toBeUndefined();
      service.emulator.edit(web.inState().id, { public_ip: "203.0.113.50" });
      await web.refresh();
      service.emulator.ignoreUpdatesOf("public_ip");
      for (const _ of ["first", "again"])
        expect(await web.up({ publicIp: "auto" })).toContain("did not change publicIp");
    },
  );
});

test("an instance without an address can be changed at a service that shows an empty string", async () => {
  const spelling = ({ public_ip: _mode, ip_address: address, ...now }: Fields) => ({
    ...now,
    public_ip: address ?? "",
  });
  const { service, web } = await oneInstance({ behaviour: { spelling } });
  expect(await web.up()).toBeUndefined();
  expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
  await web.refresh();
  expect(await web.up({ flavor: "m1.huge" })).toBeUndefined();
  expect(modesOf(service)).toEqual([undefined]);
});

test('a pinned address becomes "auto" at a service that shows a reference to the address', async () => {
  const spelling = ({ public_ip: mode, ip_address: address, ...now }: Fields) => ({
    ...now,
    ip_address: address,
    public_ip: mode === undefined ? undefined : { id: "ip-1", address },
  });
  const { service, web } = await oneInstance({ behaviour: { spelling } });
  expect(await web.up({ publicIp: "203.0.113.200" })).toBeUndefined();
  expect(await web.up({ publicIp: "auto" })).toBeUndefined();
  expect(modesOf(service)).toEqual(["auto"]);
});

describe('publicIp "none" at a service that shows null for an instance without an address', () => {
  const behaviour = {
    spelling: (now: Fields) => ({ ...now, public_ip: now.public_ip === "none" ? null : now.public_ip }),
  };

  test.each([
    ["an absent value", {}],
    ["an address", { publicIp: "auto" }],
  ])("replaces %s, survives a refresh, and can be removed", async (_what, first) => {
    const { service, web } = await oneInstance({ behaviour });
    expect(await web.up(first)).toBeUndefined();
    expect(await web.up({ publicIp: "none" })).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs.publicIp).toBe("none");
    expect(await web.up()).toBeUndefined();
    expect(modesOf(service)).toEqual([undefined]);
  });

  test("can be set in a creation without a further update", async () => {
    const { service, web } = await oneInstance({ behaviour });
    expect(await web.up({ publicIp: "none" })).toBeUndefined();
    await web.refresh();
    expect(await web.up({ publicIp: "none" })).toBeUndefined();
    const methods = service.emulator.requests.map(({ method }) => method);
    expect(methods.filter((method) => method !== "GET")).toEqual(["POST"]);
  });
});

describe('the address that "auto" became', () => {
  async function withAddress() {
    const { service, web } = await oneInstance();
    expect(await web.up({ publicIp: "auto" })).toBeUndefined();
    return { service, web, publicIp: String(web.inState().state.ipAddress) };
  }

  test('can be pinned with one update if the service keeps showing "auto"', async () => {
    const { service, web, publicIp } = await withAddress();
    expect(await web.up({ publicIp })).toBeUndefined();
    await web.refresh();
    expect(await web.up({ publicIp })).toBeUndefined();
    const puts = service.emulator.requests.filter(({ method }) => method === "PUT");
    expect(puts.map(({ body }) => JSON.parse(String(body)).public_ip)).toEqual([publicIp]);
  });

  test("is pinned by an update although somebody else has changed the instance", async () => {
    const { service, web, publicIp } = await withAddress();
    service.emulator.edit(web.inState().id, { labels: { theirs: "x" } });
    service.emulator.clearRequests();
    expect(await web.up({ publicIp })).toBeUndefined();
    expect(service.emulator.requests.map(({ method }) => method)).toContain("PUT");
  });

  describe("is pinned, and", () => {
    async function pinned() {
      const { service, web, publicIp } = await withAddress();
      expect(await web.up({ publicIp })).toBeUndefined();
      return { service, web, publicIp };
    }

    test("is a conflict, and drift for a refresh, if somebody has another one assigned in its place", async () => {
      const { service, web, publicIp } = await pinned();
      const { id } = web.inState();
      for (const public_ip of [undefined, "auto"]) service.emulator.edit(id, { public_ip });
      expect(await web.up({ publicIp, flavor: "large" })).toContain("another client changed publicIp");
      await web.refresh();
      expect(web.inState().inputs.publicIp).toBe(service.emulator.instances.get(id)?.address);
    });

    test('can be "auto" again with one update, although somebody else has changed the instance', async () => {
      const { service, web } = await pinned();
      service.emulator.edit(web.inState().id, { labels: { theirs: "x" } });
      service.emulator.clearRequests();
      expect(await web.up({ publicIp: "auto" })).toBeUndefined();
      expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toHaveLength(1);
      await web.refresh();
      expect(web.inState().inputs.publicIp).toBe("auto");
    });
  });

  test("can be pinned, but another one is an error if the service doesn't assign it", async () => {
    const { service, web } = await withAddress();
    service.emulator.ignoreUpdatesOf("public_ip");
    const said = await web.up({ publicIp: "198.51.100.9" });
    expect(said).toContain("did not change publicIp");
    expect(said).toContain("set cloudinfra:ipAddressField to the field that contains it");
  });
});

test.each([
  [{}, false],
  [{}, true],
  [{ revision: "header" }, false],
  [{ putReply: 204 }, true],
] as const)(
  "an update reports an address that somebody pinned while `ignoreChanges` listed it, with %j, refreshed: %s",
  async (behaviour, isRefreshed) => {
    const PINNED = "203.0.113.77";
    const { service, web } = await oneInstance({ behaviour });
    const ignored = { publicIp: "auto", __ignoreChanges: ["publicIp"] };
    await web.up(ignored);
    const { id } = web.inState();
    service.emulator.edit(id, { public_ip: PINNED });
    for (const a of ["1", "2"]) {
      expect(await web.up({ ...ignored, labels: { a } })).toBeUndefined();
      expect(web.inState().state.ipAddress).toBe(service.emulator.instances.get(id)?.address);
    }
    if (isRefreshed) {
      await web.refresh();
      expect(web.inState().state.publicIp).toBe(PINNED); // so the preview shows that `up` changes it
      return;
    }
    expect(await web.up({ publicIp: "auto", labels: { a: "3" } })).toContain(
      "another client changed publicIp",
    );
    expect(service.emulator.instances.get(id)?.fields.public_ip).toBe(PINNED);
  },
);

describe.each([{ publicIpShows: "null" }, { unshown: ["public_ip"] }] as const)(
  "an address that somebody gives to an instance with publicIp none, which only ip_address shows (%j),",
  (behaviour) => {
    const given = async (ignored: readonly string[] = []) => {
      const { service, web } = await oneInstance({ behaviour });
      const args = { publicIp: "none", __ignoreChanges: ignored };
      await web.up(args);
      service.emulator.edit(web.inState().id, { public_ip: "auto" });
      return { service, web, args };
    };

    test("is not removed by another update", async () => {
      const { service, web, args } = await given();
      expect(await web.up({ ...args, flavor: "m1.large" })).toContain("another client changed publicIp");
      expect(modesOf(service)).toEqual(["auto"]);
    });

    test("is drift, which `up` corrects", async () => {
      const { service, web, args } = await given();
      await web.refresh();
      expect(web.inState().state.publicIp).not.toBe("none");
      expect(await web.up(args)).toBeUndefined();
      expect(modesOf(service)).not.toEqual(["auto"]);
    });

    test("is kept while it is ignored", async () => {
      const { service, web, args } = await given(["publicIp"]);
      expect(await web.up({ ...args, flavor: "m1.large" })).toBeUndefined();
      expect(modesOf(service)).toEqual(["auto"]);
    });
  },
);

test("a pinned IPv6 address is equal in all its forms, so that its import changes nothing", async () => {
  const service = await startService();
  const made = { name: "web", image: "debian-13", flavor: "m1.small", network: "default" };
  const web = new OneInstance(service);
  const { id } = service.emulator.addInstance({ ...made, project: web.project, public_ip: "2001:db8::10" });
  const publicIp = "2001:0db8:0000:0000:0000:0000:0000:0010";
  expect(await web.up({ ...made, publicIp, __import: id })).toBeUndefined();
  expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
});

/** Services that show no modes, or only modes that assign no address. */
const WITHOUT_MODES = [
  { ipField: "public_ip" },
  { publicIpShows: "null" },
  { unshown: ["public_ip"] },
] as const;

describe.each([{}, ...WITHOUT_MODES] as const)(
  "a public address that somebody else has set in place of the mode `private`, with %j,",
  (behaviour) => {
    const edits = [{ public_ip: "203.0.113.9" }, { public_ip: "auto" }] as const;

    async function given(edit: Fields, args: Fields = {}) {
      const { service, web } = await oneInstance({ behaviour });
      expect(await web.up({ publicIp: "private", ...args })).toBeUndefined();
      service.emulator.edit(web.inState().id, edit);
      return { service, web };
    }

    test.each(edits)("is a conflict for an update of another property: %j", async (edit) => {
      const { service, web } = await given(edit);
      const said = await web.up({ publicIp: "private", flavor: "m1.large" });
      expect(said).toContain("another client changed publicIp");
      expect(modesOf(service)).toEqual([edit.public_ip]);
    });

    test.each(edits)("is drift, which `up` corrects: %j", async (edit) => {
      const { service, web } = await given(edit);
      await web.refresh();
      expect(web.inState().inputs.publicIp).not.toBe("private");
      expect(await web.up({ publicIp: "private" })).toBeUndefined();
      expect(modesOf(service)).toEqual(["private"]);
      await web.refresh();
      expect(web.inState().inputs.publicIp).toBe("private");
    });

    test.each(edits)("is kept while it is ignored, and then a conflict: %j", async (edit) => {
      const __ignoreChanges = ["publicIp"];
      const { service, web } = await given(edit, { __ignoreChanges });
      const args = { publicIp: "private", flavor: "m1.large" };
      expect(await web.up({ ...args, __ignoreChanges })).toBeUndefined();
      expect(modesOf(service)).toEqual([edit.public_ip]);
      expect(await web.up({ ...args, flavor: "m1.huge" })).toContain("another client changed publicIp");
      expect(modesOf(service)).toEqual([edit.public_ip]);
    });

    test("is a conflict if it is set right after the update that set the mode", async () => {
      const service = await startRaced({ behaviour });
      const web = new OneInstance(service);
      expect(await web.up()).toBeUndefined();
      service.after("PUT", () => service.emulator.edit(web.inState().id, { public_ip: "auto" }));
      await web.up({ publicIp: "private" });
      expect(await web.up({ publicIp: "private", flavor: "m1.large" })).toContain(
        "another client changed publicIp",
      );
      expect(modesOf(service)).toEqual(["auto"]);
    });
  },
);

describe.each(WITHOUT_MODES)("the mode `private` at a service with %j", (behaviour) => {
  test.each([{}, { publicIp: "none" }, { publicIp: "auto" }, { publicIp: "203.0.113.200" }])(
    "can be set with one update in place of %j, and converges",
    async (first) => {
      const { service, web } = await oneInstance({ behaviour });
      expect(await web.up(first)).toBeUndefined();
      service.emulator.clearRequests();
      for (const _ of ["first", "again"]) expect(await web.up({ publicIp: "private" })).toBeUndefined();
      await web.refresh();
      expect(await web.up({ publicIp: "private" })).toBeUndefined();
      expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toHaveLength(1);
      expect(web.inState().state).not.toHaveProperty("ipAddress");
    },
  );

  test.each(["auto", "203.0.113.200"])(
    "is an error if the service accepts it in place of %s without applying it",
    async (publicIp) => {
      const { service, web } = await oneInstance({ behaviour });
      expect(await web.up({ publicIp })).toBeUndefined();
      service.emulator.ignoreUpdatesOf("public_ip");
      for (const _ of ["first", "again"]) {
        const said = await web.up({ publicIp: "private" });
        expect(said).toContain("did not change publicIp");
        expect(said).toContain("Check in the service whether the object has the value");
      }
      expect(web.inState().state.publicIp).toBe(publicIp);
    },
  );

  test("can be set in a creation without a further update", async () => {
    const { service, web } = await oneInstance({ behaviour });
    for (const _ of ["first", "again"]) expect(await web.up({ publicIp: "private" })).toBeUndefined();
    const methods = service.emulator.requests.map(({ method }) => method);
    expect(methods.filter((method) => method !== "GET")).toEqual(["POST"]);
  });
});

describe.each([
  ["in place of the mode", (address: string) => ({ public_ip: address })],
  ["beside null", (address: string) => ({ public_ip: null, ip_address: address })],
] as const)("the mode `dynamic`, which assigns an address that the service shows %s,", (_place, shown) => {
  // The emulator assigns addresses only for "auto".
  const spelling = ({ public_ip: mode, ip_address, ...now }: Fields) => ({
    ...now,
    ...(mode === "dynamic" ? shown("203.0.113.66") : { public_ip: ip_address ? mode : null, ip_address }),
  });
  const args = { publicIp: "dynamic" };

  describe.each([{}, { putReply: 204 }, { putReply: 202 }, { writeReply: "slim" }] as const)(
    "with %j",
    (more) => {
      test.each([undefined, {}, { publicIp: "auto" }])(
        "can be set in place of %j, and kept by updates of other properties",
        async (first) => {
          const { service, web } = await oneInstance({ behaviour: { spelling, ...more } });
          if (first !== undefined) expect(await web.up(first)).toBeUndefined();
          expect(await web.up(args)).toBeUndefined();
          expect(web.inState().state).toMatchObject({ ...args, ipAddress: "203.0.113.66" });
          service.emulator.clearRequests();
          expect(await web.up({ ...args, flavor: "m1.large" })).toBeUndefined();
          const methods = service.emulator.requests.map(({ method }) => method);
          expect(methods.slice(0, 2)).toEqual(["GET", "PUT"]); // the object has the recorded revision
          service.emulator.edit(web.inState().id, { labels: { theirs: "x" } });
          expect(await web.up({ ...args, flavor: "m1.huge" })).toBeUndefined();
          await web.refresh();
          expect(web.inState().inputs).toMatchObject(args);
          expect(modesOf(service)).toEqual(["dynamic"]);
        },
      );
    },
  );

  test("is a conflict, and drift for a refresh, if somebody replaces the address", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up(args)).toBeUndefined();
    service.emulator.edit(web.inState().id, { public_ip: "203.0.113.9" });
    expect(await web.up({ ...args, flavor: "m1.large" })).toContain("another client changed publicIp");
    await web.refresh();
    expect(web.inState().inputs.publicIp).toBe("203.0.113.9");
  });
});

test.each([false, true])(
  "an unmanaged address beside null is kept by an update of another property, refreshed: %s",
  async (isRefreshed) => {
    const { service, web } = await oneInstance({ behaviour: { publicIpShows: "null" } });
    expect(await web.up()).toBeUndefined();
    const { id } = web.inState();
    service.emulator.edit(id, { public_ip: "auto" });
    const address = service.emulator.instances.get(id)?.address;
    if (isRefreshed) await web.refresh();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.address).toBe(address);
  },
);

describe('a pinned address that the program replaces with "auto"', () => {
  type Fields = Readonly<Record<string, unknown>>;
  const pinned = { publicIp: "203.0.113.9" };

  test("is replaced at a service that also returns a private address", async () => {
    const spelling = (now: Fields) => ({ ...now, ip_address: "10.0.0.7" });
    const { web } = await oneInstance({ behaviour: { ipField: "public_ip", spelling } });
    expect(await web.up(pinned)).toBeUndefined();
    expect(await web.up({ publicIp: "auto" })).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs.publicIp).toBe("auto");
  });

  test("is an error if the service ignores the mode, and returns the address beside a private one", async () => {
    const spelling = (now: Fields) => ({ ...now, ip_address: "10.0.0.7" });
    const behaviour = { ipField: "public_ip", spelling, revisionOf: "shown" } as const;
    const { service, web } = await oneInstance({ behaviour });
    expect(await web.up(pinned)).toBeUndefined();
    service.emulator.ignoreUpdatesOf("public_ip");
    expect(await web.up({ publicIp: "auto" })).toContain("did not change publicIp");
  });

  test.each(["lost-reply", "reset"] as const)(
    "is replaced at a service that returns the address instead of the mode, even if the outcome of the PUT is unknown: %s",
    async (kind) => {
      const { service, web } = await oneInstance({ behaviour: { ipField: "public_ip" } });
      expect(await web.up(pinned)).toBeUndefined();
      const fault = service.emulator.fail({ method: "PUT", kind, times: Number.POSITIVE_INFINITY });
      expect(await web.up({ publicIp: "auto", __timeouts: { update: "10s" } })).toContain(
        "Run `pulumi up` again",
      );
      fault.off();
      expect(await web.up({ publicIp: "auto" })).toBeUndefined();
      expect(modesOf(service)).toEqual(["auto"]);
    },
  );

  test("is replaced together with another change at a service that returns modes in capital letters", async () => {
    const spelling = (now: Fields) => ({
      ...now,
      public_ip: now.public_ip === "auto" ? "AUTO" : now.public_ip,
    });
    const { web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up(pinned)).toBeUndefined();
    expect(await web.up({ publicIp: "auto", flavor: "m1.large" })).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs.publicIp).toBe("auto");
  });
});

test("a new address in a field without a known name proves the mode", async () => {
  const spelling = ({ public_ip, ip_address: _, ...now }: Fields) => ({
    ...now,
    public_ip: null,
    floating_ip: public_ip === "auto" ? "203.0.113.9" : null,
  });
  const { service, web } = await oneInstance({ behaviour: { spelling, putReply: 204 } });
  expect(await web.up()).toBeUndefined();
  expect(await web.up({ publicIp: "auto" })).toBeUndefined();
  expect(modesOf(service)).toEqual(["auto"]);
});
