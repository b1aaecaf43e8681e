import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { instanceBody, open } from "./service";

describe("creating", () => {
  test("an instance appears in lists with the status creating after the 202, or only when it is done", async () => {
    for (const [instanceVisible, before] of [
      ["at-once", 1],
      ["when-done", 0],
    ] as const) {
      const { call, emulator, advance } = await open({ instanceVisible, statusAfterCreate: "active" });
      await call("POST", "/v1/instances", instanceBody(emulator.addProject().id));
      expect((await call("GET", "/v1/instances?status=creating")).body.items).toHaveLength(before);
      advance(1000);
      expect((await call("GET", "/v1/instances?status=active")).body.items).toHaveLength(1);
    }
  });

  test("an instance has the requested fields, the service's fields, and a revision that changes when it is ready", async () => {
    const { call, emulator, advance } = await open({ extraFields: { rack: "b7" } });
    const project = emulator.addProject().id;
    const sent = instanceBody(project, {
      public_ip: "auto",
      ssh_keys: ["ssh-ed25519 AAAA me"],
      labels: { a: "1" },
    });
    await call("POST", "/v1/instances", sent);
    const [id] = emulator.instances.keys();
    const creating = await call("GET", `/v1/instances/${id}`);
    expect(creating.body).toMatchObject({ ...sent, status: "creating" });
    expect(creating.body).not.toHaveProperty("ip_address");
    advance(1000);
    const ready = await call("GET", `/v1/instances/${id}`);
    expect(ready.body).toEqual({
      ...sent,
      id,
      status: "running",
      ip_address: "203.0.113.1",
      created_at: "2026-01-02T12:00:00Z",
      updated_at: "2026-01-02T12:00:01Z",
      url: `${emulator.endpoint}/instances/${id}`,
      revision: expect.any(String),
      rack: "b7",
    });
    expect(ready.body.revision).not.toBe(creating.body.revision);
  });

  test.each(["constructor", "prototype", "__proto__", "toString"])(
    "a label may have the name of a built-in property: %s",
    async (key) => {
      const { call, emulator } = await open();
      const project = emulator.addProject().id;
      const labels = Object.fromEntries([[key, "x"]]);
      expect((await call("POST", "/v1/instances", instanceBody(project, { labels }))).status).toBe(202);
      const [id] = emulator.instances.keys();
      const { body } = await call("GET", `/v1/instances/${id}`);
      expect(Object.entries(Object(body.labels))).toEqual([[key, "x"]]);
      const wrong = Object.fromEntries([[key, 1]]);
      const { errors } = (await call("POST", "/v1/instances", instanceBody(project, { labels: wrong }))).body;
      expect(errors).toMatchObject([{ pointer: `/labels/${key}`, detail: "a label must be a string" }]);
    },
  );

  test("the field that ipField names contains the address", async () => {
    const { call, emulator, given } = await open();
    const path = `/v1/instances/${given({ public_ip: "auto" }).instance}`;
    const address = "203.0.113.1";
    expect((await call("GET", path)).body).toMatchObject({ public_ip: "auto", ip_address: address });
    emulator.behaviour.ipField = "public_address";
    expect((await call("GET", path)).body).toMatchObject({ public_ip: "auto", public_address: address });
    emulator.behaviour.ipField = "public_ip";
    const { body } = await call("GET", path);
    expect(body.public_ip).toBe(address);
    expect(body).not.toHaveProperty("ip_address");
    Object.assign(emulator.behaviour, { ipField: "ip_address", publicIpShows: "null" });
    expect((await call("GET", path)).body).toMatchObject({ public_ip: null, ip_address: address });
  });

  test("creating a project returns it with 200 or 201, or an operation that links to it", async () => {
    const body = { name: "shop", region: "eu-1" };
    for (const projectPost of [200, 201] as const) {
      const { call } = await open({ projectPost });
      const answer = await call("POST", "/v1/projects", body);
      expect(answer.status).toBe(projectPost);
      expect(answer.body).toMatchObject(body);
    }
    const { call, emulator, advance } = await open({ projectPost: 202 });
    const answer = await call("POST", "/v1/projects", body);
    expect([answer.status, answer.body.status, emulator.projects.size]).toEqual([202, "pending", 0]);
    advance(1000);
    const done = await call("GET", `/v1/operations/${answer.body.id}`);
    expect((await call("GET", String(done.body.result_url))).body).toMatchObject(body);
  });

  test("uniqueNames rejects duplicate names of projects, and of instances within a project", async () => {
    const { call, emulator } = await open({ uniqueNames: true });
    const project = { name: "shop", region: "eu-1" };
    const { id } = (await call("POST", "/v1/projects", project)).body;
    expect((await call("POST", "/v1/projects", project)).body.code).toBe("name_taken");
    const other = emulator.addProject({ name: "blog" }).id;
    expect((await call("POST", "/v1/instances", instanceBody(String(id)))).status).toBe(202);
    expect((await call("POST", "/v1/instances", instanceBody(other))).status).toBe(202);
    const taken = await call("POST", "/v1/instances", instanceBody(other));
    expect([taken.status, taken.body.code]).toEqual([409, "name_taken"]);
  });

  test("creating an instance in a missing project is a 404 that points to the project field", async () => {
    const { call } = await open();
    const answer = await call("POST", "/v1/instances", instanceBody("prj-none"));
    expect([answer.status, answer.body.code]).toEqual([404, "project_not_found"]);
    expect(answer.body.errors).toMatchObject([{ pointer: "/project" }]);
  });
});

