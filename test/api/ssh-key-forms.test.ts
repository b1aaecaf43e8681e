import { describe, expect, test } from "vitest";
import { oneInstance } from "../provider/one-instance";
import { SSH_KEY } from "../provider/samples";

/** Shows SSH keys as objects that contain the key. */
const spelling = (now: Readonly<Record<string, unknown>>): object => ({
  ...now,
  ssh_keys: [now.ssh_keys ?? []].flat().map((key, at) => ({ id: at + 1, name: "laptop", public_key: key })),
});

describe.each([200, 202, 204] as const)("at a service that shows SSH keys as objects, PUT %d", (putReply) => {
  test("keys that an update adds are not drift, even if its reply is lost", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up()).toBeUndefined();
    service.emulator.fail({ kind: "lost-reply", method: "PUT", times: 8 });
    expect(await web.up({ sshKeys: [SSH_KEY] })).toContain("The service may have applied the update");
    expect(await web.up({ sshKeys: [SSH_KEY] })).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs.sshKeys).toEqual([SSH_KEY]);
  });

  test("an update keeps keys that the program doesn't manage", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up()).toBeUndefined();
    const { id } = web.inState();
    service.emulator.edit(id, { ssh_keys: [SSH_KEY] });
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields.ssh_keys).toEqual([SSH_KEY]);
  });
});
