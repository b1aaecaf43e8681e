import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Behaviour, type Emulator, startEmulator } from "../../src/emulator";
import { instanceKind } from "../../src/model/kinds";
import { systemClock } from "../../src/polling/clock";
import { exercise } from "../../src/probe/exercise";
import { Exchanges, Lifecycle } from "../../src/probe/lifecycle";
import { type Finding, observedBehaviour, type PointId } from "../../src/probe/points";
import { type ProbeRecord, RecordFile } from "../../src/probe/record";
import { listingContext } from "../../src/provider/context";
import { Sessions } from "../../src/provider/session";
import { emptyFolder } from "../journal/folder";

const FIELDS = { image: "debian-13", flavor: "small", network: "default" };

/** A service with a project and an instance, and a probe of it. */
async function probe(behaviour: Partial<Behaviour> = {}) {
  const emulator = await startEmulator({ behaviour: { operationMs: 0, ...behaviour } });
  onTestFinished(() => emulator.stop());
  const project = emulator.addProject({ name: "shop" }).id;
  emulator.addInstance({ project, name: "web" });
  const folder = emptyFolder();
  const env = {
    CLOUDINFRA_ENDPOINT: emulator.endpoint,
    CLOUDINFRA_TOKEN: emulator.token,
    CLOUDINFRA_JOURNAL_DIR: folder,
  };
  const exchanges = new Exchanges();
  const session = new Sessions(env, systemClock, expect.fail, { observe: exchanges.observe }).open();
  onTestFinished(() => session.close());
  const file = new RecordFile(folder, emulator.endpoint);
  const record = { endpoint: emulator.endpoint, name: "probe-1234", project, creations: [] };
  const life = new Lifecycle(session, file, record);
  return { emulator, life, exchanges, file, session, fields: { ...FIELDS, project } };
}

async function exercised(
  behaviour: Partial<Behaviour> = {},
): Promise<{ findings: Finding[]; emulator: Emulator }> {
  const { emulator, life, exchanges, file, fields } = await probe(behaviour);
  const findings = await exercise(life, exchanges, fields).finally(() => life.clean());
  expect([...emulator.instances.values()].filter(({ status }) => status !== "deleted")).toHaveLength(1);
  expect(await file.read()).toBeUndefined();
  return { findings, emulator };
}

describe("creating, changing and deleting an instance", () => {
  test("reports that everything works if the service is as specified, and leaves nothing behind", async () => {
    const { findings } = await exercised();
    expect(findings.filter(({ verdict }) => verdict !== "works")).toEqual([]);
  });

  const switches: [Partial<Behaviour>, PointId, string][] = [
    [{ location: "relative" }, "creation", "Location: relative"],
    [{ location: "missing" }, "creation", "Location: missing"],
    [{ acceptedReply: "location" }, "creation", "no operation"],
    [{ instanceVisible: "when-done", operationMs: 300 }, "visibility", "later"],
    [{ keyReuseStatus: 409, keyReuseCode: "key_taken" }, "keyReuse", "409"],
    [{ progress: "absent" }, "operation", "no progress"],
    [{ resultLink: "relative" }, "operation", "result link: relative"],
    [{ resultLink: "missing" }, "operation", "result link: missing"],
    [{ resultLink: "early", operationMs: 300 }, "operation", "result link: early"],
    [{ finishedAt: false }, "operation", "done"],
    [{ operationKeptPolls: 1 }, "finishedOperation", "purged"],
    [{ postIgnores: ["labels"] }, "createdValues", "Ignored: labels"],
    [{ statusAfterCreate: "active" }, "createdValues", "As requested"],
    [{ uniqueNames: true }, "duplicateNames", "is rejected (409)"],
    [{ putReply: 204 }, "update", "204"],
    [{ putReply: 202 }, "update", "202"],
    [{ writeReply: "slim" }, "update", "a part of the instance"],
    [{ deleteObject: 202 }, "deletion", "202"],
    [{ deleteObject: 200 }, "deletion", "200"],
    [{ softDelete: "deleted" }, "deletion", "remains visible with the status deleted"],
  ];

  test.each(switches)("reports %j", async (behaviour, point, observation) => {
    const { findings } = await exercised(behaviour);
    expect(findings.find((one) => one.point === point)?.observation).toContain(observation);
    const { operationMs: _duration, ...visible } = behaviour;
    expect(observedBehaviour(findings)).toMatchObject(visible);
  });

  test("finds every object of a service that ignores idempotency keys", async () => {
    const { findings } = await exercised({ keyRetentionMs: 0 });
    expect(findings.find(({ point }) => point === "replay")?.verdict).toBe("limited");
  });

  test("names what remains if the service doesn't support deletion", async () => {
    const { emulator, life, exchanges, fields } = await probe({ deleteObject: 405, uniqueNames: true });
    const findings = await exercise(life, exchanges, fields);
    expect(findings.at(-1)?.consequence).toContain("retainOnDelete");
    const remains = await life.clean();
    const own = [...emulator.instances.values()].filter(({ fields: { name } }) => name === "probe-1234");
    expect(remains).toEqual(own.map(({ id }) => `instance ${id}`));
  });
});

describe("cleaning up after an interrupted probe", () => {
  test("deletes the object of a creation whose reply was lost, after sending it again with its key", async () => {
    const { emulator, file, session, fields } = await probe();
    const body = JSON.stringify({ ...fields, name: "probe-1234" });
    const key = randomUUID();
    await session.client.instances.create(body, key, listingContext(instanceKind, session));
    expect(emulator.instances.size).toBe(2);
    const record = { endpoint: emulator.endpoint, name: "probe-1234", project: fields.project };
    await new Lifecycle(session, file, { ...record, creations: [{ kind: "instance", key, body }] }).clean();
    expect([...emulator.instances.values()].map(({ fields: { name } }) => name)).toEqual(["web"]);
  });

  test("keeps the record if the service fails, so that it can be repeated", async () => {
    const { emulator, file, session, fields } = await probe();
    const body = JSON.stringify({ ...fields, name: "probe-1234" });
    const record: ProbeRecord = {
      endpoint: emulator.endpoint,
      name: "probe-1234",
      project: String(fields.project),
      creations: [{ kind: "instance", key: randomUUID(), body }],
    };
    await file.write(record);
    const outage = emulator.fail({ kind: "status", status: 403, times: Number.POSITIVE_INFINITY });
    await expect(new Lifecycle(session, file, record).clean()).rejects.toThrow();
    expect(await file.read()).toEqual(record);
    outage.off();
    expect(await new Lifecycle(session, file, record).clean()).toEqual([]);
    expect(await file.read()).toBeUndefined();
    expect(emulator.instances.size).toBe(1);
  });
});
