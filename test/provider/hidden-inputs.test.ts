import { describe, expect, test } from "vitest";
import { parseRecorded, toPlainJson } from "../../src/model/state";
import { instanceNews, OTHER_KEY, SSH_KEY } from "./samples";
import { errorOf, startService } from "./service";

const renamed = "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Instance::front";

/** An instance that was made by a first run, and what a second run passes. */
async function made() {
  const service = await startService();
  const project = service.emulator.addProject().id;
  const news = instanceNews({ project, __keyAt: 1, __secrets: ["labels"], labels: { a: "one" } });
  const { inputs } = await service.instances.check({}, news);
  const { id, outs } = await service.instances.create(inputs);
  const later = { __key: OTHER_KEY, __keyAt: 2, __urn: renamed, __timeouts: { delete: "5m", update: "2s" } };
  const next = instanceNews({
    project,
    ...later,
    __secrets: ["sshKeys"],
    labels: { a: "one" },
    sshKeys: [SSH_KEY],
  });
  return { service, id, inputs: toPlainJson(inputs), outs, next };
}

describe("hidden inputs of a resource that exists", () => {
  test("stay as they were, so that no diff shows them", async () => {
    const { service, inputs, next } = await made();
    const { inputs: now } = await service.instances.check(inputs, next);
    expect(toPlainJson(now)).toEqual({ ...inputs, sshKeys: [SSH_KEY] });
  });

  test("come back from a refresh just as they are", async () => {
    const { service, id, inputs, outs, next } = await made();
    expect((await service.instances.read(id, outs)).inputs).toMatchObject(hiddenIn(inputs));
    const { inputs: now } = await service.instances.check(inputs, next);
    const { outs: updated } = await service.instances.update(id, outs, toPlainJson(now));
    const { inputs: refreshed } = await service.instances.read(id, toPlainJson(updated ?? {}));
    expect(hiddenIn(refreshed ?? {})).toEqual(hiddenIn(inputs));
  });

  test("give way to what the program says now, in an update and in the state after it", async () => {
    const { service, id, inputs, outs, next } = await made();
    const { inputs: now } = await service.instances.check(inputs, next);
    await service.instances.diff(id, outs, toPlainJson(now));
    service.emulator.refuse("flavor", "m1.small", { detail: `${SSH_KEY} is not welcome` });
    const said = await errorOf(service.instances.update(id, outs, toPlainJson(now)));
    expect(said).toMatch(/updating instance "front" failed/);
    expect(said).not.toContain(SSH_KEY);

    const { service: other, ...again } = await made();
    const { inputs: fresh } = await other.instances.check(again.inputs, again.next);
    const { outs: updated = {} } = await other.instances.update(again.id, again.outs, toPlainJson(fresh));
    expect(parseRecorded(updated)).toMatchObject({
      urn: renamed,
      timeouts: { delete: "5m", update: "2s" },
      secrets: ["sshKeys"],
      key: inputs.__key,
    });
  });

  test("are not kept beside each other where they are the same", async () => {
    const { service, id, inputs, outs } = await made();
    const { inputs: now } = await service.instances.check(inputs, {
      ...inputs,
      __key: OTHER_KEY,
      flavor: "m1.large",
    });
    const { outs: updated } = await service.instances.update(id, outs, toPlainJson(now));
    expect(updated).not.toHaveProperty("__now");
  });
});

function hiddenIn(properties: object): object {
  const isHidden = ([name]: [string, unknown]): boolean => name.startsWith("__") && name !== "__provider";
  return Object.fromEntries(Object.entries(properties).filter(isHidden));
}

test("they follow the program where no argument differs, for then nothing is shown", async () => {
  const { service, inputs, next } = await made();
  const { labels, project } = inputs;
  const { inputs: now } = await service.instances.check(inputs, {
    ...next,
    labels,
    project,
    sshKeys: undefined,
  });
  const { __urn, __timeouts, __secrets } = next;
  expect(toPlainJson(now)).toEqual(toPlainJson({ ...inputs, __urn, __timeouts, __secrets }));
});
