import { expect, test } from "vitest";
import { oneInstance } from "../one-instance";

const OURS = "ssh-rsa OURS";
const LOST = "ssh-rsa LOST";
const NEXT = "ssh-rsa NEXT";
const THEIRS = "ssh-rsa THEIRS";

const isEmpty = (value: unknown): boolean =>
  value === null || value === "" || (typeof value === "object" && Object.keys(Object(value)).length === 0);

/** Rewrites replies like a service that omits empty fields. */
const spelling = (now: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(now).filter(([, value]) => !isEmpty(value)));

/** Creates an instance, loses the reply to an update, and lets somebody else change the same property. */
async function changedByOthers(
  behaviour: Parameters<typeof oneInstance>[0],
  [name, wire]: readonly [name: string, wire: string],
  [ours, lost, next, theirs]: readonly unknown[],
) {
  const { service, web } = await oneInstance(behaviour);
  const { emulator } = service;
  expect(await web.up({ [name]: ours })).toBeUndefined();
  const [id = ""] = emulator.instances.keys();
  emulator.fail({ method: "PUT", kind: "lost-reply", times: 8 }); // all attempts of one update
  expect(await web.up({ [name]: lost })).toContain("The service may have applied the update");
  emulator.edit(id, { [wire]: theirs });
  const message = await web.up({ [name]: next });
  expect(emulator.instances.get(id)?.fields[wire]).toEqual(theirs);
  return message;
}

test.each([
  [
    ["sshKeys", "ssh_keys"],
    [[OURS], [LOST], [NEXT], [THEIRS]],
  ],
  [
    ["network", "network"],
    ["ours", "lost", "next", "theirs"],
  ],
  [
    ["flavor", "flavor"],
    ["ours", "lost", "next", "theirs"],
  ],
] as const)(
  "after an update of unknown outcome, somebody else's value of %j is kept even if the service never shows it",
  async (names, values) => {
    const message = await changedByOthers({ behaviour: { unshown: [names[1]] } }, names, values);
    expect(message).toContain(`the service doesn't return ${names[0]}`);
  },
);

test.each([
  [
    ["sshKeys", "ssh_keys"],
    [["ssh-rsa OURS"], ["ssh-rsa LOST"], ["ssh-rsa NEXT"], []],
  ],
  [
    ["labels", "labels"],
    [{ env: "ours" }, { env: "lost" }, { env: "next" }, {}],
  ],
] as const)(
  "after an update of unknown outcome, it is a conflict if somebody else has emptied %j",
  async (names, values) => {
    expect(await changedByOthers({ behaviour: { spelling } }, names, values)).toContain(
      "code revision_conflict",
    );
  },
);

test("a hidden value that somebody else has changed is kept if the program reverts an update of another property", async () => {
  const { service, web } = await oneInstance({ behaviour: { unshown: ["ssh_keys"] } });
  const { emulator } = service;
  await web.up({ sshKeys: [OURS] });
  const [id = ""] = emulator.instances.keys();
  emulator.fail({ method: "PUT", kind: "status", status: 503, times: 8 });
  await web.up({ sshKeys: [OURS], flavor: "m1.large" });
  emulator.edit(id, { ssh_keys: [THEIRS] });
  expect(await web.up({ sshKeys: [OURS] })).toContain("the service doesn't return sshKeys");
  expect(emulator.instances.get(id)?.fields.ssh_keys).toEqual([THEIRS]);
});
