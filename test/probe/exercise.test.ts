import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { CloudInfraError } from "../../src/diagnostics/error";
import type { Emulator } from "../../src/emulator";
import { instanceKind } from "../../src/model/resource-fields";
import { exercise } from "../../src/probe/changing";
import { Lifecycle, type ProbeRecord } from "../../src/probe/lifecycle";
import type { Finding } from "../../src/probe/report";
import { listingContext } from "../../src/provider/context";
import { created, FIELDS, openProbe } from "./probed";

const find = (findings: readonly Finding[], point: string) => findings.find((one) => one.point === point);

describe("creating, changing and deleting an instance", () => {
  test("reports fields that can't be changed in place", async () => {
    const rejected = await created({}, (emulator) => emulator.refuseUpdatesOf("ssh_keys"));
    expect(find(rejected, "changedFields")).toMatchObject({
      verdict: "limited",
      observation: "ssh_keys: rejected (422)",
    });
    const ignored = await created({}, (emulator) => emulator.ignoreUpdatesOf("name"));
    expect(find(ignored, "changedFields")?.observation).toBe("name: ignored");
  });

  test("sends an update again with a new revision if replies lag", async () => {
    const findings = await created({ lagMs: 20_000, lagIn: "both", lagPart: "fields" });
    expect(find(findings, "update")?.verdict).toBe("works");
    expect(find(findings, "changedFields")?.verdict).toBe("works");
    expect(find(findings, "lag")?.observation).toContain("Updates: lists show them within");
  });

  test("reports no field as unchangeable if the service rejects every revision or replies lag too long", async () => {
    const outdated = await created({}, (emulator) => {
      emulator.fail({ kind: "status", status: 412, method: "PUT", times: Number.POSITIVE_INFINITY });
    });
    expect(find(outdated, "update")?.observation).toContain("rejected each revision that it returned");
    const lagging = await created({ lagMs: 60_000, lagPart: "fields" });
    expect(find(lagging, "changedFields")).toMatchObject({
      observation: "name: not observed (replies lag)",
      consequence: "Whether these properties can be changed is unknown",
    });
  });

  test("reports labels that the service rejects, and examines it with other labels", async () => {
    const odd = { probe: "odd", case: "MiXed", space: " x ", number: "7" };
    const findings = await created({}, (emulator) => emulator.refuse("labels", odd));
    expect(find(findings, "update")?.observation).toContain("labels with capitals or spaces are rejected");
    expect(find(findings, "staleRevision")?.verdict).toBe("works");
  });

  test("reports that nothing can be created if every operation fails", async () => {
    const findings = await created({ failEvery: 1 });
    expect(find(findings, "failedOperations")?.observation).toContain("3 of 3 failed");
    expect(find(findings, "creation")?.verdict).toBe("fails");
  });

  test("shows what an account without instances can't show otherwise", async () => {
    const { emulator, create } = await openProbe();
    for (const id of emulator.instances.keys()) emulator.remove(id);
    const findings = await create({ region: "eu-1" });
    expect(findings.filter(({ verdict }) => verdict === "unknown").map(({ point }) => point)).toEqual([]);
  });

  test("tells an instance from a project with the same id", async () => {
    const behaviour = { ids: "counter", idReuse: true, resultLink: "missing", projectPost: 201 } as const;
    let requests: Emulator["requests"] = [];
    await created(behaviour, (emulator) => {
      requests = emulator.requests;
    });
    const accepted = requests.filter(({ path, status }) => path === "/v1/instances" && status === 202);
    expect(accepted).toHaveLength(4); // the creation, its repetition, a duplicate, and one that may reuse the id
  });

  test("finds and deletes every object of a service that ignores idempotency keys", async () => {
    expect(find(await created({ keyRetentionMs: 0 }), "replay")?.verdict).toBe("limited");
  });

  test("names what remains if the service doesn't support deletion", async () => {
    const { emulator, exchanges, project, session, file, record } = await openProbe({
      behaviour: { deleteObject: 405, uniqueNames: true },
    });
    const life = new Lifecycle(session, file, { ...record, project });
    const findings = await exercise(life, exchanges, { ...FIELDS, project }, [], async () => []);
    expect(find(findings, "deletion")?.consequence).toContain("retainOnDelete");
    const remains = await life.clean();
    const own = [...emulator.instances.values()].filter(({ fields }) => /^probe-/.test(String(fields.name)));
    expect(remains).toEqual(own.map(({ id }) => `instance ${id}`));
    expect(own).toHaveLength(1);
  });
});

