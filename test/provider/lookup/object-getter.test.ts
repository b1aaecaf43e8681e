import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { oneInstance } from "../one-instance";

/** Others' labels and SSH keys on an instance that the state knows, at a service whose list omits both. */
async function othersFields() {
  const { service, web } = await oneInstance({ behaviour: { itemsWithout: ["labels", "ssh_keys"] } });
  await web.up();
  const { id } = web.inState();
  const theirs = { labels: { owner: "them" }, ssh_keys: ["ssh-ed25519 THEIRS"] };
  service.emulator.edit(id, theirs);
  await web.refresh();
  const failGet = (status: number, times: number) =>
    service.emulator.fail({ method: "GET", path: `/v1/instances/${id}`, kind: "status", status, times });
  return { service, web, id, theirs, failGet };
}

describe.each([404, 405, 501])("an instance whose GET is answered with %d", (status) => {
  test("keeps unmanaged labels and keys if that happens once before an update", async () => {
    const { service, web, id, theirs, failGet } = await othersFields();
    failGet(status, 1);
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({ ...theirs, flavor: "m1.large" });
  });

  test("isn't updated while only a list that omits unmanaged labels and keys shows it", async () => {
    const { service, web, id, theirs, failGet } = await othersFields();
    const fault = failGet(status, Number.POSITIVE_INFINITY);
    const said = await web.up({ flavor: "m1.large" });
    expect(said).toContain(
      "in a list that omits sshKeys, labels, so the update would remove unmanaged values",
    );
    expect(said).toContain("Nothing was overwritten");
    expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
    fault.off();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({ ...theirs, flavor: "m1.large" });
  });

  test.each([undefined, { flavor: "m1.tiny" }])(
    "has no false drift if that happens once during a refresh and the list shows other values (changed: %j)",
    async (changed) => {
      const spelling: Behaviour["spelling"] = (now, place) =>
        place === "item" ? { ...now, image: "img-4711" } : now;
      const { service, web } = await oneInstance({ behaviour: { spelling } });
      await web.up();
      await web.refresh();
      const { id } = web.inState();
      if (changed !== undefined) service.emulator.edit(id, changed);
      service.emulator.fail({ method: "GET", path: `/v1/instances/${id}`, kind: "status", status });
      await web.refresh();
      expect(web.inState().inputs).toMatchObject({ image: "debian-13", ...changed });
      await web.up();
      await web.expectOne();
    },
  );
});