describe("reading one object", () => {
  test("returns the object, 404 or 405, also at the result link", async () => {
    const { call, emulator, given } = await open();
    const { project, instance } = given();
    for (const getObject of [200, 404, 405] as const) {
      emulator.behaviour.getObject = getObject;
      for (const path of [`/v1/instances/${instance}`, `/v1/projects/${project}`]) {
        const answer = await call("GET", path);
        expect(answer.status).toBe(getObject);
        expect(answer.headers.has("allow")).toBe(getObject === 405);
      }
    }
  });

  test("that does not exist returns a 404 problem", async () => {
    const { call } = await open();
    expect((await call("GET", "/v1/instances/ins-none")).status).toBe(404);
    expect((await call("GET", "/v1/projects/prj-none")).status).toBe(404);
  });
});

describe("the revision of an instance", () => {
  const places = async (behaviour: Partial<Behaviour>) => {
    const { call, given } = await open(behaviour);
    const { instance } = given();
    const single = await call("GET", `/v1/instances/${instance}`);
    const list = await call("GET", "/v1/instances");
    return {
      header: single.headers.get("etag"),
      single: "revision" in single.body,
      list: JSON.stringify(list.body).includes('"revision"'),
    };
  };

  test("is in the header, the body, both, a weak header, or nowhere", async () => {
    expect(await places({ revision: "header" })).toEqual({ header: '"r1"', single: false, list: false });
    expect(await places({ revision: "body" })).toEqual({ header: null, single: true, list: true });
    expect(await places({ revision: "both" })).toEqual({ header: '"r1"', single: true, list: true });
    expect(await places({ revision: "weak" })).toEqual({ header: 'W/"r1"', single: false, list: false });
    expect(await places({ revision: "none" })).toEqual({ header: null, single: false, list: false });
  });

  test("is also in list items if only the header has it and single objects can't be read", async () => {
    expect(await places({ revision: "header", getObject: 404 })).toMatchObject({ list: true });
    expect(await places({ revision: "weak", getObject: 405 })).toMatchObject({ list: true });
    expect(await places({ revision: "none", getObject: 405 })).toMatchObject({ list: false });
  });

  test("has the field name that revisionField sets", async () => {
    const { call, given } = await open({ revisionField: "resource_version" });
    const { body } = await call("GET", `/v1/instances/${given().instance}`);
    expect(body).toHaveProperty("resource_version");
    expect(body).not.toHaveProperty("revision");
  });
});

describe("deleting", () => {
  test("returns 204, 202 with an operation, or 405", async () => {
    const { call, emulator, given, advance } = await open();
    const [one, two] = [given().instance, given().instance];
    expect((await call("DELETE", `/v1/instances/${one}`)).status).toBe(204);
    expect(emulator.instances.has(one)).toBe(false);

    emulator.behaviour.deleteObject = 202;
    const accepted = await call("DELETE", `/v1/instances/${two}`);
    expect([accepted.status, emulator.instances.get(two)?.status]).toEqual([202, "deleting"]);
    const again = await call("DELETE", `/v1/instances/${two}`);
    expect(again.body.id).toBe(accepted.body.id);
    advance(1000);
    const done = await call("GET", `/v1/operations/${accepted.body.id}`);
    expect(done.body.status).toBe("done");
    expect(done.body).not.toHaveProperty("result_url");
    expect(emulator.instances.has(two)).toBe(false);

    emulator.behaviour.deleteObject = 405;
    const refused = await call("DELETE", `/v1/instances/${given().instance}`);
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, PUT"]);
  });

  test("a project with instances is a conflict, and an empty project is deleted", async () => {
    const { call, emulator, given, advance } = await open({ deleteObject: 202 });
    const { project, instance } = given();
    const conflict = await call("DELETE", `/v1/projects/${project}`);
    expect([conflict.status, conflict.body.code]).toEqual([409, "project_not_empty"]);
    emulator.remove(instance);
    expect((await call("DELETE", `/v1/projects/${project}`)).status).toBe(202);
    advance(1000);
    expect(emulator.projects.has(project)).toBe(false);
    expect((await call("DELETE", `/v1/projects/${project}`)).status).toBe(404);
  });

  test("checks If-Match", async () => {
    const { call, emulator, given } = await open();
    const { instance } = given();
    const path = `/v1/instances/${instance}`;
    expect((await call("DELETE", path, undefined, { "if-match": '"old"' })).status).toBe(412);
    const revision = emulator.instances.get(instance)?.revision;
    expect((await call("DELETE", path, undefined, { "if-match": `"${revision}"` })).status).toBe(204);
  });
});
