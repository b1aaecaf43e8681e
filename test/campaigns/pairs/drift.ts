import type { Emulator } from "../../../src/emulator";
import type { Deployment } from "../../harness/engine";
import { ownStates } from "../../harness/state";
import type { Random } from "../random";

/** Makes changes of somebody else between two commands. Returns their descriptions by resource. */
export function drift(
  random: Random,
  emulator: Emulator,
  deployment: Deployment,
  share: number,
): Map<string, string> {
  const told = new Map<string, string>();
  for (const { urn, id = "", type } of ownStates(deployment)) {
    if (!random.chance(share)) continue;
    const resource = urn.slice(urn.lastIndexOf("::") + 2);
    if (type.endsWith(":Instance") && emulator.instances.has(id))
      told.set(resource, editInstance(random, emulator, id));
    if (type.endsWith(":Project") && emulator.projects.has(id) && random.chance(0.3))
      told.set(resource, editProject(random, emulator, id));
  }
  return told;
}

function editInstance(random: Random, emulator: Emulator, id: string): string {
  const labels = { ...Object(emulator.instances.get(id)?.fields.labels) };
  const edits: readonly [Record<string, unknown>, ...Record<string, unknown>[]] = [
    { flavor: "theirs" },
    { network: "theirs" },
    { name: `theirs-${random.integer(1, 1e6)}` },
    { image: "theirs" },
    { ssh_keys: [`ssh-rsa THEIRS${random.seed()}`] },
    { ssh_keys: [] },
    { labels: { ...labels, tier: "theirs" } },
    { labels: { ...labels, others: "x" } },
    { labels: {} },
    { public_ip: null },
    { status: "stopped" },
  ];
  if (random.chance(0.15)) {
    emulator.remove(id, "instance");
    return "deleted by somebody else";
  }
  if (random.chance(0.1)) {
    emulator.touch(id);
    return "its revision changed";
  }
  const drawn = random.pick(edits);
  // An update that doesn't set SSH keys can't send fingerprints back, and fails without a change.
  const areHashed = emulator.behaviour.normalize.includes("fingerprints");
  const edit = "ssh_keys" in drawn && areHashed ? { flavor: "theirs" } : drawn;
  emulator.edit(id, edit, "instance");
  return `changed by somebody else: ${JSON.stringify(edit)}`;
}

function editProject(random: Random, emulator: Emulator, id: string): string {
  emulator.edit(id, { description: `by somebody else ${random.integer(1, 99)}` }, "project");
  return "its description changed";
}