describe("cleaning up after an interrupted probe", () => {
  test("deletes the object of a creation whose reply was lost, after sending it again with its key", async () => {
    const { emulator, file, session, project } = await openProbe();
    const body = JSON.stringify({ ...FIELDS, project, name: "probe-1234" });
    const key = randomUUID();
    await session.client.instances.create(body, key, listingContext(instanceKind, session));
    expect(emulator.instances.size).toBe(3);
    const record = { endpoint: emulator.endpoint, name: "probe-1234", project };
    await new Lifecycle(session, file, { ...record, creations: [{ kind: "instance", key, body }] }).clean();
    expect([...emulator.instances.values()].map(({ fields: { name } }) => name)).toEqual(["web", "api"]);
  });

  /** A probe whose first creation was accepted, but whose reply was lost. */
  async function interrupted() {
    const probe = await openProbe();
    const { emulator, file, session, project } = probe;
    const body = JSON.stringify({ ...FIELDS, project, name: "probe-1234" });
    const creations = [{ kind: "instance" as const, key: randomUUID(), body }];
    const record: ProbeRecord = { endpoint: emulator.endpoint, name: "probe-1234", project, creations };
    await file.write(record);
    return { ...probe, record, clean: () => new Lifecycle(session, file, record).clean() };
  }

  test.each([401, 403, 404, 503])(
    "keeps the record if the service returns %i, so that it can be repeated",
    async (status) => {
      const { emulator, file, record, clean } = await interrupted();
      const outage = emulator.fail({ kind: "status", status, times: Number.POSITIVE_INFINITY });
      await expect(clean()).rejects.toMatchObject({
        summary: expect.stringContaining("these objects may remain: an instance named probe-1234…"),
        hint: expect.stringMatching(/run `npx pulumi-cloudinfra probe --clean` \(with the same .*--provider/),
      });
      expect(await file.read()).toEqual(record);
      outage.off();
      expect(await clean()).toEqual([]);
      expect(await file.read()).toBeUndefined();
      expect(emulator.instances.size).toBe(2);
    },
  );

  test("deletes what it can if a creation stays unknown and a deletion fails, and names the rest", async () => {
    const { emulator, session, file, project, record } = await interrupted();
    const ids = ["probe-1234", "probe-1234-other"].map((name) => emulator.addInstance({ project, name }).id);
    emulator.fail({ kind: "status", status: 403, method: "POST" });
    emulator.fail({ kind: "status", status: 403, method: "DELETE", path: `/v1/instances/${ids[0]}` });
    const known = ids.map((id) => ({ kind: "instance" as const, key: randomUUID(), body: "{}", id }));
    const creations = [...record.creations, ...known];
    const cleaning = new Lifecycle(session, file, { ...record, creations }).clean();
    await expect(cleaning).rejects.toMatchObject({
      summary: `these objects may remain: an instance named probe-1234…, instance ${ids[0]}`,
    });
    expect(ids.map((id) => emulator.instances.has(id))).toEqual([true, false]);
  });

  test.each(["instance", "project"] as const)(
    "keeps another %s that has the id of an object that the probe has created, and prints a warning",
    async (kind) => {
      const reused = { ids: "counter", idReuse: true } as const;
      const { emulator, session, file, project } = await openProbe({ behaviour: reused });
      const warnings: string[] = [];
      const warned = { ...session, warn: async (message: string) => void warnings.push(message) };
      const add = (name: string): string =>
        kind === "project" ? emulator.addProject({ name }).id : emulator.addInstance({ project, name }).id;
      const id = add("probe-1234");
      emulator.remove(id, kind);
      expect(add("production")).toBe(id);
      const place = kind === "project" ? {} : { project };
      const creations = [{ kind, key: randomUUID(), body: "{}", id }];
      const record = { endpoint: emulator.endpoint, name: "probe-1234", ...place, creations };
      await file.write(record);
      expect(await new Lifecycle(warned, file, record).clean()).toEqual([]);
      const kept = kind === "project" ? emulator.projects : emulator.instances;
      expect(kept.get(id)?.fields.name).toBe("production");
      expect(warnings).toEqual([expect.stringContaining(`${kind} ${id} was not deleted`)]);
      expect(await file.read()).toBeUndefined();
    },
  );

  test("doesn't repeat the deletion of an object after the deletion of another object has failed", async () => {
    const { emulator, session, file, project, record } = await interrupted();
    const ids = ["probe-1234", "probe-1234-other"].map((name) => emulator.addInstance({ project, name }).id);
    const creations = ids.map((id) => ({ kind: "instance" as const, key: randomUUID(), body: "{}", id }));
    const locked = {
      kind: "status",
      status: 409,
      method: "DELETE",
      path: `/v1/instances/${ids[1]}`,
    } as const;
    emulator.fail(locked);
    await expect(new Lifecycle(session, file, { ...record, creations }).clean()).rejects.toThrow(
      "may remain",
    );
    emulator.clearRequests();
    const left = await file.read();
    if (left === undefined) throw new Error("the record is missing");
    expect(await new Lifecycle(session, file, left).clean()).toEqual([]);
    const deletions = emulator.requests.filter(({ method }) => method === "DELETE");
    expect(deletions.map(({ path }) => path)).toEqual([`/v1/instances/${ids[1]}`]);
  });

  test("never replaces the record of another probe", async () => {
    const { file, record } = await interrupted();
    await expect(file.write({ ...record, name: "probe-5678" })).rejects.toMatchObject({ code: "conflict" });
    expect(await file.read()).toEqual(record);
  });
});

test("a probe whose record can't be written creates nothing, even during the cleanup", async () => {
  const { emulator, session, project, file, record } = await openProbe();
  const full = new CloudInfraError("input_invalid", "the record of the probe can't be written");
  vi.spyOn(file, "write").mockRejectedValueOnce(full);
  const life = new Lifecycle(session, file, { ...record, project });
  const creation = life.create("instance", { ...FIELDS, project, name: "probe-1234" });
  await expect(creation).rejects.toBe(full);
  await life.clean();
  expect(emulator.requests.filter(({ method }) => method === "POST")).toEqual([]);
});
