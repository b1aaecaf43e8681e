import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { type Answer, instanceBody, open, type TestService } from "./service";

const update = { name: "web", flavor: "m1.large", network: "default" };

async function put({ call, emulator }: TestService, id: string): Promise<Answer> {
  const headers = { "if-match": `"${emulator.instances.get(id)?.revision}"` };
  return call("PUT", `/v1/instances/${id}`, update, headers);
}

describe("replies to changes", () => {
  test("contain only id, status and revision if writeReply is slim", async () => {
    const service = await open({ writeReply: "slim", deleteObject: 200 });
    const { call, emulator, given } = service;
    const created = await call("POST", "/v1/projects", { name: "shop", region: "eu-1" });
    expect(created.body).toEqual({ id: expect.any(String), status: "active" });
    const { instance } = given();
    const slim = () => ({
      id: instance,
      status: "running",
      revision: emulator.instances.get(instance)?.revision,
    });
    expect((await put(service, instance)).body).toEqual(slim());
    const before = slim();
    expect((await call("DELETE", `/v1/instances/${instance}`)).body).toEqual(before);
  });

  test("to a deletion can contain the deleted object", async () => {
    const { call, emulator, given } = await open({ deleteObject: 200 });
    const { project, instance } = given({ name: "web" });
    const deleted = await call("DELETE", `/v1/instances/${instance}`);
    expect([deleted.status, deleted.body]).toMatchObject([200, { id: instance, name: "web" }]);
    const gone = await call("DELETE", `/v1/projects/${project}`);
    expect([gone.status, gone.body]).toMatchObject([200, { id: project, name: "shop" }]);
    expect([emulator.projects.size, emulator.instances.size]).toEqual([0, 0]);
  });

  test.for<[Behaviour["acceptedReply"], string[]]>([
    ["operation", ["body Location", "body Location", "body Location"]],
    ["location", ["Location", "Location", "Location"]],
    ["bare", ["Location", "", ""]],
  ])(
    "to POST, PUT and DELETE with a 202 have the form of acceptedReply: %s",
    async ([acceptedReply, expected]) => {
      const service = await open({
        acceptedReply,
        putReply: 202,
        deleteObject: 202,
        busyInstance: "accepted",
      });
      const { project, instance } = service.given();
      const seen = ({ status, text, headers }: Answer): string => {
        expect(status).toBe(202);
        return [text && "body", headers.has("location") && "Location"].filter(Boolean).join(" ");
      };
      const answers = [
        seen(await service.call("POST", "/v1/instances", instanceBody(project))),
        seen(await put(service, instance)),
        seen(await service.call("DELETE", `/v1/instances/${instance}`)),
      ];
      expect(answers).toEqual(expected);
    },
  );

  test("are 409 while an update of the instance is running if busyInstance is refused", async () => {
    const service = await open({ busyInstance: "refused", putReply: 202 });
    const { instance } = service.given();
    await put(service, instance);
    const path = `/v1/instances/${instance}`;
    for (const answer of [await put(service, instance), await service.call("DELETE", path)])
      expect([answer.status, answer.body.code]).toEqual([409, "being_updated"]);
    service.advance(1000);
    expect((await service.call("DELETE", path)).status).toBe(204);
  });
});

test("links can have another origin, also only in Location or in result_url", async () => {
  const hosts = async (behaviour: Partial<Behaviour>): Promise<string[]> => {
    const { call, emulator, advance } = await open(behaviour);
    const first = await call("POST", "/v1/instances", instanceBody(emulator.addProject().id));
    advance(1000);
    const { body } = await call("GET", `/v1/operations/${first.body.id}`);
    const [id] = emulator.instances.keys();
    const { url } = (await call("GET", `/v1/instances/${id}`)).body;
    return [first.headers.get("location"), body.result_url, url].map((link) => {
      const { origin } = new URL(String(link));
      return origin === emulator.url ? "own" : origin;
    });
  };
  const [one, two, three] = ["http://one.internal", "http://two.internal", "http://three.internal"];
  expect(await hosts({})).toEqual(["own", "own", "own"]);
  expect(await hosts({ linkOrigin: one })).toEqual([one, one, one]);
  expect(await hosts({ locationOrigin: two })).toEqual([two, "own", "own"]);
  expect(await hosts({ linkOrigin: one, resultOrigin: three })).toEqual([one, three, one]);
});

describe("JSON", () => {
  test("has null for absent and empty values and accepts null if absentValues is null", async () => {
    const service = await open({ absentValues: "null" });
    const { call, emulator, advance } = service;
    const { id } = emulator.addProject();
    const body = { ...instanceBody(id), public_ip: null, labels: null };
    const { body: operation } = await call("POST", "/v1/instances", body);
    expect(operation).toMatchObject({ result_url: null });
    const running = await call("GET", `/v1/operations/${operation.id}`);
    expect(running.body).toMatchObject({ error: null, started_at: null, finished_at: null });
    advance(1000);
    const [instance] = emulator.instances.keys();
    const empty = { public_ip: null, ip_address: null, ssh_keys: null, labels: null };
    expect((await call("GET", `/v1/instances/${instance}`)).body).toMatchObject(empty);
    expect((await call("GET", "/v1/instances")).body.items).toMatchObject([empty]);
  });

  test("has strings instead of numbers if numbersAsText is true", async () => {
    const { call, emulator, advance } = await open({ numbersAsText: true });
    const first = await call("POST", "/v1/instances", instanceBody(emulator.addProject().id));
    advance(500);
    expect((await call("GET", `/v1/operations/${first.body.id}`)).body.progress).toBe("0.5");
    expect((await call("GET", "/v1/projects/none")).body.status).toBe("404");
  });
});

describe("lists", () => {
  test.for<[Partial<Behaviour>, object]>([
    [{}, { items: [], next_cursor: null, has_more: false }],
    [{ emptyItems: "null" }, { items: null, next_cursor: null, has_more: false }],
    [{ emptyItems: "absent", lastCursor: "absent" }, { has_more: false }],
    [{ lastCursor: "empty" }, { items: [], next_cursor: "", has_more: false }],
  ])("without items are as %o says", async ([behaviour, expected]) => {
    const { call, given } = await open(behaviour);
    expect((await call("GET", "/v1/projects")).body).toEqual(expected);
    given();
    expect((await call("GET", "/v1/projects")).body.items).toHaveLength(1);
  });

  test("have items without the fields of itemsWithout", async () => {
    const { call, given } = await open({ itemsWithout: ["project", "labels", "region"] });
    const { project, instance } = given();
    const [item] = Object.values((await call("GET", "/v1/instances")).body).flat();
    expect(Object.keys(Object(item))).toEqual(expect.arrayContaining(["id", "name", "ssh_keys"]));
    expect(Object.keys(Object(item)).filter((key) => ["project", "labels"].includes(key))).toEqual([]);
    expect((await call("GET", "/v1/projects")).body.items).toEqual([
      { id: project, name: "shop", created_at: "2026-01-02T12:00:00Z" },
    ]);
    expect((await call("GET", `/v1/instances/${instance}`)).body.project).toBe(project);
  });
});
